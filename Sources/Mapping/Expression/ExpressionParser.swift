import Diagnostics

/// Parses NSExpression and NSPredicate format strings.
///
/// One grammar serves both, by precedence climbing without backtracking: time and memory are linear in the text.
/// ``maximumNesting`` bounds the recursion and ``maximumDepth`` the depth of the tree, so neither the parser nor code that
/// walks a tree can overflow the stack.
struct ExpressionParser {
    /// The greatest nesting of operands in operands: parentheses, arguments, signs, right sides.
    static let maximumNesting = 200
    /// The greatest depth of a tree, long chains of one operator included. A chain of ANDs or ORs is one level.
    static let maximumDepth = 400

    var lexer: ExpressionLexer
    /// The next token to read.
    private(set) var token: ExpressionToken = .end
    /// The offset of the token in bytes.
    private(set) var tokenOffset = 0
    private var nesting = 0
    /// The values of the placeholders `%@`, `%K` … that are not used yet, in order.
    var arguments: ArraySlice<Any?>

    private init(_ text: String, _ arguments: [Any?]) throws(ProgramFault) {
        lexer = ExpressionLexer(text)
        self.arguments = arguments[...]
        try advance()
    }

    /// Returns the tree of a value expression.
    ///
    /// - Parameter arguments: values for the placeholders, in order.
    /// - Throws: `expression.syntax` with the text, the column and what was expected.
    static func expression(_ text: String, arguments: [Any?] = []) throws(MigrationError) -> ExpressionNode {
        try whole(text, arguments).value
    }

    /// Returns the tree of a predicate.
    ///
    /// - Parameter arguments: values for the placeholders, in order.
    /// - Throws: `expression.syntax` with the text, the column and what was expected.
    static func predicate(_ text: String, arguments: [Any?] = []) throws(MigrationError) -> PredicateNode {
        try whole(text, arguments).predicate
    }

    private static func whole(_ text: String, _ arguments: [Any?]) throws(MigrationError) -> ExpressionOperand {
        guard text.utf8.count <= ExpressionLexer.maximumLength else {
            throw MigrationError(
                "expression.syntax", .configuration,
                "the expression has \(text.utf8.count.counted("byte")), more than the \(ExpressionLexer.maximumLength.grouped) that are allowed",
                context: .init(expression: ExpressionLexer.excerpt(text)))
        }
        do throws(ProgramFault) {
            var parser = try ExpressionParser(text, arguments)
            let operand = try parser.operand(.or)
            guard parser.token == .end else { throw parser.unexpected("an operator or the end") }
            return operand
        } catch {
            throw error.described(.configuration, in: .init(expression: ExpressionLexer.excerpt(text)))
        }
    }

    // MARK: Tokens

    mutating func advance() throws(ProgramFault) {
        tokenOffset = lexer.skipBlanks()
        token = try lexer.next()
    }

    /// Skips a symbol if it is the next token, and tells whether it was.
    mutating func take(_ symbol: ExpressionToken.Symbol) throws(ProgramFault) -> Bool {
        guard token == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    /// Skips a symbol, which must be the next token.
    mutating func expect(_ symbol: ExpressionToken.Symbol) throws(ProgramFault) {
        guard try take(symbol) else { throw unexpected("'\(symbol.rawValue)'") }
    }

    func unexpected(_ expected: String) -> ProgramFault {
        lexer.error(at: tokenOffset, "expected \(expected), found \(token.description)")
    }

    /// Returns the depth of a node whose children have the given depths.
    func depth(above depths: Int...) throws(ProgramFault) -> Int {
        let depth = (depths.max() ?? 0) + 1
        guard depth <= Self.maximumDepth else {
            throw lexer.error(
                at: tokenOffset, "the expression has more than \(Self.maximumDepth) levels",
                remedy: "Divide it by parentheses or over several mappings")
        }
        return depth
    }

    /// Returns the operand of a node whose children have the given depths.
    func operand(
        _ node: ExpressionNode, above depths: Int..., isClosed: Bool = true
    ) throws(ProgramFault) -> ExpressionOperand {
        ExpressionOperand(node, depth: try depth(above: depths.max() ?? 0), isClosed: isClosed)
    }

    // MARK: Operators

    /// Parses an operand with all operators that bind at least as tightly as the given level.
    mutating func operand(_ loosest: ExpressionPrecedence) throws(ProgramFault) -> ExpressionOperand {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= Self.maximumNesting else {
            throw lexer.error(at: tokenOffset, "the expression is nested more than \(Self.maximumNesting) levels deep")
        }
        var left = try prefixed(loosest)
        while let infix = ExpressionInfix(token), infix.precedence >= loosest {
            switch infix {
            case .or, .and: left = try chain(from: left, infix.precedence)
            case .comparison(let comparison):
                left = try self.comparison(from: left, comparison, modifier: .direct)
            case .set(let sign):
                try advance()
                let right = try operand(ExpressionPrecedence.set.tighter)
                left = try operand(
                    .setOperation(sign, left.value, right.value), above: left.depth, right.depth, isClosed: false)
            case .arithmetic(let sign):
                try advance()
                let right = try operand(sign.precedence.tighter)
                left = try operand(
                    .arithmetic(sign, left.value, right.value), above: left.depth, right.depth, isClosed: false)
            case .bits(let selector, let precedence):
                // The operator is only notation: the tree and the printer use its function.
                try advance()
                let right = try operand(precedence.tighter)
                left = try operand(
                    .function(target: nil, selector: selector, arguments: [left.value, right.value]),
                    above: left.depth, right.depth, isClosed: false)
            }
        }
        return left
    }

    /// Parses an operand that may begin with NOT, a quantifier or a sign.
    private mutating func prefixed(_ loosest: ExpressionPrecedence) throws(ProgramFault) -> ExpressionOperand {
        switch token {
        case .reserved(.not, _), .symbol(.not):
            guard loosest <= .not else { throw unexpected("a value") }
            try advance()
            let inner = try operand(.not)
            return ExpressionOperand(.not(inner.predicate), depth: try depth(above: inner.depth))
        case .reserved(.any, _), .reserved(.some, _): return try quantified(.any, loosest)
        case .reserved(.all, _): return try quantified(.all, loosest)
        case .reserved(.none, _): return try quantified(.none, loosest)
        case .symbol(.plus):
            try advance()
            return try operand(.sign)
        case .symbol(.bitComplement):
            try advance()
            let inner = try operand(.sign)
            return try operand(
                .function(target: nil, selector: "onesComplement:", arguments: [inner.value]), above: inner.depth,
                isClosed: false)
        case .symbol(.minus):
            let start = tokenOffset
            try advance()
            switch token {
            case .integer(let magnitude):
                guard magnitude <= UInt64(1) << 63 else { throw lexer.error(at: start, tooLarge) }
                try advance()
                return ExpressionOperand(.constant(.integer(Int64(truncatingIfNeeded: 0 &- magnitude))))
            case .double(let magnitude):
                try advance()
                return ExpressionOperand(.constant(.double(-magnitude)))
            default:
                let inner = try operand(.sign)
                return try operand(.negation(inner.value), above: inner.depth, isClosed: false)
            }
        default: return try primary()
        }
    }

    private mutating func quantified(
        _ modifier: ComparisonModifier, _ loosest: ExpressionPrecedence
    ) throws(ProgramFault) -> ExpressionOperand {
        guard loosest <= .comparison else { throw unexpected("a value") }
        try advance()
        let left = try operand(.set)
        guard case .comparison(let comparison) = ExpressionInfix(token) else { throw unexpected("a comparison") }
        return try self.comparison(from: left, comparison, modifier: modifier)
    }

    /// Parses the rest of an AND or OR chain after its first operand. The chain becomes one node.
    private mutating func chain(
        from first: ExpressionOperand, _ level: ExpressionPrecedence
    ) throws(ProgramFault) -> ExpressionOperand {
        var parts = [first.predicate]
        var deepest = first.depth
        while let infix = ExpressionInfix(token), infix.precedence == level {
            try advance()
            let next = try operand(level.tighter)
            parts.append(next.predicate)
            deepest = max(deepest, next.depth)
        }
        return ExpressionOperand(level == .or ? .or(parts) : .and(parts), depth: try depth(above: deepest))
    }

    private mutating func comparison(
        from left: ExpressionOperand, _ comparison: ComparisonOperator, modifier: ComparisonModifier
    ) throws(ProgramFault) -> ExpressionOperand {
        if case .predicate = left.content, !left.isClosed {
            throw lexer.error(
                at: tokenOffset, "expected AND, OR or the end, found \(token.description): comparisons are not chained")
        }
        try advance()
        let options = try comparisonOptions()
        let right = try operand(.set)
        return ExpressionOperand(
            .comparison(modifier: modifier, left.value, comparison, right.value, options),
            depth: try depth(above: left.depth, right.depth))
    }

    /// Parses `[cdnl]`, if present.
    private mutating func comparisonOptions() throws(ProgramFault) -> ComparisonOptions {
        var options: ComparisonOptions = []
        guard try take(.openBracket) else { return options }
        let letters: String
        switch token {
        case .name(let name): letters = name
        case .reserved(_, let text): letters = text
        default: throw unexpected("comparison options: c, d, n, l")
        }
        for letter in letters.lowercased() {
            guard let option = ComparisonOptions.letters.first(where: { $0.key == letter })?.value else {
                throw unexpected("comparison options: c, d, n, l")
            }
            options.insert(option)
        }
        try advance()
        try expect(.closeBracket)
        return options
    }

    var tooLarge: String { "the number does not fit a 64-bit integer; write it with a decimal point" }
}
