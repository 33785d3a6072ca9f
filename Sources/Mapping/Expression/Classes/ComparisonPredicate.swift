import Foundation

/// A comparison of two expressions: Core Data's NSComparisonPredicate.
open class ComparisonPredicate: FormatPredicate, @unchecked Sendable {
    public enum Modifier: UInt, Sendable {
        case direct = 0
        case all
        case any
    }

    /// The operators, with Core Data's codes.
    public enum Operator: UInt, Sendable {
        case lessThan = 0
        case lessThanOrEqualTo
        case greaterThan
        case greaterThanOrEqualTo
        case equalTo
        case notEqualTo
        case matches
        case like
        case beginsWith
        case endsWith
        case `in`
        case contains = 99
        case between = 100
    }

    public struct Options: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let caseInsensitive = Options(rawValue: 1)
        public static let diacriticInsensitive = Options(rawValue: 2)
        public static let normalized = Options(rawValue: 4)
    }

    public let leftExpression: ValueExpression
    public let rightExpression: ValueExpression
    public let comparisonPredicateModifier: Modifier
    public let predicateOperatorType: Operator
    public let options: Options

    public init(
        leftExpression: ValueExpression, rightExpression: ValueExpression, modifier: Modifier, type: Operator,
        options: Options = []
    ) {
        self.leftExpression = leftExpression
        self.rightExpression = rightExpression
        comparisonPredicateModifier = modifier
        predicateOperatorType = type
        self.options = options
        let modifier: ComparisonModifier =
            switch modifier {
            case .direct: .direct
            case .all: .all
            case .any: .any
            }
        super.init(
            node: .comparison(
                modifier: modifier, leftExpression.node, type.comparison, rightExpression.node,
                ComparisonOptions(rawValue: UInt8(truncatingIfNeeded: options.rawValue & 7))))
    }

    override init(node: PredicateNode) {
        guard case .comparison(let modifier, let left, let comparison, let right, let options) = node else {
            // Only `make` gives trees, and only comparisons.
            preconditionFailure("a comparison predicate is made of a comparison")
        }
        leftExpression = ValueExpression(node: left)
        rightExpression = ValueExpression(node: right)
        comparisonPredicateModifier =
            switch modifier {
            case .direct: .direct
            case .all: .all
            case .any, .none: .any
            }
        predicateOperatorType = Operator(comparison)
        self.options = Options(rawValue: UInt(options.rawValue & 7))
        super.init(node: node)
    }
}

extension ComparisonPredicate.Operator {
    var comparison: ComparisonOperator {
        switch self {
        case .lessThan: .lessThan
        case .lessThanOrEqualTo: .lessThanOrEqual
        case .greaterThan: .greaterThan
        case .greaterThanOrEqualTo: .greaterThanOrEqual
        case .equalTo: .equal
        case .notEqualTo: .notEqual
        case .matches: .matches
        case .like: .like
        case .beginsWith: .beginsWith
        case .endsWith: .endsWith
        case .in: .isIn
        case .contains: .contains
        case .between: .between
        }
    }

    init(_ comparison: ComparisonOperator) {
        switch comparison {
        case .lessThan: self = .lessThan
        case .lessThanOrEqual: self = .lessThanOrEqualTo
        case .greaterThan: self = .greaterThan
        case .greaterThanOrEqual: self = .greaterThanOrEqualTo
        case .equal: self = .equalTo
        case .notEqual: self = .notEqualTo
        case .matches: self = .matches
        case .like: self = .like
        case .beginsWith: self = .beginsWith
        case .endsWith: self = .endsWith
        case .isIn: self = .in
        case .contains: self = .contains
        case .between: self = .between
        }
    }
}
