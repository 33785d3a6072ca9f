import Foundation

/// A comparison of two expressions: Core Data's NSComparisonPredicate.
open class ComparisonPredicate: FormatPredicate, @unchecked Sendable {
    /// The members of a collection on the left side that must satisfy the comparison.
    public enum Modifier: UInt, Sendable {
        /// The value itself.
        case direct = 0
        /// Every member. The comparison holds for an empty collection.
        case all
        /// At least one member.
        case any
    }

    /// The operators, with Core Data's codes.
    public enum Operator: UInt, Sendable {
        /// `<`
        case lessThan = 0
        /// `<=`
        case lessThanOrEqualTo
        /// `>`
        case greaterThan
        /// `>=`
        case greaterThanOrEqualTo
        /// `==`
        case equalTo
        /// `!=`
        case notEqualTo
        /// `MATCHES`: a regular expression for the whole text.
        case matches
        /// `LIKE`: `*` stands for any text, `?` for one character.
        case like
        /// `BEGINSWITH`
        case beginsWith
        /// `ENDSWITH`
        case endsWith
        /// `IN`: the right side is a collection, or a text.
        case `in`
        /// `CONTAINS`: the left side is a collection, or a text.
        case contains = 99
        /// `BETWEEN`: the right side has the two bounds, both inclusive.
        case between = 100
    }

    /// The options for comparing texts.
    public struct Options: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// `[c]`: upper-case and lower-case letters are equal.
        public static let caseInsensitive = Options(rawValue: 1)
        /// `[d]`: letters with and without marks are equal.
        public static let diacriticInsensitive = Options(rawValue: 2)
        /// `[n]`: texts are compared as they are, without regard to a language.
        public static let normalized = Options(rawValue: 4)
    }

    /// The left side.
    public let leftExpression: ValueExpression
    /// The right side.
    public let rightExpression: ValueExpression
    /// The members of a collection on the left side that must satisfy the comparison.
    public let comparisonPredicateModifier: Modifier
    /// The operator.
    public let predicateOperatorType: Operator
    /// The options for comparing texts.
    public let options: Options

    /// Makes a comparison of two expressions.
    public init(
        leftExpression: ValueExpression, rightExpression: ValueExpression, modifier: Modifier, type: Operator,
        options: Options = []
    ) {
        self.leftExpression = leftExpression
        self.rightExpression = rightExpression
        comparisonPredicateModifier = modifier
        predicateOperatorType = type
        self.options = options
        super.init(
            node: .comparison(
                modifier: ComparisonModifier.byCode[Int64(modifier.rawValue)] ?? .direct, leftExpression.node,
                ComparisonOperator.byCode[Int64(type.rawValue)] ?? .equal, rightExpression.node,
                ComparisonOptions(rawValue: UInt8(truncatingIfNeeded: options.rawValue & 7))))
    }

    override init(node: PredicateNode) {
        guard case .comparison(let modifier, let left, let comparison, let right, let options) = node else {
            // Only `make` passes trees, and only trees of comparisons.
            preconditionFailure("a comparison predicate is made of a comparison")
        }
        leftExpression = ValueExpression(node: left)
        rightExpression = ValueExpression(node: right)
        comparisonPredicateModifier = Modifier(rawValue: UInt(modifier.code)) ?? .any
        predicateOperatorType = Operator(rawValue: UInt(comparison.code)) ?? .equalTo
        self.options = Options(rawValue: UInt(options.rawValue & 7))
        super.init(node: node)
    }
}
