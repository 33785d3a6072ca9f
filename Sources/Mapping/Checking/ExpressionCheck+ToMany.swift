/// Checks of to-many key paths in comparisons. Core Data's fetches refuse such a path without ANY or ALL. In memory a set
/// equals no single value, so a filter without them would pass no object or every object.
extension ExpressionCheck {
    /// Checks the to-many key paths of a comparison. Without ANY, ALL or NONE, no side may have one where a single value is
    /// compared; with them, the right side may have none. Neither way of evaluation gives such a comparison a useful meaning.
    ///
    /// - Throws: `expression.type` with the comparison that was probably intended.
    func checkToMany(
        _ modifier: ComparisonModifier, _ left: (kind: ExpressionKind, node: ExpressionNode),
        _ sign: ComparisonOperator, _ right: (kind: ExpressionKind, node: ExpressionNode), _ options: ComparisonOptions
    ) throws(ProgramFault) {
        func text(_ first: ExpressionNode, _ sign: ComparisonOperator, _ second: ExpressionNode) -> String {
            SourcePredicate(node: .comparison(modifier: .any, first, sign, second, options)).format
        }
        if modifier == .direct, Self.isToMany(left), !Self.isWhole(sign, right) {
            throw several(left.node, sign, against: right.node) { text(left.node, sign, right.node) }
        }
        guard Self.isToMany(right), sign != .isIn, modifier != .direct || sign == .contains || !Self.isWhole(sign, left)
        else { return }
        if modifier == .direct, let mirrored = sign.mirrored {
            throw several(right.node, sign, against: left.node) { text(right.node, mirrored, left.node) }
        }
        throw ProgramFault(
            "expression.type",
            "\(Self.text(right.node)) gives the values of several objects, and \(sign.rawValue) compares with one",
            at: Self.text(right.node),
            remedy: "Write ANY or ALL and the to-many on the left side, in SUBQUERY where both sides are to-many")
    }

    private func several(
        _ node: ExpressionNode, _ sign: ComparisonOperator, against other: ExpressionNode, _ meant: () -> String
    ) -> ProgramFault {
        let path = Self.text(node)
        let remedy =
            other == .constant(.null)
            ? "Ask for the number of objects: \(path).@count \(sign == .equal ? "==" : ">") 0"
            : "Write \(meant()), or ALL for every one of them"
        return ProgramFault(
            "expression.type",
            "\(path) gives the values of several objects, and \(sign.rawValue) compares one value", at: path,
            remedy: remedy)
    }

    /// Tells whether a side is a key path that crosses a to-many relationship.
    private static func isToMany(_ side: (kind: ExpressionKind, node: ExpressionNode)) -> Bool {
        side.node.keyPathParts != nil && side.kind.isCollection
    }

    /// Tells whether a collection is compared as a whole: with another collection, or in a membership test.
    private static func isWhole(
        _ sign: ComparisonOperator, _ other: (kind: ExpressionKind, node: ExpressionNode)
    ) -> Bool {
        switch sign {
        case .equal, .notEqual:
            if case .aggregate = other.node { return false }
            if case .null = other.kind { return false }
            return other.kind.isAlways(\.isCollection)
        case .contains: return !other.kind.isCollection
        default: return false
        }
    }
}

extension ComparisonOperator {
    /// The operator for the same comparison with the sides exchanged; nil if there is none.
    fileprivate var mirrored: ComparisonOperator? {
        switch self {
        case .equal, .notEqual: self
        case .lessThan: .greaterThan
        case .lessThanOrEqual: .greaterThanOrEqual
        case .greaterThan: .lessThan
        case .greaterThanOrEqual: .lessThanOrEqual
        default: nil
        }
    }
}
