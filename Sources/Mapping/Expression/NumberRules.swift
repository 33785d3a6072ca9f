import Foundation
import ManagedModel

/// Arithmetic and functions on numbers of one type. Compiled programs, which know the types in advance, and the evaluator,
/// which learns them at run time, share these rules.
enum NumberRules {
    /// The remedy for arithmetic with a text and another value.
    static let textRemedy = "'+' joins two texts; values are not formatted silently: use CAST(…, 'NSString')"

    /// - Throws: `value.divisionByZero`, `value.outOfRange`.
    @inline(__always)
    static func apply(_ sign: ArithmeticOperator, _ a: Int64, _ b: Int64) throws(ProgramFault) -> Int64 {
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
            // The remainder by -1 is 0, but the processor traps on it for the least number.
            result = b == -1 ? (0, false) : a.remainderReportingOverflow(dividingBy: b)
        case .power: result = power(a, b)
        }
        guard !result.overflow else {
            throw ProgramFault(
                "value.outOfRange", "\(a) \(sign.symbol) \(b) is out of the range of 64-bit integers",
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

    /// Applies an operator to two floating-point numbers. An infinite or NaN result is an error unless an operand is one: NaN
    /// would become NULL in the store, silently.
    @inline(__always)
    static func apply(_ sign: ArithmeticOperator, _ a: Double, _ b: Double) throws(ProgramFault) -> Double {
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
            throw .overflow("\(a) \(sign.symbol) \(b)")
        }
        return result
    }

    static func apply(_ operation: BitOperation?, _ a: Int64, _ b: Int64) -> Int64 {
        switch operation {
        case .and: a & b
        case .or: a | b
        case .exclusiveOr: a ^ b
        case .shiftLeft: a << b
        case .shiftRight: a >> b
        case .complement, nil: ~a
        }
    }

    /// Returns a number that is in the range of a type; of other types than those of fewer than 64 bits, all are.
    static func checked(_ value: Int64, _ type: AttributeType?) throws(ProgramFault) -> Int64 {
        switch type {
        case .integer16 where Int16(exactly: value) == nil: throw .range("\(value)", "Integer 16")
        case .integer32 where Int32(exactly: value) == nil: throw .range("\(value)", "Integer 32")
        case .boolean where value != 0 && value != 1:
            throw .range("\(value)", "Boolean", remedy: "Compare it: TERNARY(<value> != 0, YES, NO)")
        default: return value
        }
    }

    static func apply(
        _ sign: ArithmeticOperator, _ a: Decimal, _ b: Decimal
    ) throws(ProgramFault) -> Decimal {
        if sign == .divide || sign == .modulus, b == 0, !b.isNaN { throw .divisionByZero }
        if let result = Decimal.apply(sign, a, b) { return result }
        throw .overflow("\(a) \(sign.symbol) \(b)")
    }

    @inline(__always)
    static func apply(_ function: NumberFunction, _ value: Double) throws(ProgramFault) -> Double {
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

    /// Applies a function to a decimal. Roots and logarithms are floating-point and leave a decimal unchanged.
    static func apply(_ function: NumberFunction, _ value: Decimal) -> Decimal {
        switch function {
        case .negate: value.negated
        case .absolute: value.sign == .minus && !value.isNaN ? value.negated : value
        case .ceiling: value.rounded(.up)
        case .floor: value.rounded(.down)
        case .truncate: value.rounded(value.sign == .minus ? .up : .down)
        case .squareRoot, .naturalLogarithm, .decimalLogarithm, .exponential: value
        }
    }
}
