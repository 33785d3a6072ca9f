import Foundation

/// Placeholders: `%@` for a value, `%K` for a key path, and `printf`'s conversions for numbers and texts.
extension ExpressionParser {
    /// Takes the next argument.
    private mutating func argument(_ start: Int) throws(ProgramFault) -> Any? {
        if let argument = arguments.popFirst() { return argument }
        throw lexer.error(
            at: start, "the format has a placeholder for which there is no argument",
            remedy: "A literal percent sign is written %% in front of a name")
    }

    /// Returns the components that the argument of a `%K` after a dot names.
    mutating func keyArgument(_ start: Int) throws(ProgramFault) -> [String] {
        guard case .text(let path) = EvaluatedValue(try argument(start)), !path.isEmpty else {
            throw lexer.error(at: start, "the argument of %K has to be a key path as a text")
        }
        return path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    /// Returns the operand for a placeholder; the lexer is past it already.
    mutating func placeholder(_ letter: UInt8, at start: Int) throws(ProgramFault) -> ExpressionOperand {
        let operand: ExpressionOperand
        switch letter {
        case UInt8(ascii: "K"):
            operand = ExpressionOperand(.keyPath(from: try keyArgument(start)))
        case UInt8(ascii: "@"): operand = try objectArgument(start)
        default: operand = ExpressionOperand(.constant(try scalarArgument(letter, start)))
        }
        try advance()
        return operand
    }

    private mutating func objectArgument(_ start: Int) throws(ProgramFault) -> ExpressionOperand {
        let argument = try argument(start)
        let value = EvaluatedValue(argument)
        if case .object(let object) = value {
            if let predicate = object as? FormatPredicate {
                let depth = try depth(of: .predicate(predicate.part))
                return ExpressionOperand(predicate.part, depth: depth, isClosed: true)
            }
            if let expression = object as? ValueExpression {
                return ExpressionOperand(expression.node, depth: try depth(of: .expression(expression.node)))
            }
        }
        if value.isNull { return ExpressionOperand(.constant(.null)) }
        // A short list of literals becomes an aggregate, so that it prints and compiles. Any other value stays opaque.
        if case .collection(let collection) = value, collection.kind == .array, collection.count <= 1000 {
            let constants = collection.members.map { member in
                if case .collection = member { return nil as ExpressionConstant? }
                return ExpressionConstant(member.object)
            }
            let elements = constants.compactMap { $0.map(ExpressionNode.constant) }
            if elements.count == constants.count { return ExpressionOperand(.aggregate(elements), depth: 2) }
        }
        return ExpressionOperand(.value(argument, value))
    }

    /// Returns the depth of the tree that an argument adds.
    private func depth(of root: SyntaxNode) throws(ProgramFault) -> Int {
        var level = [root]
        var depth = 0
        while !level.isEmpty {
            depth += 1
            guard depth <= Self.maximumDepth else { return try self.depth(above: depth) }
            level = level.flatMap(\.children)
        }
        return depth
    }

    private mutating func scalarArgument(_ letter: UInt8, _ start: Int) throws(ProgramFault) -> ExpressionConstant {
        let value = EvaluatedValue(try argument(start))
        switch letter {
        case UInt8(ascii: "s"), UInt8(ascii: "S"):
            guard case .text(let text) = value else { break }
            return .string(text)
        case UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "g"),
            UInt8(ascii: "G"), UInt8(ascii: "a"), UInt8(ascii: "A"):
            guard let number = value.real else { break }
            return .double(number)
        default:
            guard let number = value.whole else { break }
            return .integer(number)
        }
        throw lexer.error(
            at: start, "the argument of %\(Character(Unicode.Scalar(letter))) has the wrong type, \(value.label)")
    }
}
