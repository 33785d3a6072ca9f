import Diagnostics
import ManagedModel

/// The reason why a property or a hierarchy cannot be mapped without an instruction.
package enum Incompatibility: Hashable, Sendable {
    /// The attribute's type changed.
    case attributeType(from: AttributeType, to: AttributeType)
    /// An element of a composite attribute changed its type.
    case compositeElement(path: String, from: AttributeType, to: AttributeType)
    /// An attribute became a relationship, or a relationship an attribute.
    case kind(from: String, to: String)
    /// A to-many relationship became a to-one.
    case cardinality
    /// The relationship has another destination: `counterpart` is the old destination's counterpart, nil if it has none.
    case destination(old: String, counterpart: String?, new: String)
    /// The relationship has another destination, which is new, and nothing became of the old one: it may have another name.
    case renamedDestination(old: String, new: String)
    /// Two entities without a common ancestor got one.
    case hierarchies(first: String, firstRoot: String, second: String, secondRoot: String)

    /// The code of inference's error.
    var code: MigrationError.Code {
        switch self {
        case .attributeType, .compositeElement: "inference.attributeType"
        case .kind: "inference.propertyKind"
        case .cardinality: "inference.cardinality"
        case .destination, .renamedDestination: "inference.relationshipDestination"
        case .hierarchies: "inference.hierarchies"
        }
    }

    /// True if the property may be left without a value. If false, the objects themselves have no place.
    var mayBeLeft: Bool {
        if case .hierarchies = self { return false }
        return true
    }

    /// True if an expression that names the source attribute gives values that the attribute takes: numbers of another type,
    /// and the bytes of a transformable attribute.
    var convertsWhereNamed: Bool {
        switch self {
        case .attributeType(let old, let new), .compositeElement(_, let old, let new):
            guard let given = ExpressionType(old), let wanted = ExpressionType(new) else { return false }
            return wanted.takes(given)
        case .kind, .cardinality, .destination, .renamedDestination, .hierarchies: return false
        }
    }

    /// The reason in one sentence without a full stop, in Core Data's terms.
    package var reason: String {
        switch self {
        case .attributeType(let old, let new):
            "Source and destination attribute types are incompatible: \(old.label) became \(new.label)"
        case .compositeElement(let path, let old, let new):
            "Source and destination attribute types are incompatible: element \(path) was \(old.label) and became \(new.label)"
        case .kind(let old, let new):
            "Source and destination property kinds are incompatible: \(old) became \(new)"
        case .cardinality:
            "Source and destination relationship cardinalities are incompatible: a to-many became a to-one"
        case .destination(let old, nil, let new), .renamedDestination(let old, let new):
            "Source and destination relationship destination entities are incompatible: \(old) has no counterpart, "
                + "and the relationship now points to \(new)"
        case .destination(let old, let counterpart?, let new):
            "Source and destination relationship destination entities are incompatible: "
                + (old == counterpart ? old : "\(old) became \(counterpart)")
                + ", and \(new) is neither its ancestor nor its descendant"
        case .hierarchies(let first, let firstRoot, let second, let secondRoot):
            "Entities of two source hierarchies are put into one: \(first) comes from hierarchy \(firstRoot), "
                + "\(second) from \(secondRoot)"
        }
    }
}

extension Incompatibility {
    /// Returns the reason, with both names of a renamed property.
    package func reason(of property: String?, from oldName: String?) -> String {
        guard let oldName, let property, oldName != property else { return reason }
        return "\(reason), and \(oldName) was renamed to \(property)"
    }
}

/// All obstacles to inferring a mapping model, in the order of the destination's entities.
struct InferenceProblems {
    private struct Problem {
        let entity: String
        let property: String?
        let reason: Incompatibility
        /// The name of the source property; nil if the problem does not concern a property.
        let origin: String?

        var sentence: String { reason.reason(of: property, from: origin) }
    }
    private var problems: [Problem] = []
    private var seen: Set<String> = []

    /// Records a problem. A property that several subentities inherit is reported once, at the first of them.
    ///
    /// - Parameters:
    ///   - origin: the source property.
    ///   - declaredBy: the entity that declares the property; `entity` if the problem concerns the entity itself.
    mutating func add(
        _ reason: Incompatibility, entity: String, property: String?, from origin: String? = nil, declaredBy: String
    ) {
        guard seen.insert("\(declaredBy)\u{0}\(property ?? "")\u{0}\(reason.code.rawValue)").inserted else { return }
        problems.append(Problem(entity: entity, property: property, reason: reason, origin: origin))
    }

    /// One error for all problems: the code and context of the first, the others in the message. Nil if there are none.
    var error: MigrationError? {
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
                + " beside the other entities in a mapping model in JSON (--mapping): " + lines.joined(separator: ", "),
            old.map { "all objects of \($0)" }.joined(separator: " and ")
        )
    }

    private var remedy: String {
        if let renaming {
            return renaming.remedy
                + (problems.allSatisfy(\.reason.mayBeLeft)
                    ? "; --unmappable leave goes on without, and leaves \(renaming.cost) behind" : "")
        }
        let left = problems.filter(\.reason.mayBeLeft)
        guard left.count == problems.count, let property = left.first?.property else {
            return "Write a mapping model that says how these are computed"
        }
        let line = left.first { $0.reason.convertsWhereNamed }.flatMap { problem in
            problem.property.map { ", as in a line \"\($0)\": \"$source.\(problem.origin ?? $0)\"" }
        }
        return
            "Give --unmappable leave to leave \(left.count == 1 ? "it" : "them") without a value, or a mapping model in "
            + "JSON (--mapping) that says how to compute \(left.count == 1 ? "it" : "them")\(line ?? ""), or has a line "
            + "\"\(property)\": null"
    }
}
