import ManagedModel

/// Predicates of source filters: three truth values, as SQL has them and as compiled filters follow them.
extension ExpressionEvaluator {
    /// Whether a filter's predicate holds; nil where it is unknown.
    ///
    /// A comparison with nil is unknown, unknown stays unknown under NOT; `x == nil` and `x != nil` with a literal nil ask
    /// whether there is a value. ANY, ALL and NONE are true or false: they ask rows whether something is true of them.
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
            let (first, second) = (try evaluate(left), try evaluate(right))
            // A to-many relationship that nothing leads to has no members, as in SQL: nothing is among them.
            if sign == .isIn, second.isNull, try leadsToMany(right) { return first.isNull ? nil : false }
            if sign == .contains, first.isNull, try leadsToMany(left) { return second.isNull ? nil : false }
            return try compare(first, sign, second, TextFolding(options))
        case .comparison(let modifier, let left, let sign, let right, let options) where modifier != .direct:
            return try quantified(modifier, left, sign, right, TextFolding(options))
        case .constant, .comparison: return try holdsInTwoValues(node)
        }
    }

    /// A comparison with ANY, ALL or NONE of the rows that a path leads to.
    ///
    /// A literal nil asks which of them have no value. Otherwise a row without a value takes no part: it is none of ANY
    /// and no exception to ALL, as if the values were a set.
    private func quantified(
        _ modifier: ComparisonModifier, _ left: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionNode,
        _ folding: TextFolding
    ) throws -> Bool {
        let asksForNil = right == .constant(.null)
        let other = try evaluate(right)
        for row in try rows(at: left) {
            try step()
            let holds: Bool
            if asksForNil {
                holds = sign == .equal ? row.isNull : sign == .notEqual && !row.isNull
            } else {
                if row.isNull { continue }
                holds = try compare(row, sign, other, folding) == true
            }
            if holds == (modifier != .all) { return modifier == .any }
        }
        return modifier != .any
    }

    /// The values at the end of a path, one for each row of the last to-many relationship on the way: nil where that row
    /// leads to none. An object that several rows lead to counts once.
    private func rows(at node: ExpressionNode) throws -> [EvaluatedValue] {
        let unions: Set = ["@distinctUnionOfObjects", "@distinctUnionOfSets", "@distinctUnionOfArrays"]
        guard let (root, whole) = node.keyPathParts else { return try Self.leaves(of: evaluate(node)) }
        let path = whole.filter { !unions.contains($0) && $0 != "self" }
        guard !path.contains(where: { $0.hasPrefix("@") }) else { return try Self.leaves(of: evaluate(node)) }
        var rows = try Self.leaves(of: evaluate(root))
        // The model tells a to-many that no row gets as far as from an attribute without a value.
        var entity = rows.lazy.compactMap(\.expressionEntity).first
        for name in path {
            let relationship = entity?.relationship(named: name)
            var isToMany = relationship?.isToMany ?? false
            var next: [EvaluatedValue] = []
            for row in rows {
                try step()
                let value = try row.isNull ? .null : self.value(forKey: name, of: row)
                if case .collection(let members) = value {
                    isToMany = true
                    next += members.members
                } else {
                    next.append(value)
                }
            }
            rows = isToMany ? EvaluatedCollection.distinct(next.filter { !$0.isNull }) : next
            entity = relationship?.destination
        }
        return rows
    }

    /// Tells by the model whether a key path goes through a to-many relationship.
    private func leadsToMany(_ node: ExpressionNode) throws -> Bool {
        guard let (root, path) = node.keyPathParts else { return false }
        var entity = try evaluate(root).expressionEntity
        for name in path {
            guard let relationship = entity?.relationship(named: name) else { return false }
            if relationship.isToMany { return true }
            entity = relationship.destination
        }
        return false
    }

    /// The members of a collection, and of those in it; another value by itself, of nil nothing.
    private static func leaves(of value: EvaluatedValue) -> [EvaluatedValue] {
        switch value {
        case .null: []
        case .collection(let collection): collection.members.flatMap(leaves)
        default: [value]
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

extension EvaluatedValue {
    /// The entity of an object; nil for other values.
    fileprivate var expressionEntity: EntityDescription? {
        if case .object(let object) = self { return (object as? any ExpressionObject)?.expressionEntity }
        return nil
    }
}
