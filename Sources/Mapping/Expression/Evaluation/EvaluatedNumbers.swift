import Foundation

/// Arithmetic on values whose types are known only at run time, by the rules of compiled programs: integers stay integers, a
/// decimal with an integer stays decimal, everything else is floating-point; dates move by seconds; two texts are joined by `+`;
/// nil gives nil.
enum EvaluatedNumbers {
    static func apply(
        _ sign: ArithmeticOperator, _ left: EvaluatedValue, _ right: EvaluatedValue
    ) throws(ProgramFault) -> EvaluatedValue {
        if sign == .add, left.isText || right.isText, left.isText || left.isNull, right.isText || right.isNull {
            guard case .text(let first) = left, case .text(let second) = right else { return .null }
            return .text(try TextMessages.joined([first, second], ""))
        }
        for side in [left, right] where !side.isNumber && !side.isDate && !side.isNull {
            throw .type(
                "'\(sign.symbol)' does not take a value of type \(side.label)",
                remedy: side.isText ? NumberRules.textRemedy : nil)
        }
        if left.isNull || right.isNull { return .null }
        switch (left, right) {
        case (.date(let first), .date(let second)):
            guard sign == .subtract else {
                throw .type("'\(sign.symbol)' does not take two dates", remedy: "Add a number of seconds")
            }
            return .real(try NumberRules.apply(sign, first, second))
        case (.date(let first), _):
            guard sign == .add || sign == .subtract else {
                throw .type("'\(sign.symbol)' does not take Date and \(right.label)")
            }
            return .date(try NumberRules.apply(sign, first, right.real ?? 0))
        case (_, .date(let second)):
            guard sign == .add else { throw .type("'\(sign.symbol)' does not take \(left.label) and Date") }
            return .date(try NumberRules.apply(sign, left.real ?? 0, second))
        default: break
        }
        if let first = left.whole, let second = right.whole {
            return .integer(try NumberRules.apply(sign, first, second))
        }
        if left.isReal || right.isReal {
            return .real(try NumberRules.apply(sign, left.finiteReal(), right.finiteReal()))
        }
        if sign == .power, right.whole == nil { throw .type("the exponent of a Decimal has to be an integer") }
        return .decimal(try NumberRules.apply(sign, left.exact, right.exact))
    }

    /// Applies a function of one number. Roots and logarithms are floating-point; other functions keep the type.
    static func apply(
        _ function: NumberFunction, _ value: EvaluatedValue, name: String
    ) throws(ProgramFault) -> EvaluatedValue {
        if value.isNull { return .null }
        guard value.isNumber else { throw .type("'\(name)' does not take a value of type \(value.label)") }
        switch function {
        case .squareRoot, .naturalLogarithm, .decimalLogarithm, .exponential:
            return .real(try NumberRules.apply(function, value.finiteReal()))
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
        if value.isReal, let real = value.real { return .real(try NumberRules.apply(function, real)) }
        return .decimal(NumberRules.apply(function, value.exact))
    }

    /// Applies a bit operation to integers.
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
        return .integer(NumberRules.apply(operation, first, last))
    }
}

extension EvaluatedValue {
    var isNumber: Bool { scalarType?.isNumber ?? false }
    var isDate: Bool { if case .date = self { true } else { false } }
    /// The value, with a Float as the 64-bit number of the same value.
    var widened: EvaluatedValue { if case .float(let number) = self { .real(Double(number)) } else { self } }
    var isText: Bool { if case .text = self { true } else { false } }
    var isReal: Bool { scalarType?.isFloating ?? false }

    /// The value of a Boolean or integer; nil for other values.
    var whole: Int64? {
        switch self {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let number): number
        default: nil
        }
    }

    /// The value of any number as a floating-point number; nil for other values.
    var real: Double? {
        switch self {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let number): Double(number)
        case .float(let number): Double(number)
        case .real(let number): number
        case .decimal(let number): number.nearestReal
        default: nil
        }
    }

    /// Returns a number as a floating-point number. A decimal NaN is out of range.
    func finiteReal() throws(ProgramFault) -> Double {
        if case .decimal(let number) = self, number.isNaN { throw .range("NaN", "a floating number") }
        return real ?? 0
    }

    /// The value of an integer or decimal, exactly.
    var exact: Decimal {
        if case .decimal(let number) = self { return number }
        return Decimal(whole ?? 0)
    }
}
