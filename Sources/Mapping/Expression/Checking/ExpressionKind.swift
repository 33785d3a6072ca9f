import ManagedModel

/// What the models say of an expression's value before any row is read. What they do not say is unknown, and passes.
indirect enum ExpressionKind: Sendable {
    /// One of the two stores.
    enum Side: String, Sendable {
        case source, destination
    }

    case unknown
    case null
    case value(ExpressionType)
    /// An object; of any entity where none is given.
    case object(Side, EntityDescription?)
    /// Several, whether in an order or not.
    case collection(ExpressionKind, isOrdered: Bool)
    /// An object that is no managed object, and how it is reached: `$manager`, `objectID`.
    case service(KnownObject, String)
    /// Values by keys that only the row, or the one who filled it, knows.
    case dictionary(ExpressionKind)
    /// A composite attribute as a whole: a dictionary of which the model tells the keys.
    case composite(CompositeDescription, EntityDescription)
    /// The results of a TERNARY.
    case either(ExpressionKind, ExpressionKind)

    /// The kind in words.
    var label: String {
        switch self {
        case .unknown: "anything"
        case .null: "nil"
        case .value(let type): "a value of type \(type.label)"
        case .object(let side, let entity):
            entity.map { "an object of the \(side.rawValue) entity \($0)" } ?? "an object of the \(side.rawValue)"
        case .collection(.value(let type), _): "several values of type \(type.label)"
        case .collection(.object(let side, let entity), _):
            entity.map { "objects of the \(side.rawValue) entity \($0)" } ?? "objects of the \(side.rawValue)"
        case .collection: "a list of values"
        case .service(_, let name): "the object \(name)"
        case .dictionary, .composite: "a dictionary"
        case .either(let first, _): first.label
        }
    }

    /// What every member of a list is; unknown for members of several kinds.
    static func common(of kinds: [ExpressionKind]) -> ExpressionKind {
        var found: ExpressionKind?
        for kind in kinds {
            switch (kind, found) {
            case (.null, _): continue
            case (_, nil): found = kind
            case (.value(let type), .value(let known)?) where type == known: continue
            case (.object(let side, let entity?), .object(let other, let known?)?)
            where side == other && entity == known:
                continue
            default: return .unknown
            }
        }
        return found ?? .unknown
    }

    /// What a collection's members are, and every other value itself.
    var element: ExpressionKind {
        if case .collection(let element, _) = self { return element }
        return self
    }

    /// Each of what it may be.
    var alternatives: [ExpressionKind] {
        if case .either(let first, let second) = self { return first.alternatives + second.alternatives }
        return [self]
    }

    /// Whether all that it may be passes a test; what is unknown, and nil, passes.
    func isAlways(_ test: (ExpressionKind) -> Bool) -> Bool {
        alternatives.allSatisfy { kind in
            switch kind {
            case .unknown, .null: true
            default: test(kind)
            }
        }
    }

    /// Whether it is an object with a property of a name.
    func hasProperty(_ name: String) -> Bool {
        guard case .object(_, let entity?) = self else { return false }
        return entity.hasProperty(named: name)
    }

    var isCollection: Bool { if case .collection = self { true } else { false } }

    /// Whether it may be a number: dates are none.
    var mayBeNumber: Bool { isAlways { if case .value(let type) = $0 { type.isNumber } else { false } } }

    /// Whether it may be text, or what comparisons of text take for it.
    var mayBeText: Bool {
        isAlways { if case .value(let type) = $0 { type == .text || type == .uri } else { false } }
    }

    /// Whether it may be objects, or a request's result that is not known: no value, and no object of another kind.
    var mayGiveObjects: Bool {
        alternatives.contains { kind in
            switch kind.element {
            case .object, .unknown, .either: true
            default: false
            }
        }
    }

    /// Whether it may be an object of a side, or several.
    func mayBeObjects(of wanted: Side) -> Bool {
        isAlways { kind in
            kind.element.isAlways { if case .object(let side, _) = $0 { side == wanted } else { false } }
        }
    }
}

/// What is wrong with an expression, and the words of it that are.
///
/// A class, as ``ProgramFault`` is: the check recurses.
final class ExpressionMistake: Error, Sendable {
    let fault: ProgramFault
    /// The part of the expression's text, as it is printed, that the mistake is about.
    let fragment: String?

    init(_ fault: ProgramFault, at fragment: String?) {
        self.fault = fault
        self.fragment = fragment
    }
}
