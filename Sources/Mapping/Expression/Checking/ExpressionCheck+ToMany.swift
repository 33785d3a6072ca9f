/// To-many key paths in comparisons: Core Data's fetches refuse one without ANY or ALL, and in memory a set equals no single
/// value, so that a filter without them lets nothing, or everything, through.
extension ExpressionCheck {
    /// Checks that a comparison without ANY, ALL or NONE has no to-many key path where one value is compared, and one with
    /// them none on its right side. Whoever evaluates the predicate, such a comparison is never meant.
    ///
    /// - Throws: `expression.type` with the comparison that was probably meant.
    func checkToMany(
        _ modifier: ComparisonModifier, _ left: (kind: ExpressionKind, node: ExpressionNode),
        _ sign: ComparisonOperator, _ right: (kind: ExpressionKind, node: ExpressionNode), _ options: ComparisonOptions
    ) throws(ExpressionMistake) {
        func text(_ first: ExpressionNode, _ sign: ComparisonOperator, _ second: ExpressionNode) -> String {
            SourcePredicate(node: .comparison(modifier: .any, first, sign, second, options)).format
        }
        if modifier == .direct, Self.isToMany(left), !Self.isWhole(sign, right) {
            throw several(left.node, sign, against: right.node) {
                text(left.node, sign, right.node)
            }
        }
        guard Self.isToMany(right), sign != .isIn, modifier != .direct || sign == .contains || !Self.isWhole(sign, left)
        else {
            return
        }
        if modifier == .direct, let mirrored = sign.mirrored {
            throw several(right.node, sign, against: left.node) { text(right.node, mirrored, left.node) }
        }
        throw mistake(
            "expression.type",
            "\(Self.text(right.node)) gives the values of several objects, and \(sign.rawValue) compares with one",
            at: Self.text(right.node),
            remedy: "Write ANY or ALL and the to-many on the left side, in SUBQUERY where both sides are to-many")
    }

    private func several(
        _ node: ExpressionNode, _ sign: ComparisonOperator, against other: ExpressionNode, _ meant: () -> String
    ) -> ExpressionMistake {
        let path = Self.text(node)
        let remedy: String
        if other == .constant(.null) {
            remedy = "Ask for the number of objects: \(path).@count \(sign == .equal ? "==" : ">") 0"
        } else {
            remedy = "Write \(meant()), or ALL for every one of them"
        }
        return mistake(
            "expression.type",
            "\(path) gives the values of several objects, and \(sign.rawValue) compares one value", at: path,
            remedy: remedy)
    }

    /// True where a side is a key path that crosses a to-many relationship.
    private static func isToMany(_ side: (kind: ExpressionKind, node: ExpressionNode)) -> Bool {
        side.node.keyPathParts != nil && side.kind.isCollection
    }

    /// True where a collection is compared as a whole: with another one, or asked whether it holds a value.
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
    /// The operator that says the same with the sides exchanged; nil where none does.
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
