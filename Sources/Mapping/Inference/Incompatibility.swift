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
    /// An object could be in the relationship for several owners, and can be for one only: its inverse, named `Entity.name`, is
    /// a to-one now; nil if it is a to-many that has no inverse.
    case owners(inverse: String?)
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
        case .cardinality, .owners: "inference.cardinality"
        case .destination, .renamedDestination: "inference.relationshipDestination"
        case .hierarchies: "inference.hierarchies"
        }
    }

    /// True if the property may be left without a value. If false, the objects themselves have no place.
    var mayBeLeft: Bool {
        if case .hierarchies = self { return false }
        return true
    }

    /// True if the new relationship has less room for links, whatever the store has.
    var losesLinks: Bool {
        switch self {
        case .cardinality, .owners: true
        case .attributeType, .compositeElement, .kind, .destination, .renamedDestination, .hierarchies: false
        }
    }

    /// True if the property takes what it has room for when it is allowed.
    var takesWhatFits: Bool {
        if case .owners = self { true } else { false }
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
        case .owners(let inverse):
            "Source and destination relationship cardinalities are incompatible: an object could be in it for several owners, and "
                + (inverse.map { "can be for one, because the inverse \($0) is a to-one" }
                    ?? "can be for one, because a to-many without inverse has room for one")
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
