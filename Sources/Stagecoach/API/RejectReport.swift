import Mapping

/// The objects that a run left out because they break the destination model's rules.
///
/// ```swift
/// let rejects = try migration.run().rejects
/// for (rule, count) in rejects?.byRule ?? [:] { print(count, "objects break", rule) }
/// for object in rejects?.sample ?? [] { print(object.sourceID ?? "no source", object.property) }
/// ```
public struct RejectReport: Sendable, Codable {
    /// The number of rejected destination objects.
    public var objects = 0
    /// The number of objects by the rule that first rejected them.
    public var byRule: [String: Int] = [:]
    /// The number of objects by destination entity.
    public var byEntity: [String: Int] = [:]
    /// References from remaining objects to rejected ones. They became nil, and links were left out.
    public var removedReferences = 0
    /// Rounds in which objects were rejected because others were.
    public var rounds = 0
    /// The first rejected objects of each rule, at most ten, by entity and key.
    public var sample: [RejectedObject] = []
    /// The greatest number of objects of one rule in the sample of a run.
    package static let mostOfRule = 10
    /// The path of the file that lists all of them; nil if no file was asked for.
    public var file: String?

    /// The first rejected objects of each rule, by the rule's name.
    ///
    /// - Parameter most: the most objects of one rule.
    package func examples(most: Int) -> [RejectedObject] {
        Dictionary(grouping: sample, by: \.rule.rawValue).sorted { $0.key < $1.key }.flatMap { $0.value.prefix(most) }
    }

    /// Returns the rejects of two runs, one after the other.
    func joined(with later: RejectReport) -> RejectReport {
        var whole = later
        whole.objects += objects
        whole.byRule.merge(byRule) { $0 + $1 }
        whole.byEntity.merge(byEntity) { $0 + $1 }
        whole.removedReferences += removedReferences
        whole.rounds += rounds
        whole.sample = sample + later.sample
        return whole
    }
}

/// A rejected object and the first reason for rejecting it; a line of the reject file.
public struct RejectedObject: Sendable, Codable, Equatable {
    /// Destination entity.
    public var entity: String
    /// The object that was not made, `Entity/p<key>`. Its key is not given again.
    public var id: String
    /// The source object, `Entity/p<key>`; nil for an object that a policy made without associating it.
    public var sourceID: String?
    /// The object's further source objects, at most a hundred; nil if there are none.
    public var otherSourceIDs: [String]?
    /// Attribute, relationship, or the attributes of a uniqueness constraint.
    public var property: String
    /// The rule that is broken.
    public var rule: ValidationRule
    /// The value, shortened; nil if there is none.
    public var value: String?
    /// The name of the entity mapping.
    public var mapping: String?

    /// The object as one line of JSON, without a line end.
    var json: String {
        var parts = [
            "\"entity\":\(Self.text(entity))", "\"id\":\(Self.text(id))", "\"sourceID\":\(Self.text(sourceID))",
        ]
        if let others = otherSourceIDs {
            parts.append("\"otherSourceIDs\":[\(others.map { Self.text($0) }.joined(separator: ","))]")
        }
        parts += [
            "\"property\":\(Self.text(property))", "\"rule\":\(Self.text(rule.rawValue))",
            "\"value\":\(Self.text(value))", "\"mapping\":\(Self.text(mapping))",
        ]
        return "{\(parts.joined(separator: ","))}"
    }

    /// Returns a text as JSON. Line separators are legal in it, but some programs that read line by line end a line there.
    private static func text(_ value: String?) -> String {
        guard let value else { return "null" }
        return ExpressionConstant.quoted(value, "\"").replacing("\u{85}", with: "\\u0085")
            .replacing("\u{2028}", with: "\\u2028").replacing("\u{2029}", with: "\\u2029")
    }
}
