extension ExpressionParser {
    /// Parses a literal, name, call or parenthesis, with the key paths and indices after it.
    mutating func primary() throws(ProgramFault) -> ExpressionOperand {
        var operand = try head()
        while true {
            if token == .symbol(.dot) {
                operand = try keyPath(after: operand)
            } else if token == .symbol(.openBracket) {
                try advance()
                let (index, below) = try elementIndex()
                try expect(.closeBracket)
                operand = try self.operand(.element(operand.value, index), above: operand.depth, below)
            } else {
                return operand
            }
        }
    }

    /// Parses the key path after an operand. It is apart from ``primary()``, whose frame stays small in deep recursion.
    private mutating func keyPath(after first: ExpressionOperand) throws(ProgramFault) -> ExpressionOperand {
        var operand = first
        let (path, key) = try components()
        if case .keyPath(let target, let before) = operand.value {
            operand.content = .value(.keyPath(target: target, components: before + path))
        } else if !path.isEmpty {
            operand = try self.operand(.keyPath(target: operand.value, components: path), above: operand.depth)
        }
        guard let key else { return operand }
        // The variable's value is the key path.
        return try self.operand(
            .function(target: operand.value, selector: "valueForKeyPath:", arguments: [.variable(key)]),
            above: operand.depth)
    }

    /// Parses `.a.b` as far as it goes, or up to and including a variable: `.a.$key`.
    private mutating func components() throws(ProgramFault) -> ([String], variable: String?) {
        var components: [String] = []
        while token == .symbol(.dot) {
            // The lexer is past the dot. The next word is a name, even a word that is reserved elsewhere.
            let start = lexer.offset
            guard let component = try lexer.componentAfterDot() else {
                let next = try lexer.next()
                if next == .symbol(.modulus), lexer.placeholder() == UInt8(ascii: "K") {
                    components += try keyArgument(start)
                    try advance()
                    continue
                }
                if case .variable(let name) = next {
                    try advance()
                    return (components, name)
                }
                throw lexer.error(at: start, "expected the name of a property after '.'")
            }
            components.append(component)
            try advance()
        }
        return (components, nil)
    }

    private mutating func elementIndex() throws(ProgramFault) -> (ElementIndex, depth: Int) {
        let index: ElementIndex
        switch token {
        case .reserved(.first, _): index = .first
        case .reserved(.last, _): index = .last
        case .reserved(.size, _): index = .size
        default:
            let inner = try operand(.set)
            return (.at(inner.value), inner.depth)
        }
        try advance()
        return (index, 1)
    }

    private mutating func head() throws(ProgramFault) -> ExpressionOperand {
        let start = tokenOffset
        switch token {
        case .integer(let magnitude):
            guard let value = Int64(exactly: magnitude) else { throw lexer.error(at: start, tooLarge) }
            return try constant(.integer(value))
        case .double(let value): return try constant(.double(value))
        case .string(let value): return try constant(.string(value))
        case .name(let name): return try named(name)
        case .selector(let selector):
            try advance()
            return try builtIn(selector)
        case .collectionOperator(let name):
            try advance()
            return ExpressionOperand(.keyPath(target: nil, components: ["@" + name]))
        case .variable(let name):
            try advance()
            guard token == .symbol(.assign) else { return ExpressionOperand(.variable(name)) }
            try advance()
            let value = try operand(.set)
            return try operand(.assignment(name, value.value), above: value.depth, isClosed: false)
        case .symbol(.openParenthesis):
            try advance()
            var inner = try operand(.or)
            guard try take(.closeParenthesis) else { throw unexpected("an operator or ')'") }
            inner.isClosed = true
            return inner
        case .symbol(.openBrace):
            try advance()
            let (elements, below) = try list(until: .closeBrace)
            return try operand(.aggregate(elements), above: below)
        case .reserved(let word, let text): return try reserved(word, text: text)
        case .symbol(.modulus):
            guard let letter = lexer.placeholder() else { throw unexpected("an expression") }
            return try placeholder(letter, at: start)
        default: throw unexpected("an expression")
        }
    }

    private mutating func constant(_ constant: ExpressionConstant) throws(ProgramFault) -> ExpressionOperand {
        try advance()
        return ExpressionOperand(.constant(constant))
    }

    /// Parses on after a name: a built-in function if a parenthesis follows, else a key path.
    private mutating func named(_ name: String) throws(ProgramFault) -> ExpressionOperand {
        try advance()
        if token == .symbol(.openParenthesis) { return try builtIn(name) }
        return ExpressionOperand(.keyPath(target: nil, components: [name]))
    }

    private mutating func reserved(_ word: ReservedWord, text: String) throws(ProgramFault)
        -> ExpressionOperand
    {
        switch word {
        case .true, .yes: return try constant(.boolean(true))
        case .false, .no: return try constant(.boolean(false))
        case .null, .nil: return try constant(.null)
        default: break
        }
        let isName = word.isNameWhereExpressionBegins
        guard isName || [.self, .anykey, .truepredicate, .falsepredicate].contains(word) else {
            throw unexpected("an expression")
        }
        try advance()
        switch word {
        case .self: return ExpressionOperand(.evaluatedObject)
        case .anykey: return ExpressionOperand(.anyKey)
        case .truepredicate, .falsepredicate:
            return ExpressionOperand(.constant(word == .truepredicate), isClosed: true)
        default: break
        }
        guard try take(.openParenthesis) else { return ExpressionOperand(.keyPath(target: nil, components: [text])) }
        switch word {
        case .function: return try functionCall()
        case .ternary: return try ternary()
        case .cast: return try cast()
        case .subquery: return try subquery()
        case .fetch: return try fetch()
        case .first, .last, .size: return try builtInArguments(text.lowercased())
        default:
            throw lexer.error(at: tokenOffset, "'\(text)' is a reserved word and no function")
        }
    }

    // MARK: Calls

    /// Parses expressions between commas, up to and including a closing symbol.
    private mutating func list(
        until closing: ExpressionToken.Symbol
    ) throws(ProgramFault) -> ([ExpressionNode], depth: Int) {
        var elements: [ExpressionNode] = []
        var deepest = 0
        if try take(closing) { return (elements, deepest) }
        while true {
            let element = try operand(.or)
            elements.append(element.value)
            deepest = max(deepest, element.depth)
            if try take(closing) { return (elements, deepest) }
            guard try take(.comma) else { throw unexpected("an operator, ',' or '\(closing.rawValue)'") }
        }
    }

    /// Parses the arguments of a built-in function. A name without colons gets one colon for each argument, as in its selector:
    /// `sum(x)` is `sum:`.
    private mutating func builtIn(_ name: String) throws(ProgramFault) -> ExpressionOperand {
        try expect(.openParenthesis)
        return try builtInArguments(name)
    }

    /// Parses the arguments of a built-in function after its parenthesis.
    private mutating func builtInArguments(_ name: String) throws(ProgramFault) -> ExpressionOperand {
        let (arguments, below) = try list(until: .closeParenthesis)
        let selector = Self.selector(name, arguments.count)
        return try operand(.function(target: nil, selector: selector, arguments: arguments), above: below)
    }

    /// Returns the selector of a built-in function. A function of a list takes its members as arguments, too: `sum:(1, 2)`.
    private static func selector(_ name: String, _ arguments: Int) -> String {
        let isList = name.hasSuffix(":") && ExpressionEvaluator.isListFunction(String(name.dropLast()))
        let base = isList && arguments > 1 ? String(name.dropLast()) : name
        return base.contains(":") ? base : base + String(repeating: ":", count: arguments)
    }

    /// Parses a call after `FUNCTION(`.
    private mutating func functionCall() throws(ProgramFault) -> ExpressionOperand {
        let target = try operand(.or)
        try expect(.comma)
        guard case .string(let selector) = token, !selector.isEmpty else { throw unexpected("a selector as a string") }
        try advance()
        var arguments: [ExpressionNode] = []
        var deepest = 0
        if try take(.comma) {
            (arguments, deepest) = try list(until: .closeParenthesis)
        } else {
            guard try take(.closeParenthesis) else { throw unexpected("',' or ')'") }
        }
        return try operand(
            .function(target: target.value, selector: selector, arguments: arguments), above: target.depth, deepest)
    }

    private mutating func ternary() throws(ProgramFault) -> ExpressionOperand {
        let condition = try operand(.or)
        try expect(.comma)
        let then = try operand(.or)
        try expect(.comma)
        let otherwise = try operand(.or)
        try expect(.closeParenthesis)
        return try operand(
            .ternary(condition.predicate, then.value, otherwise.value), above: condition.depth, then.depth,
            otherwise.depth)
    }

    private mutating func cast() throws(ProgramFault) -> ExpressionOperand {
        let value = try operand(.or)
        try expect(.comma)
        guard case .string(let type) = token, !type.isEmpty else { throw unexpected("the name of a type as a string") }
        try advance()
        try expect(.closeParenthesis)
        if let constant = ExpressionConstant(cast: value.value, to: type) {
            return ExpressionOperand(.constant(constant))
        }
        return try operand(.cast(value.value, type), above: value.depth)
    }

    private mutating func subquery() throws(ProgramFault) -> ExpressionOperand {
        let collection = try operand(.set)
        try expect(.comma)
        guard case .variable(let variable) = token else { throw unexpected("a variable") }
        try advance()
        try expect(.comma)
        let condition = try operand(.or)
        try expect(.closeParenthesis)
        return try operand(
            .subquery(collection.value, variable: variable, condition.predicate), above: collection.depth,
            condition.depth)
    }

    private mutating func fetch() throws(ProgramFault) -> ExpressionOperand {
        let request = try operand(.or)
        try expect(.comma)
        let context = try operand(.or)
        try expect(.comma)
        let countOnly: Bool
        switch token {
        case .reserved(.yes, _), .reserved(.true, _): countOnly = true
        case .reserved(.no, _), .reserved(.false, _): countOnly = false
        default: throw unexpected("YES or NO")
        }
        try advance()
        try expect(.closeParenthesis)
        return try operand(
            .fetch(request: request.value, context: context.value, countOnly: countOnly), above: request.depth,
            context.depth)
    }
}
