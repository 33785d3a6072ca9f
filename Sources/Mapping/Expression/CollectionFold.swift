import Diagnostics

/// A value folded over the members of a to-many relationship of one object, as written in an expression:
/// `$source.trades.@sum.amount`, `SUBQUERY($source.trades, $t, $t.amount > 5).@count`, `ANY $source.trades.amount > 5`.
package struct CollectionFold: Hashable, Sendable {
    package enum Operation: String, Sendable {
        /// Counts the members, or the values that are not nil.
        case count
        case sum
        case average
        case minimum
        case maximum
        /// Tells whether the condition holds for at least one member.
        case any
        /// Tells whether the condition holds for every member.
        case every = "all"
    }

    /// Names from the object to the members: relationships, at least one of them to-many. An object reached in several ways
    /// counts once, as in a set. If an attribute comes last, its distinct values are folded.
    package var path: [String]
    /// The variable that names the member in ``condition`` and ``operand``.
    package var variable = CollectionFold.member
    /// The condition on members. Members that fail it are skipped; `any` and `every` fold the condition itself.
    package var condition: PredicateNode?
    /// The folded value, computed from the member. If nil, the member itself is folded, or the value of the attribute that ends
    /// the path.
    package var operand: ExpressionNode?
    package var operation: Operation
    /// True if members without a value count as zero, as in `@avg`.
    package var countsNil = false
    /// True if the condition follows SQL's logic for nil, as in a source filter.
    package var isFilter: Bool

    /// The default variable, whose name has no text form, so that no expression can use it.
    static let member = "@member"
    /// The operators that only turn values into a set.
    static let distinctUnions: Set = ["@distinctUnionOfObjects", "@distinctUnionOfSets", "@distinctUnionOfArrays"]
    /// The operators that unite several sets.
    static let unions = distinctUnions.union(["@unionOfObjects", "@unionOfSets", "@unionOfArrays"])

    package init(path: [String], operation: Operation, isFilter: Bool) {
        self.path = path
        self.operation = operation
        self.isFilter = isFilter
    }

    /// Returns the fold with the attribute that ends its path as its operand.
    ///
    /// - Throws: `expression.type` if the fold has an operand or a condition too.
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

    /// Tells whether equal values of the attribute that ends the path count once, because a path over a to-many relationship
    /// gives a set.
    package func countsDistinctValues(of path: CollectionPath) -> Bool {
        path.attribute != nil && [.count, .sum, .average].contains(operation)
    }
}

extension [String] {
    /// Returns a path without some operators; nil if others remain.
    func withoutOperators(_ operators: Set<String>) -> [String]? {
        let rest = filter { !operators.contains($0) }
        return rest.contains { $0.hasPrefix("@") } ? nil : rest
    }
}
