extension ProgramCompiler {
    /// Compiles `left op right`.
    mutating func arithmetic(
        _ sign: ArithmeticOperator, _ left: ExpressionNode, _ right: ExpressionNode, into d: Int
    ) throws(ProgramFault) -> ExpressionType {
        let first = try compile(left, into: d)
        let second = try compile(right, into: d + 1)
        if sign == .add, first == .text || second == .text, first == .text || first == .null,
            second == .text || second == .null
        {
            guard first == second else {
                emit(.loadNull, d)
                return .null
            }
            emit(.concatenate, d, d, n: 2)
            return .text
        }
        for type in [first, second] where !type.isNumber && type != .date && type != .null {
            throw .type(
                "'\(sign.symbol)' does not take a value of type \(type.label)",
                remedy: type == .text ? NumberRules.textRemedy : nil)
        }
        if first == .null || second == .null {
            // Arithmetic with nil gives nil, whatever the other operand is.
            emit(.loadNull, d)
            return .null
        }
        if first == .date || second == .date { return try dateArithmetic(sign, first, second, into: d) }
        let type = ExpressionType.common(first, second)
        if type == .decimal, sign == .power, !second.isWhole {
            throw .type("the exponent of a Decimal has to be an integer")
        }
        convert(d, from: first, to: type)
        convert(d + 1, from: second, to: type)
        switch type {
        case .real: emit(.realArithmetic, d, d, d + 1, n: Int(sign.rawValue))
        case .decimal: emit(.decimalArithmetic, d, d, d + 1, n: Int(sign.rawValue))
        default: emit(.integerArithmetic, d, d, d + 1, n: Int(sign.rawValue))
        }
        return type
    }

    /// Compiles arithmetic on dates. A date moves by seconds; the difference of two dates is a number of seconds.
    private mutating func dateArithmetic(
        _ sign: ArithmeticOperator, _ first: ExpressionType, _ second: ExpressionType, into d: Int
    ) throws(ProgramFault) -> ExpressionType {
        let result: ExpressionType
        switch (sign, first, second) {
        case (.add, .date, .date):
            throw .type("two dates cannot be added", remedy: "Add a number of seconds")
        case (.add, _, _): result = .date
        case (.subtract, .date, .date): result = .real
        case (.subtract, .date, _): result = .date
        default: throw .type("'\(sign.symbol)' does not take \(first.label) and \(second.label)")
        }
        convert(d, from: first, to: .real)
        convert(d + 1, from: second, to: .real)
        emit(.realArithmetic, d, d, d + 1, n: Int(sign.rawValue))
        return result
    }

    /// Compiles a function of one number. Roots and logarithms are floating-point; other functions keep the type.
    mutating func numberFunction(
        _ function: NumberFunction, _ argument: ExpressionNode, into d: Int, name: String
    ) throws(ProgramFault) -> ExpressionType {
        var type = try compile(argument, into: d)
        if type == .null { return .null }
        guard type.isNumber else { throw .type("'\(name)' does not take a value of type \(type.label)") }
        switch function {
        case .squareRoot, .naturalLogarithm, .decimalLogarithm, .exponential:
            convert(d, from: type, to: .real)
            type = .real
        default: type = type == .boolean ? .integer : type == .float ? .real : type
        }
        switch type {
        case .real: emit(.realFunction, d, d, n: Int(function.rawValue))
        case .decimal: emit(.decimalFunction, d, d, n: Int(function.rawValue))
        default: emit(.integerFunction, d, d, n: Int(function.rawValue))
        }
        return type
    }

    /// Compiles a bit operation on integers.
    mutating func bits(
        _ operation: BitOperation, _ arguments: [ExpressionNode], into d: Int, name: String
    ) throws(ProgramFault) -> ExpressionType {
        var isNull = false
        for (index, argument) in arguments.enumerated() {
            let type = try compile(argument, into: d + index)
            guard type.isWhole || type == .null else {
                throw .type("'\(name)' does not take a value of type \(type.label)")
            }
            if type == .null { isNull = true }
        }
        if isNull {
            emit(.loadNull, d)
            return .null
        }
        emit(.bits, d, d, operation == .complement ? d : d + 1, n: Int(operation.rawValue))
        return .integer
    }

    /// Compiles the least or greatest of a list of values. Nil values are skipped.
    mutating func extreme(
        isMaximum: Bool, _ argument: ExpressionNode, into d: Int, name: String
    ) throws(ProgramFault) -> ExpressionType {
        guard case .aggregate(let elements) = argument else {
            throw .unsupported("'\(name)' can be evaluated per row only over a list {a, b}")
        }
        var type = ExpressionType.null
        emit(.loadNull, d)
        for element in elements {
            let next = try compile(element, into: d + 1)
            if next == .null { continue }
            guard next.isNumber || next == .date else {
                throw .type("'\(name)' does not take a value of type \(next.label)")
            }
            if type == .null || type == next {
                type = next
            } else {
                guard type.isNumber, next.isNumber else {
                    throw .type("'\(name)' does not compare \(type.label) and \(next.label)")
                }
                let common = ExpressionType.common(type, next)
                convert(d, from: type, to: common)
                convert(d + 1, from: next, to: common)
                // The result of values of different types has their common type, whichever value is chosen.
                if type == .float { emit(.widen, d, d) }
                if next == .float { emit(.widen, d + 1, d + 1) }
                type = common
            }
            emit(.extreme, d, d, d + 1, n: isMaximum ? 1 : 0)
        }
        return type
    }
}
