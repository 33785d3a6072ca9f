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
        let found: ExpressionInfix? =
            switch token {
            case .reserved(let word, _): Self.words[word]
            case .symbol(let symbol): Self.symbols[symbol]
            default: nil
            }
        guard let found else { return nil }
        self = found
    }

    private static let words: [ReservedWord: ExpressionInfix] = [
        .or: .or, .and: .and, .in: .comparison(.isIn), .between: .comparison(.between),
        .contains: .comparison(.contains), .beginswith: .comparison(.beginsWith), .endswith: .comparison(.endsWith),
        .like: .comparison(.like), .matches: .comparison(.matches), .union: .set(.union),
        .intersect: .set(.intersection), .minus: .set(.difference),
    ]
    private static let symbols: [ExpressionToken.Symbol: ExpressionInfix] = [
        .or: .or, .and: .and, .equal: .comparison(.equal), .notEqual: .comparison(.notEqual),
        .less: .comparison(.lessThan), .lessOrEqual: .comparison(.lessThanOrEqual),
        .greater: .comparison(.greaterThan), .greaterOrEqual: .comparison(.greaterThanOrEqual),
        .plus: .arithmetic(.add), .minus: .arithmetic(.subtract), .times: .arithmetic(.multiply),
        .divide: .arithmetic(.divide), .modulus: .arithmetic(.modulus), .power: .arithmetic(.power),
        .bitAnd: .bits("bitwiseAnd:with:", .bitAnd), .bitOr: .bits("bitwiseOr:with:", .bitOr),
        .bitExclusiveOr: .bits("bitwiseXor:with:", .bitExclusiveOr), .shiftLeft: .bits("leftshift:by:", .shift),
        .shiftRight: .bits("rightshift:by:", .shift),
    ]

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
