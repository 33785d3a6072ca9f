import Diagnostics

/// References of one destination relationship that became nil, or links that were left out, for one cause.
public struct NilReferences: Sendable, Codable, Equatable {
    /// The cause why a reference has no object.
    public enum Cause: String, Sendable, Codable, CaseIterable {
        /// It points to a row that does not exist.
        case dangling
        /// Its object was migrated to an entity that the relationship cannot hold.
        case otherEntity
        /// Its object was migrated by an entity mapping that the lookup does not search.
        case otherMapping
        /// The filter of the object's entity mapping left the object out.
        case filtered
        /// The policy of the object's entity mapping dropped it.
        case dropped
        /// The object was left out by the filter or by the policy of its entity mapping; both left objects out.
        case filteredOrDropped
        /// The object's entity mapping removes it.
        case removed
        /// The object's entity has no entity mapping.
        case withoutMapping
        /// The object is of no entity of the source model.
        case stray
        /// The object was deleted after it was made.
        case deleted
        /// The object was rejected.
        case rejected
        /// The relationship has room for fewer links than the source has: another link took its place. Of ``LinksNotMade`` only.
        case taken
        /// The object was merged into another one, or shares its object, which has links of its own. Of ``LinksNotMade`` only.
        case merged
        /// The link would change a row that the destination had before and that stays as it is. Of ``LinksNotMade`` only.
        case kept
        /// A policy or an expression over objects decided about the relationship. Of ``LinksNotMade`` only.
        case policy

        /// True if both objects of a link were migrated, and neither user code nor a rule decided about it.
        public var isLoss: Bool { self == .taken || self == .otherEntity || self == .otherMapping }
    }

    /// The destination relationship, `Entity.relationship`, where it is declared.
    public var relationship: String
    /// The cause why its references have no object.
    public var cause: Cause
    /// The entity or entity mapping that the cause refers to; nil if it refers to none.
    public var name: String?
    /// The entity of the related objects.
    public var destinationEntity: String
    /// The number of references: one for each object, in the case of a to-one relationship.
    public var count: Int
    /// The destination objects found first, at most three: `Entity/p<key>`, by the entity that declares the
    /// relationship.
    public var samples: [String] = []
    /// The largest number of sample objects in a line.
    static let mostSamples = 3

    /// The line as a sentence for the user.
    public var sentence: String {
        let references = count.counted("reference")
        let (name, isOne) = (name ?? "", count == 1)
        let objects = isOne ? "its object" : "their objects"
        func unmigrated(_ why: String) -> String {
            "\(references) to objects that were not migrated became nil: \(why)"
        }
        let words =
            switch cause {
            case .dangling: "\(references) to rows that do not exist became nil"
            case .otherEntity:
                (isOne ? "1 object points" : "\(count.grouped) objects point") + " to \(name.withArticle)"
                    + (isOne ? "" : " each")
                    + ", which is no \(destinationEntity) in the new model; "
                    + (isOne ? "the reference became nil" : "the references became nil")
            case .otherMapping:
                unmigrated("only entity mapping \(name) made them, and the lookup does not ask it")
            // Another entity mapping may have migrated them.
            case .filtered: "\(references) became nil: the filter of entity mapping \(name) left \(objects) out"
            case .dropped: unmigrated("the policy of entity mapping \(name) made nothing of them")
            case .filteredOrDropped:
                "\(references) became nil: the filter or the policy of entity mapping \(name) left \(objects) out"
            case .removed: unmigrated("entity mapping \(name) removes them")
            case .withoutMapping: unmigrated("\(name) has no entity mapping")
            case .stray: unmigrated("they are of no entity of the source model")
            case .deleted: "\(references) to objects that a policy deleted or a rule rejected became nil"
            case .rejected: "\(references) to rejected objects became nil"
            case .taken: "\(references) became nil: other links took their places"
            case .merged: "\(references) became nil: their objects were merged into others"
            case .kept: "\(references) became nil: rows that were there before stay as they are"
            case .policy: "\(references) became nil: a policy decided so"
            }
        guard !samples.isEmpty else { return "\(relationship): \(words)" }
        let more = count > samples.count ? ", …" : ""
        return "\(relationship): \(words) (\(samples.joined(separator: ", "))\(more))"
    }

    private var order: (String, String, String) { (relationship, cause.rawValue, name ?? "") }

    /// Takes an object as a sample, if there is room and it is none yet: an object may have several such references.
    mutating func note(_ sample: String) {
        if samples.count < Self.mostSamples, !samples.contains(sample) { samples.append(sample) }
    }

    /// Adds a line to sorted lines; a line with the same relationship and cause takes its count.
    static func add(_ line: NilReferences, to lines: inout [NilReferences]) {
        if let same = lines.firstIndex(where: { $0.order == line.order }) {
            lines[same].count += line.count
            for sample in line.samples { lines[same].note(sample) }
            return
        }
        lines.insert(line, at: lines.firstIndex { $0.order > line.order } ?? lines.count)
    }
}

extension String {
    /// The name of an entity behind its article: `a Book`, `an Item`.
    fileprivate var withArticle: String {
        let isVowel = lowercased().first.map("aeio".contains) ?? false
        return (isVowel ? "an " : "a ") + self
    }
}

/// Further objects that lookups found for a to-one relationship, beside the one that was set.
public struct FurtherObjects: Sendable, Codable, Equatable {
    /// The rule by which one object of several was chosen.
    public enum Kept: String, Sendable, Codable {
        /// The first object found, in the order of lookups.
        case first
        /// The object linked last by either side of a one-to-one pair.
        case lastLinked
    }

    /// The destination relationship, `Entity.relationship`, where it is declared.
    public var relationship: String
    /// The other side of a one-to-one pair, if it sets links too; else nil.
    public var inverse: String?
    /// The rule by which the object was chosen.
    public var kept: Kept
    /// The number of further objects, which are not in the relationship.
    public var count: Int

    /// The line as a sentence for the user.
    public var sentence: String {
        let objects = count.counted("further object was left out", "further objects were left out")
        guard kept == .lastLinked else { return "\(relationship): \(objects), the first found was taken" }
        let side = inverse.map { "it or its inverse \($0)" } ?? "it"
        return "\(relationship): \(objects), the last that \(side) linked stayed"
    }

    /// Adds a line to sorted lines; a line with the same relationship and rule takes its count.
    static func add(_ line: FurtherObjects, to lines: inout [FurtherObjects]) {
        let same = lines.firstIndex { $0.relationship == line.relationship && $0.kept == line.kept }
        if let same {
            lines[same].count += line.count
            return
        }
        func order(_ line: FurtherObjects) -> (String, String) { (line.relationship, line.kept.rawValue) }
        lines.insert(line, at: lines.firstIndex { order($0) > order(line) } ?? lines.count)
    }
}
