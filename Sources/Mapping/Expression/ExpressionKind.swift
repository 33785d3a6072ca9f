import ManagedModel

/// The kind of an expression's value, as far as the models tell it before any row is read. The rest is unknown, and passes.
indirect enum ExpressionKind: Sendable {
    /// One of the two stores.
    enum Side: String, Sendable {
        case source, destination
    }

    case unknown
    case null
    case value(ExpressionType)
    /// An object of an entity; nil for any entity.
    case object(Side, EntityDescription?)
    /// A collection, ordered or not.
    case collection(ExpressionKind, isOrdered: Bool)
    /// An object other than a managed object, and the expression that reaches it: `$manager`, `objectID`.
    case service(KnownObject, String)
    /// A dictionary, whose keys only the row or the code that filled it knows.
    case dictionary(ExpressionKind)
    /// A composite attribute as a whole: a dictionary of which the model tells the keys.
    case composite(CompositeDescription, EntityDescription)
    /// The results of a TERNARY.
    case either(ExpressionKind, ExpressionKind)

    /// The kind for error messages.
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

    /// Returns the common kind of all members of a list; unknown if they differ.
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

    /// The kind of a collection's members; any other kind itself.
    var element: ExpressionKind {
        if case .collection(let element, _) = self { element } else { self }
    }

    /// All kinds that the value may have.
    var alternatives: [ExpressionKind] {
        if case .either(let first, let second) = self { return first.alternatives + second.alternatives }
        return [self]
    }

    /// Tells whether every possible kind passes a test. Unknown, nil and what only a transformer knows pass.
    func isAlways(_ test: (ExpressionKind) -> Bool) -> Bool {
        alternatives.allSatisfy { kind in
            switch kind {
            case .unknown, .null, .value(.transformable): true
            default: test(kind)
            }
        }
    }

    /// Tells whether it is an object that has a property of the name.
    func hasProperty(_ name: String) -> Bool {
        guard case .object(_, let entity?) = self else { return false }
        return entity.hasProperty(named: name)
    }

    var isCollection: Bool { if case .collection = self { true } else { false } }

    /// Tells whether every possible kind is a single value whose type passes a test.
    func isAlwaysValue(_ test: (ExpressionType) -> Bool) -> Bool {
        isAlways { if case .value(let type) = $0 { test(type) } else { false } }
    }

    /// True if the value may be a number. Dates are not numbers.
    var mayBeNumber: Bool { isAlwaysValue(\.isNumber) }

    /// True if the value may be text, or a value that text comparisons treat as text.
    var mayBeText: Bool { isAlwaysValue { $0 == .text || $0 == .uri } }

    /// True if the value may be objects or the unknown result of a fetch request, and not a plain value or another kind of
    /// object.
    var mayGiveObjects: Bool {
        alternatives.contains { kind in
            switch kind.element {
            case .object, .unknown, .either: true
            default: false
            }
        }
    }

    /// Tells whether the value may be an object of a side, or a collection of such objects.
    func mayBeObjects(of wanted: Side) -> Bool {
        isAlways { kind in
            kind.element.isAlways { if case .object(let side, _) = $0 { side == wanted } else { false } }
        }
    }
}
