import Diagnostics

/// All obstacles to inferring a mapping model, in the order of the destination's entities.
package struct InferenceProblems {
    private struct Problem {
        let entity: String
        let property: String?
        let reason: Incompatibility
        /// The name of the source property; nil if the problem does not concern a property.
        let origin: String?
        /// A line of a mapping model in JSON that maps the property, and the change that does the same; nil if none is known.
        let line: AutomaticMapping.ConvertingLine?

        var sentence: String { reason.reason(of: property, from: origin) }
    }
    private var problems: [Problem] = []
    private var seen: Set<String> = []

    /// Records a problem. A property that several subentities inherit is reported once, at the first of them.
    ///
    /// - Parameters:
    ///   - origin: the source property.
    ///   - declaredBy: the entity that declares the property; `entity` if the problem concerns the entity itself.
    ///   - line: a line of a mapping model in JSON that maps the property.
    mutating func add(
        _ reason: Incompatibility, entity: String, property: String?, from origin: String? = nil, declaredBy: String,
        line: AutomaticMapping.ConvertingLine? = nil
    ) {
        guard seen.insert("\(declaredBy)\u{0}\(property ?? "")\u{0}\(reason.code.rawValue)").inserted else { return }
        problems.append(Problem(entity: entity, property: property, reason: reason, origin: origin, line: line))
    }

    /// True if an entity seems to have another name, so that a renaming identifier keeps its objects.
    package var seemRenamed: Bool { renaming != nil }
    /// True if ``UnmappableProperties/leave`` goes on without.
    package var mayBeLeft: Bool { problems.allSatisfy(\.reason.mayBeLeft) }
    /// The options that mend all problems, as they are pasted; nil if one has none.
    package var options: String? {
        let options = problems.compactMap { $0.line?.change.option }
        return options.count == problems.count ? options.joined(separator: " ") : nil
    }
    /// True if a new relationship has less room for links.
    package var loseLinks: Bool { problems.contains { $0.reason.losesLinks } }

    /// One error for all problems: the code and context of the first, the others in the message. Nil if there are none.
    package var error: MigrationError? {
        guard let first = problems.first else { return nil }
        var message = first.sentence
        if problems.count > 1 {
            let rest = problems.dropFirst().map { problem in
                problem.entity + (problem.property.map { ".\($0)" } ?? "") + ": " + problem.sentence
            }
            message += "; and \(rest.count) more: " + rest.joined(separator: "; ")
        }
        return MigrationError(
            first.reason.code, .configuration, "Cannot infer a mapping model: " + message,
            remedy: remedy, context: .init(entity: first.entity, property: first.property))
    }

    /// The ways to keep the objects of entities that seem to be renamed, in words; nil if there are none.
    private var renaming: (remedy: String, cost: String)? {
        var old: [String] = []
        var new: [String] = []
        for case .renamedDestination(let from, let to) in problems.map(\.reason)
        where !old.contains(from) && !new.contains(to) {
            old.append(from)
            new.append(to)
        }
        guard !old.isEmpty else { return nil }
        let identifiers = zip(old, new).map { "the renaming identifier of \($1) to \($0)" }
        let lines = zip(old, new).map {
            "{ \"sourceEntity\": \"\($0)\", \"destinationEntity\": \"\($1)\" }"
        }
        return (
            "Set " + identifiers.joined(separator: " and ") + ", or map "
                + zip(old, new).map { "\($0) to \($1)" }.joined(separator: " and ")
                + " beside the other entities in a mapping model in JSON (--mapping): " + lines.joined(separator: ", ")
                + ", or give "
                + zip(old, new).compactMap { MappingChange("\($1)=\($0)")?.option }.joined(separator: " "),
            old.map { "all objects of \($0)" }.joined(separator: " and ")
        )
    }

    private var remedy: String {
        if let renaming {
            return renaming.remedy
                + (mayBeLeft ? "; --unmappable leave goes on without, and leaves \(renaming.cost) behind" : "")
        }
        guard mayBeLeft, let property = problems.first?.property else {
            return "Write a mapping model that says how these are computed"
        }
        let (them, line) = (problems.count == 1 ? "it" : "them", problems.lazy.compactMap(\.line?.text).first)
        if problems.allSatisfy(\.reason.takesWhatFits), let line {
            return
                "Give --unmappable leave to make the links that fit and leave the others behind, counted, or a mapping model in "
                + "JSON (--mapping) that has a line \(line), which does the same, or \"\(property)\": null"
        }
        let converts = problems.contains { $0.reason.conversion?.isLossless ?? false }
        return (converts ? "Give --unmappable convert to convert what loses nothing by it, or " : "Give ")
            + "--unmappable leave to leave \(them) without a value, or a mapping model in JSON (--mapping) that says how to "
            + "compute \(them)\(line.map { ", as in a line \($0)" } ?? ""), or has a line \"\(property)\": null"
    }
}
