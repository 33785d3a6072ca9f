/// Checks of the expressions of an entity mapping with `forEach`.
extension ExpressionCheck {
    /// The variables that an expression of `forEach` may read.
    static let forEachVariables = ["source", "manager", "entityMapping"]

    /// Returns the kind of the members that an expression gives. Those of an archived list, or of one written as JSON, are
    /// known only when it is read.
    mutating func memberKind(of node: ExpressionNode) throws(ProgramFault) -> ExpressionKind {
        let found = try kind(of: node)
        for alternative in found.alternatives {
            switch alternative {
            case .collection, .unknown, .null, .value(.text), .value(.data), .value(.transformable): continue
            default:
                let text = Self.text(node)
                try mistyped(
                    "\"forEach\" takes a collection, and the expression gives \(alternative.label)", at: text,
                    remedy: "Name a to-many relationship, or an attribute that holds a list")
            }
        }
        if case .collection(let member, _) = found { return member }
        return .unknown
    }

    /// Gives `$member` and `$index` values. Relationships have a `$member` that is an object, and no `$index`: an object is
    /// related by what it was made of, and a value is not kept for that.
    mutating func bindMember(_ member: ExpressionKind, forAttribute: Bool) {
        var isObject = false
        if case .object = member { isObject = true }
        if forAttribute || isObject {
            variables.append(EntityMapping.memberVariable)
            bound[EntityMapping.memberVariable] = member
        }
        guard forAttribute else { return }
        variables.append(EntityMapping.indexVariable)
        bound[EntityMapping.indexVariable] = .value(.integer)
    }
}
