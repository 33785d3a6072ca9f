import ManagedModel

/// Evaluates comparisons of source filters in three truth values, as SQL and compiled filters do.
extension ExpressionEvaluator {
    /// Returns the truth of a filter's comparison; nil if it is unknown.
    ///
    /// A comparison with nil is unknown. `x == nil` and `x != nil` with a literal nil test if there is a value. ANY, ALL and
    /// NONE are true or false: they test rows.
    func filtered(
        _ modifier: ComparisonModifier, _ left: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionNode,
        _ folding: TextFolding
    ) throws -> Bool? {
        if modifier != .direct { return try quantified(modifier, left, sign, right, folding) }
        if let (value, isEqual) = PredicateNode.comparison(modifier: modifier, left, sign, right, []).nilTest {
            return try evaluate(value, asStored: true).isNull == isEqual
        }
        let (first, second) = (try evaluate(left), try evaluate(right))
        // A to-many relationship whose owner is nil has no members, as in SQL: it contains nothing.
        if sign == .isIn, second.isNull, try leadsToMany(right) { return first.isNull ? nil : false }
        if sign == .contains, first.isNull, try leadsToMany(left) { return second.isNull ? nil : false }
        return try compare(first, sign, second, folding)
    }

    /// Compares with ANY, ALL or NONE of the rows that a path leads to.
    ///
    /// A literal nil tests which of them have no value. Otherwise a row without a value is skipped: it does not satisfy ANY and
    /// is no exception to ALL, as if the values were a set.
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

    /// Returns the values at the end of a path, one for each row of the last to-many relationship of the path; nil for a row
    /// that leads to no value. An object that several rows lead to counts once.
    private func rows(at node: ExpressionNode) throws -> [EvaluatedValue] {
        guard let (root, whole) = node.keyPathParts else { return try Self.leaves(of: evaluate(node)) }
        let path = whole.filter { !CollectionFold.distinctUnions.contains($0) && $0 != "self" }
        guard !path.contains(where: { $0.hasPrefix("@") }) else { return try Self.leaves(of: evaluate(node)) }
        var rows = try Self.leaves(of: evaluate(root))
        // If no row leads that far, only the model can tell a to-many relationship from an attribute without a value.
        var entity = rows.lazy.compactMap(\.expressionEntity).first
        for name in path {
            let relationship = entity?.relationship(named: name)
            var isToMany = relationship?.isToMany ?? false
            var next: [EvaluatedValue] = []
            for row in rows {
                try step()
                let value = try row.isNull ? .null : self.value(forKey: name, of: row).transformed()
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

    /// Tells, from the model, whether a key path crosses a to-many relationship.
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

    /// Returns the members of a collection and of the collections in it. Any other value gives itself, nil gives nothing.
    private static func leaves(of value: EvaluatedValue) -> [EvaluatedValue] {
        switch value {
        case .null: []
        case .collection(let collection): collection.members.flatMap(leaves)
        default: [value]
        }
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

    /// Returns the truth of a membership: that of nil is unknown, and so is a failed search in a list that contains nil.
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
        if case .object(let object) = self { (object as? any ExpressionObject)?.expressionEntity } else { nil }
    }
}
