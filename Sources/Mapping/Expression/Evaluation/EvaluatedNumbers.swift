import Foundation

/// Arithmetic on values whose types are known only now, by the rules that compiled programs have: integers stay
/// integers, decimals stay exact beside integers, everything else is floating; dates move by seconds; nil gives nil.
enum EvaluatedNumbers {
    static func apply(
        _ sign: ArithmeticOperator, _ left: EvaluatedValue, _ right: EvaluatedValue
    ) throws(ProgramFault) -> EvaluatedValue {
        for side in [left, right] where !side.isNumber && !side.isDate && !side.isNull {
            throw .type(
                "'\(sign.rawValue)' does not take a value of type \(side.label)",
                remedy: side.isText ? "Join text by FUNCTION(a, 'stringByAppendingString:', b)" : nil)
        }
        if left.isNull || right.isNull { return .null }
        switch (left, right) {
        case (.date(let first), .date(let second)):
            guard sign == .subtract else {
                throw .type("'\(sign.rawValue)' does not take two dates", remedy: "Add a number of seconds")
            }
            return .real(try apply(sign, first, second))
        case (.date(let first), _):
            guard sign == .add || sign == .subtract else {
                throw .type("'\(sign.rawValue)' does not take Date and \(right.label)")
            }
            return .date(try apply(sign, first, right.real ?? 0))
        case (_, .date(let second)):
            guard sign == .add else { throw .type("'\(sign.rawValue)' does not take \(left.label) and Date") }
            return .date(try apply(sign, left.real ?? 0, second))
        default: break
        }
        if let first = left.whole, let second = right.whole { return .integer(try apply(sign, first, second)) }
        if left.isReal || right.isReal { return .real(try apply(sign, left.finiteReal(), right.finiteReal())) }
        if sign == .power, right.whole == nil { throw .type("the exponent of a Decimal has to be an integer") }
        return .decimal(try apply(sign, left.exact, right.exact))
    }

    private static func apply(_ sign: ArithmeticOperator, _ a: Int64, _ b: Int64) throws(ProgramFault) -> Int64 {
        let result: (partialValue: Int64, overflow: Bool)
        switch sign {
        case .add: result = a.addingReportingOverflow(b)
        case .subtract: result = a.subtractingReportingOverflow(b)
        case .multiply: result = a.multipliedReportingOverflow(by: b)
        case .divide:
            if b == 0 { throw .divisionByZero }
            result = a.dividedReportingOverflow(by: b)
        case .modulus:
            if b == 0 { throw .divisionByZero }
            // The remainder by -1 is 0; the processor traps on the smallest number.
            result = b == -1 ? (0, false) : a.remainderReportingOverflow(dividingBy: b)
        case .power: result = power(a, b)
        }
        guard !result.overflow else {
            throw ProgramFault(
                "value.outOfRange", "\(a) \(sign.rawValue) \(b) is out of the range of 64-bit integers",
                remedy: sign == .power && b < 0 ? "Write the base with a decimal point" : nil)
        }
        return result.partialValue
    }

    private static func power(_ base: Int64, _ exponent: Int64) -> (partialValue: Int64, overflow: Bool) {
        if exponent < 0 { return (0, true) }
        if base == 0 || base == 1 { return (exponent == 0 ? 1 : base, false) }
        if base == -1 { return (exponent % 2 == 0 ? 1 : -1, false) }
        if exponent > 63 { return (0, true) }
        var result: (partialValue: Int64, overflow: Bool) = (1, false)
        for _ in 0..<exponent where !result.overflow {
            result = result.partialValue.multipliedReportingOverflow(by: base)
        }
        return result
    }

    private static func apply(_ sign: ArithmeticOperator, _ a: Double, _ b: Double) throws(ProgramFault) -> Double {
        if sign == .divide || sign == .modulus, b == 0 { throw .divisionByZero }
        let result =
            switch sign {
            case .add: a + b
            case .subtract: a - b
            case .multiply: a * b
            case .divide: a / b
            case .modulus: fmod(a, b)
            case .power: pow(a, b)
            }
        guard result.isFinite || (!result.isNaN && (a.isInfinite || b.isInfinite)) else {
            throw .overflow("\(a) \(sign.rawValue) \(b)")
        }
        return result
    }

    private static func apply(
        _ sign: ArithmeticOperator, _ a: ExactDecimal, _ b: ExactDecimal
    ) throws(ProgramFault) -> Decimal {
        if sign == .divide || sign == .modulus, b.value == 0, !b.isNaN { throw .divisionByZero }
        guard let result = ExactDecimal.apply(sign, a, b) else {
            throw .overflow("\(a.value) \(sign.rawValue) \(b.value)")
        }
        return result.value
    }

    /// A function of one number. Roots and logarithms are floating; the others keep the type.
    static func apply(
        _ function: NumberFunction, _ value: EvaluatedValue, name: String
    ) throws(ProgramFault) -> EvaluatedValue {
        if value.isNull { return .null }
        guard value.isNumber else { throw .type("'\(name)' does not take a value of type \(value.label)") }
        switch function {
        case .squareRoot, .naturalLogarithm, .decimalLogarithm, .exponential:
            return .real(try apply(function, value.finiteReal()))
        default: break
        }
        if let whole = value.whole {
            switch function {
            case .negate, .absolute:
                guard whole != .min else { throw .range("\(whole)", "64-bit integers, by '\(name)',") }
                return .integer(function == .negate ? -whole : abs(whole))
            default: return .integer(whole)
            }
        }
        if case .real(let real) = value { return .real(try apply(function, real)) }
        return .decimal(apply(function, value.exact).value)
    }

    private static func apply(_ function: NumberFunction, _ value: Double) throws(ProgramFault) -> Double {
        let result =
            switch function {
            case .negate: -value
            case .absolute: abs(value)
            case .ceiling: value.rounded(.up)
            case .floor: value.rounded(.down)
            case .truncate: value.rounded(.towardZero)
            case .squareRoot: value.squareRoot()
            case .naturalLogarithm: log(value)
            case .decimalLogarithm: log10(value)
            case .exponential: exp(value)
            }
        guard result.isFinite || (!result.isNaN && value.isInfinite) else {
            throw .overflow("the function's value at \(value)")
        }
        return result
    }

    private static func apply(_ function: NumberFunction, _ value: ExactDecimal) -> ExactDecimal {
        switch function {
        case .negate: value.negated
        case .absolute: value.value.sign == .minus && !value.isNaN ? value.negated : value
        case .ceiling: value.rounded(.up)
        case .floor: value.rounded(.down)
        case .truncate: value.rounded(value.value.sign == .minus ? .up : .down)
        default: value
        }
    }

    /// An operation on the bits of integers.
    static func bits(
        _ operation: BitOperation, _ values: [EvaluatedValue], name: String
    ) throws(ProgramFault) -> EvaluatedValue {
        var numbers: [Int64] = []
        for value in values where !value.isNull {
            guard let number = value.whole else {
                throw .type("'\(name)' does not take a value of type \(value.label)")
            }
            numbers.append(number)
        }
        guard numbers.count == values.count, let first = numbers.first, let last = numbers.last else { return .null }
        switch operation {
        case .and: return .integer(first & last)
        case .or: return .integer(first | last)
        case .exclusiveOr: return .integer(first ^ last)
        case .shiftLeft: return .integer(first << last)
        case .shiftRight: return .integer(first >> last)
        case .complement: return .integer(~first)
        }
    }
}

extension EvaluatedValue {
    var isNumber: Bool {
        switch self {
        case .boolean, .integer, .real, .decimal: true
        default: false
        }
    }
    var isDate: Bool { if case .date = self { true } else { false } }
    var isText: Bool { if case .text = self { true } else { false } }
    var isReal: Bool { if case .real = self { true } else { false } }

    /// A Boolean's or integer's number.
    var whole: Int64? {
        switch self {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let number): number
        default: nil
        }
    }

    /// Any number as a floating one.
    var real: Double? {
        switch self {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let number): Double(number)
        case .real(let number): number
        case .decimal(let number): ExactDecimal(number).real
        default: nil
        }
    }

    /// A number as a floating one; a decimal that is none is out of range.
    func finiteReal() throws(ProgramFault) -> Double {
        if case .decimal(let number) = self, number.isNaN { throw .range("NaN", "a floating number") }
        return real ?? 0
    }

    /// A whole number or decimal, exactly.
    var exact: ExactDecimal {
        if case .decimal(let number) = self { return ExactDecimal(number) }
        return ExactDecimal(whole: whole ?? 0)
    }
}
