/// Checks of predicates.
extension ExpressionCheck {
    /// Checks a predicate and its operands.
    mutating func check(_ node: PredicateNode) throws(ProgramFault) {
        switch node {
        case .constant: return
        case .not(let inner): try check(inner)
        case .and(let parts), .or(let parts): for part in parts { try check(part) }
        case .expression(let value):
            let found = try kind(of: value)
            if !found.mayBeNumber {
                try mistyped(
                    "\(found.label) is used where a predicate is expected", at: Self.text(value),
                    remedy: "Compare it with something")
            }
        case .comparison(let modifier, let left, let sign, let right, let options):
            let first: ExpressionKind = try left == .anyKey ? .unknown : kind(of: left)
            let second = try kind(of: right)
            try checkToMany(modifier, (first, left), sign, (second, right), options)
            let compared = modifier == .direct ? first : first.element
            try check(compared, left, sign, second, right, options)
        }
    }

    private func check(
        _ left: ExpressionKind, _ leftNode: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionKind,
        _ rightNode: ExpressionNode, _ options: ComparisonOptions
    ) throws(ProgramFault) {
        switch sign {
        case .matches, .like, .beginsWith, .endsWith:
            for (kind, node) in [(left, leftNode), (right, rightNode)] where !kind.mayBeText {
                try mistyped("\(sign.rawValue) does not take \(kind.label)", at: Self.text(node))
            }
            guard sign == .matches || sign == .like, case .constant(.string(let text)) = rightNode else { return }
            do throws(ProgramFault) { _ = try TextPattern(text, sign, TextFolding(options)) } catch {
                throw error.at(ExpressionConstant.quoted(text))
            }
        case .between:
            let isPair = if case .aggregate(let bounds) = rightNode { bounds.count == 2 } else { true }
            if !isPair || !right.isAlways(\.isCollection) {
                try mistyped("BETWEEN takes a list of two values, {low, high}", at: Self.text(rightNode))
            }
        case .isIn: try checkWhole(right, rightNode, sign)
        case .contains: try checkWhole(left, leftNode, sign)
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            for (kind, node) in [(left, leftNode), (right, rightNode)]
            where !kind.isAlwaysValue({ $0.isNumber || [.text, .uri, .date].contains($0) }) {
                try mistyped("\(kind.label) has no order", at: Self.text(node))
            }
            try checkTypes(left, leftNode, right)
        case .equal, .notEqual: try checkTypes(left, leftNode, right)
        }
    }

    /// Checks the types of two compared values. Values of different types are never equal and have no order, so comparing them
    /// is a mistake.
    private func checkTypes(
        _ left: ExpressionKind, _ node: ExpressionNode, _ right: ExpressionKind
    ) throws(ProgramFault) {
        if case .object = left, case .value(let type) = right, type.isPlain {
            return try mistyped("\(left.label) is not compared with a value of type \(type.label)", at: Self.text(node))
        }
        if case .value(let type) = left, case .object = right, type.isPlain {
            return try mistyped(
                "a value of type \(type.label) is not compared with \(right.label)", at: Self.text(node))
        }
        guard case .value(let one) = left, case .value(let other) = right, one != other,
            !(one.isNumber && other.isNumber), !(one == .text && other == .uri), !(one == .uri && other == .text)
        else { return }
        for type in [one, other] where type == .transformable || type == .reference || type == .null { return }
        try mistyped(
            "a value of type \(one.label) is not compared with one of type \(other.label)", at: Self.text(node),
            remedy: ExpressionType.remedy(comparing: one, other))
    }

    private func checkWhole(
        _ whole: ExpressionKind, _ node: ExpressionNode, _ sign: ComparisonOperator
    ) throws(ProgramFault) {
        let mayHold = whole.isAlways { kind in
            switch kind {
            case .collection: true
            case .value(let type): type == .text || type == .uri || type == .transformable
            default: false
            }
        }
        if !mayHold { try mistyped("\(sign.rawValue) does not look into \(whole.label)", at: Self.text(node)) }
    }
}

extension ExpressionType {
    /// True if values of the type are never objects and never represent objects.
    fileprivate var isPlain: Bool { self != .transformable && self != .reference && self != .null }
}
