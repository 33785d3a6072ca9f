import ManagedModel

import struct Foundation.Decimal

extension ProgramRun {
    /// Returns the result of an operator on two numbers that are not nil.
    func arithmetic(
        _ step: ProgramInstruction, _ a: ProgramRegister, _ b: ProgramRegister
    ) throws(ProgramFault) -> ProgramRegister {
        switch step.operation {
        case .integerArithmetic: return .integer(try NumberRules.apply(sign(step.n), a.integerValue, b.integerValue))
        case .realArithmetic: return .real(try NumberRules.apply(sign(step.n), a.realValue, b.realValue))
        case .bits:
            return .integer(NumberRules.apply(BitOperation(rawValue: step.n), a.integerValue, b.integerValue))
        default:
            return decimal(
                try NumberRules.apply(sign(step.n), decimals[Int(step.a)], decimals[Int(step.b)]), into: step.d)
        }
    }

    private func sign(_ code: Int32) -> ArithmeticOperator { ArithmeticOperator(rawValue: code) ?? .modulus }

    /// Puts a decimal into a register.
    func decimal(_ value: Decimal, into d: UInt16) -> ProgramRegister {
        decimals[Int(d)] = value
        return ProgramRegister(kind: .decimal)
    }

    /// Returns the result of a function or conversion of one number that is not nil.
    func number(_ step: ProgramInstruction, _ a: ProgramRegister) throws(ProgramFault) -> ProgramRegister {
        switch step.operation {
        case .integerFunction:
            let value = a.integerValue
            switch NumberFunction(rawValue: step.n) {
            case .negate:
                guard value != .min else { throw .range("\(value)", "64-bit integers, negated,") }
                return .integer(-value)
            case .absolute:
                guard value != .min else { throw .range("\(value)", "64-bit integers, without its sign,") }
                return .integer(abs(value))
            default: return a
            }
        case .realFunction:
            guard let function = NumberFunction(rawValue: step.n) else { return a }
            return .real(try NumberRules.apply(function, a.realValue))
        case .decimalFunction:
            guard let function = NumberFunction(rawValue: step.n) else { return a }
            return decimal(NumberRules.apply(function, decimals[Int(step.a)]), into: step.d)
        case .wholeToReal:
            let value = Double(a.integerValue)
            if step.n == 1 { note(.storing(a.integerValue, as: value), of: step) }
            return .real(value)
        case .wholeToDecimal: return decimal(Decimal(a.integerValue), into: step.d)
        case .realToDecimal:
            guard let value = digits(a) else { throw .range("\(a.realValue)", "Decimal") }
            return decimal(value, into: step.d)
        case .decimalToReal:
            let value = decimals[Int(step.a)]
            guard !value.isNaN else { throw .range("NaN", "a floating number") }
            let stored = value.nearestReal
            if step.n == 1 { note(.storing(value, as: stored), of: step) }
            return .real(stored)
        case .realToInteger:
            let value = a.realValue
            // 2^63 is the first number out of range; -2^63 is exact as a Double.
            guard value >= -9_223_372_036_854_775_808, value < 9_223_372_036_854_775_808 else {
                throw .range("\(value)", "64-bit integers")
            }
            let whole = Int64(value)
            if step.n == 1, Double(whole) != value { note(.fraction, of: step) }
            return .integer(whole)
        case .decimalToInteger:
            let value = decimals[Int(step.a)]
            guard let whole = value.whole else { throw .range("\(value)", "64-bit integers") }
            if step.n == 1, Decimal(whole) != value { note(.fraction, of: step) }
            return .integer(whole)
        case .checkRange:
            let type = AttributeType(rawValue: UInt32(truncatingIfNeeded: step.n))
            return .integer(try NumberRules.checked(a.integerValue, type))
        case .roundToFloat:
            let value = Float(a.realValue)
            guard value.isFinite || a.realValue.isInfinite else { throw .range("\(a.realValue)", "Float") }
            if step.n == 1 { note(.storing(a.realValue, as: value), of: step) }
            return .real(Double(value))
        case .markFloat: return .float(Float(a.realValue))
        case .widen: return .real(a.realValue)
        case .storeDecimal:
            let value = decimals[Int(step.a)]
            guard !value.isNaN else { throw .range("NaN", "Decimal, when it is computed,") }
            if let whole = value.exactWhole { return .integer(whole) }
            let stored = value.nearestReal
            if step.n == 1 { note(.storing(value, as: stored), of: step) }
            return .real(stored)
        default: return a
        }
    }

    /// Keeps the operand of a conversion that cut something off, if it is the first in the row.
    private func note(_ cut: NumberCut, of step: ProgramInstruction) {
        guard cut != .none, code.cutRegister >= 0, registers[code.cutRegister].cut == .none else { return }
        registers[code.cutRegister] = registers[Int(step.a)]
        registers[code.cutRegister].cut = cut
        if registers[Int(step.a)].kind == .decimal { decimals[code.cutRegister] = decimals[Int(step.a)] }
    }

    /// The digits of the number of which a conversion cut something off.
    var cutText: String {
        guard code.cutRegister >= 0 else { return "" }
        let value = registers[code.cutRegister]
        return switch value.kind {
        case .integer: "\(value.integerValue)"
        case .decimal: "\(decimals[code.cutRegister])"
        default: value.isFloat ? text(Float(value.realValue)) : text(value.realValue)
        }
    }

    /// Returns the digits of a number; a whole one has no point.
    private func text(_ value: some BinaryFloatingPoint & CustomStringConvertible) -> String {
        value.description.hasSuffix(".0") ? String(value.description.dropLast(2)) : value.description
    }

    /// Returns -1, 0 or 1; nil if either value is not a number.
    func order(_ a: ProgramRegister, _ first: UInt16, _ b: ProgramRegister, _ second: UInt16) -> Int? {
        switch (a.kind, b.kind) {
        case (.integer, .integer):
            return a.integerValue < b.integerValue ? -1 : a.integerValue == b.integerValue ? 0 : 1
        case (.real, .real): return ValueOrder.order(a.realValue, b.realValue)
        case (.integer, .real): return ValueOrder.order(a.integerValue, b.realValue)
        case (.real, .integer): return ValueOrder.order(b.integerValue, a.realValue).map { -$0 }
        default: return ValueOrder.order(evaluated(a, first), evaluated(b, second))
        }
    }

    /// Returns a number in the evaluator's form.
    private func evaluated(_ value: ProgramRegister, _ register: UInt16) -> EvaluatedValue {
        switch value.kind {
        case .integer: .integer(value.integerValue)
        case .real: value.isFloat ? .float(Float(value.realValue)) : .real(value.realValue)
        default: .decimal(decimals[Int(register)])
        }
    }

    /// Returns the decimal that a floating-point number prints as.
    private func digits(_ value: ProgramRegister) -> Decimal? {
        value.isFloat ? Decimal(printed: Float(value.realValue)) : Decimal(printed: value.realValue)
    }
}
