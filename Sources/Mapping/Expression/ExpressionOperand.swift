/// An operand that the parser has read: a value or a predicate, and the depth of its tree.
///
/// Parentheses may hold either, and only their end shows which. So the parser reads both with one grammar.
struct ExpressionOperand {
    enum Content {
        case value(ExpressionNode)
        case predicate(PredicateNode)
    }

    var content: Content
    /// The levels of the tree, at least 1.
    var depth: Int
    /// True if operators on either side cannot split the operand: it is one word, a call or in parentheses.
    var isClosed: Bool

    init(_ node: ExpressionNode, depth: Int = 1, isClosed: Bool = true) {
        content = .value(node)
        self.depth = depth
        self.isClosed = isClosed
    }

    init(_ node: PredicateNode, depth: Int = 1, isClosed: Bool = false) {
        content = .predicate(node)
        self.depth = depth
        self.isClosed = isClosed
    }

    /// The operand as a value.
    var value: ExpressionNode {
        switch content {
        case .value(let node): node
        case .predicate(.expression(let node)): node
        case .predicate(let node): .predicate(node)
        }
    }

    /// The operand as a predicate.
    var predicate: PredicateNode {
        switch content {
        case .value(.predicate(let node)): node
        case .value(let node): .expression(node)
        case .predicate(let node): node
        }
    }
}

/// The binding strength of operators, from the loosest.
///
/// Apple publishes no precedence for `**` against the minus sign. Here, as in NSPredicate's number literals, the sign belongs
/// to its operand: `-2 ** 2` is 4. Operators of one level associate to the left. Bit operators bind more loosely than
/// arithmetic, in C's order, but more tightly than comparisons: `flags & 4 == 4` compares the bit.
enum ExpressionPrecedence: Int, Comparable {
    case or = 1
    case and, not, comparison, set, bitOr, bitExclusiveOr, bitAnd, shift, sum, product, power, sign, primary

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The next tighter level.
    var tighter: ExpressionPrecedence { ExpressionPrecedence(rawValue: rawValue + 1) ?? .primary }
}

/// An operator between two operands.
enum ExpressionInfix {
    case or
    case and
    case comparison(ComparisonOperator)
    case set(SetOperator)
    case arithmetic(ArithmeticOperator)
    /// A bit operator, by the selector of its function.
    case bits(String, ExpressionPrecedence)

    /// Makes the operator for a token that follows an operand; nil for all other tokens.
    init?(_ token: ExpressionToken) {
        switch token {
        case .reserved(let word, _):
            switch word {
            case .or: self = .or
            case .and: self = .and
            case .in: self = .comparison(.isIn)
            case .between: self = .comparison(.between)
            case .contains: self = .comparison(.contains)
            case .beginswith: self = .comparison(.beginsWith)
            case .endswith: self = .comparison(.endsWith)
            case .like: self = .comparison(.like)
            case .matches: self = .comparison(.matches)
            case .union: self = .set(.union)
            case .intersect: self = .set(.intersection)
            case .minus: self = .set(.difference)
            default: return nil
            }
        case .symbol(let symbol):
            switch symbol {
            case .or: self = .or
            case .and: self = .and
            case .equal: self = .comparison(.equal)
            case .notEqual: self = .comparison(.notEqual)
            case .less: self = .comparison(.lessThan)
            case .lessOrEqual: self = .comparison(.lessThanOrEqual)
            case .greater: self = .comparison(.greaterThan)
            case .greaterOrEqual: self = .comparison(.greaterThanOrEqual)
            case .plus: self = .arithmetic(.add)
            case .minus: self = .arithmetic(.subtract)
            case .times: self = .arithmetic(.multiply)
            case .divide: self = .arithmetic(.divide)
            case .modulus: self = .arithmetic(.modulus)
            case .power: self = .arithmetic(.power)
            case .bitAnd: self = .bits("bitwiseAnd:with:", .bitAnd)
            case .bitOr: self = .bits("bitwiseOr:with:", .bitOr)
            case .bitExclusiveOr: self = .bits("bitwiseXor:with:", .bitExclusiveOr)
            case .shiftLeft: self = .bits("leftshift:by:", .shift)
            case .shiftRight: self = .bits("rightshift:by:", .shift)
            default: return nil
            }
        default: return nil
        }
    }

    var precedence: ExpressionPrecedence {
        switch self {
        case .or: .or
        case .and: .and
        case .comparison: .comparison
        case .set: .set
        case .arithmetic(let sign): sign.precedence
        case .bits(_, let precedence): precedence
        }
    }
}

extension ArithmeticOperator {
    var precedence: ExpressionPrecedence {
        switch self {
        case .add, .subtract: .sum
        case .multiply, .divide, .modulus: .product
        case .power: .power
        }
    }
}
