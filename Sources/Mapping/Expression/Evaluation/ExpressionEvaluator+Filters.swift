/// Predicates of source filters: three truth values, as SQL has them and as compiled filters follow them.
extension ExpressionEvaluator {
    /// Whether a filter's predicate holds; nil where it is unknown.
    ///
    /// A comparison with nil is unknown, unknown stays unknown under NOT; `x == nil` and `x != nil` with a literal nil ask
    /// whether there is a value. ANY, ALL and NONE are true or false, as in a compiled filter.
    func truth(_ node: PredicateNode) throws -> Bool? {
        try enter()
        defer { leave() }
        switch node {
        case .not(let inner): return try truth(inner).map { !$0 }
        case .and(let parts): return try chain(parts, deciding: false)
        case .or(let parts): return try chain(parts, deciding: true)
        case .expression(let inner):
            if case .predicate(let predicate) = inner { return try truth(predicate) }
            return try evaluate(inner).isNull ? nil : holdsInTwoValues(node)
        case .comparison(.direct, let left, let sign, let right, let options) where left != .anyKey:
            if right == .constant(.null), sign == .equal || sign == .notEqual {
                return try evaluate(left).isNull == (sign == .equal)
            }
            if left == .constant(.null), sign == .equal || sign == .notEqual {
                return try evaluate(right).isNull == (sign == .equal)
            }
            return try compare(evaluate(left), sign, evaluate(right), TextFolding(options))
        case .constant, .comparison: return try holdsInTwoValues(node)
        }
    }

    /// AND, where false decides, or OR, where true does; what follows a decided chain does not run.
    private func chain(_ parts: [PredicateNode], deciding: Bool) throws -> Bool? {
        var isKnown = true
        for part in parts {
            switch try truth(part) {
            case deciding?: return deciding
            case nil: isKnown = false
            default: continue
            }
        }
        return isKnown ? !deciding : nil
    }

    private func compare(
        _ left: EvaluatedValue, _ sign: ComparisonOperator, _ right: EvaluatedValue, _ folding: TextFolding
    ) throws -> Bool? {
        switch sign {
        case .isIn: return try membership(left, right, folding, sign, (left, right))
        case .contains: return try membership(right, left, folding, sign, (left, right))
        case .between:
            if left.isNull { return nil }
            guard case .collection(let bounds) = right, bounds.count == 2 else {
                return try Self.compare(left, sign, right, folding)
            }
            let low = try compare(left, .greaterThanOrEqual, bounds.members[0], folding)
            let high = try compare(left, .lessThanOrEqual, bounds.members[1], folding)
            if low == false || high == false { return false }
            return low == nil || high == nil ? nil : true
        default:
            return left.isNull || right.isNull ? nil : try Self.compare(left, sign, right, folding)
        }
    }

    /// Whether a value is a member: nil is in no collection that is known, and a list with nil in it may hold anything.
    private func membership(
        _ value: EvaluatedValue, _ whole: EvaluatedValue, _ folding: TextFolding, _ sign: ComparisonOperator,
        _ sides: (EvaluatedValue, EvaluatedValue)
    ) throws -> Bool? {
        guard !value.isNull else { return nil }
        guard case .collection(let collection) = whole else {
            return whole.isNull ? nil : try Self.compare(sides.0, sign, sides.1, folding)
        }
        if collection.contains(value, folding) { return true }
        return collection.kind == .array && collection.members.contains(where: \.isNull) ? nil : false
    }
}
