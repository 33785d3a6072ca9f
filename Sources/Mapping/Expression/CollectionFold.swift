import Diagnostics

/// A value folded over the members of a to-many of one object, as an expression says it:
/// `$source.trades.@sum.amount`, `SUBQUERY($source.trades, $t, $t.amount > 5).@count`, `ANY $source.trades.amount > 5`.
package struct CollectionFold: Hashable, Sendable {
    package enum Operation: Hashable, Sendable {
        /// Members, or the values that are not nil.
        case count
        case sum
        case average
        case minimum
        case maximum
        /// Whether the condition holds for a member.
        case any
        /// Whether the condition holds for every member.
        case every
    }

    /// Names from the object to the members: relationships, at least one of them to-many. Objects that are reached in
    /// several ways count once, as in a set. An attribute may come last: then its distinct values are meant.
    package var path: [String]
    /// The variable that stands for the member in ``condition`` and ``operand``.
    package var variable = CollectionFold.member
    /// Members that it does not hold for are passed over; of `any` and `every` what is asked.
    package var condition: PredicateNode?
    /// What is folded, computed from the member; nil: the member itself, or the value of the attribute that ends the
    /// path.
    package var operand: ExpressionNode?
    package var operation: Operation
    /// Whether members without a value count as zero, as `@avg` has it.
    package var countsNil = false
    /// Whether the condition follows SQL's logic for nil, as in a source filter.
    package var isFilter: Bool

    /// A variable that no text can write.
    static let member = "@member"

    package init(path: [String], operation: Operation, isFilter: Bool) {
        self.path = path
        self.operation = operation
        self.isFilter = isFilter
    }

    /// The fold with the attribute that ends its path as its operand.
    ///
    /// - Throws: `expression.type` where something else is to be folded too.
    package func resolved(_ path: CollectionPath) throws(MigrationError) -> CollectionFold {
        guard let attribute = path.attribute else { return self }
        guard operand == nil, condition == nil else {
            throw MigrationError(
                "expression.type", .configuration,
                "\(self.path.joined(separator: ".")) gives values of an attribute, which have no properties")
        }
        var copy = self
        copy.operand = .keyPath(target: .variable(variable), components: [attribute.name])
        return copy
    }

    /// Whether equal values of the attribute that ends the path count once: a path over a to-many gives a set.
    package func countsDistinctValues(of path: CollectionPath) -> Bool {
        path.attribute != nil && [.count, .sum, .average].contains(operation)
    }
}
