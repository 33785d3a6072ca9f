import ManagedModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ProgramRun {
    /// Returns the result of an operator on two numbers that are not nil.
    func arithmetic(
        _ step: ProgramInstruction, _ a: ProgramRegister, _ b: ProgramRegister
    ) throws(ProgramFault) -> ProgramRegister {
        switch step.operation {
        case .integerArithmetic: return .integer(try NumberRules.apply(sign(step.n), a.integerValue, b.integerValue))
        case .realArithmetic: return .real(try NumberRules.apply(sign(step.n), a.realValue, b.realValue))
        case .bits: return .integer(bits(step.n, a.integerValue, b.integerValue))
        default:
            decimals[Int(step.d)] = try NumberRules.apply(
                sign(step.n), decimals[Int(step.a)], decimals[Int(step.b)])
            return ProgramRegister(bits: 0, length: 0, kind: .decimal)
        }
    }

    private func sign(_ code: Int32) -> ArithmeticOperator {
        switch code {
        case 0: .add
        case 1: .subtract
        case 2: .multiply
        case 3: .divide
        case 4: .modulus
        default: .power
        }
    }

    private func bits(_ code: Int32, _ a: Int64, _ b: Int64) -> Int64 {
        switch BitOperation(rawValue: code) {
        case .and: a & b
        case .or: a | b
        case .exclusiveOr: a ^ b
        case .shiftLeft: a << b
        case .shiftRight: a >> b
        default: ~a
        }
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
            decimals[Int(step.d)] = NumberRules.apply(function, decimals[Int(step.a)])
            return a
        case .wholeToReal: return .real(Double(a.integerValue))
        case .wholeToDecimal:
            decimals[Int(step.d)] = ExactDecimal(whole: a.integerValue)
            return ProgramRegister(bits: 0, length: 0, kind: .decimal)
        case .realToDecimal:
            guard let value = digits(a) else { throw .range("\(a.realValue)", "Decimal") }
            decimals[Int(step.d)] = value
            return ProgramRegister(bits: 0, length: 0, kind: .decimal)
        case .decimalToReal:
            let value = decimals[Int(step.a)]
            guard !value.isNaN else { throw .range("NaN", "a floating number") }
            return .real(value.real)
        case .realToInteger:
            let value = a.realValue
            // 2^63 is the first number out of range; -2^63 is exact as a Double.
            guard value >= -9_223_372_036_854_775_808, value < 9_223_372_036_854_775_808 else {
                throw .range("\(value)", "64-bit integers")
            }
            return .integer(Int64(value))
        case .decimalToInteger:
            let value = decimals[Int(step.a)]
            guard let whole = value.whole else { throw .range("\(value.value)", "64-bit integers") }
            return .integer(whole)
        case .checkRange: return try checked(a, AttributeType(rawValue: UInt32(truncatingIfNeeded: step.n)))
        case .roundToFloat:
            let value = Float(a.realValue)
            guard value.isFinite || a.realValue.isInfinite else { throw .range("\(a.realValue)", "Float") }
            return .real(Double(value))
        case .markFloat: return .float(Float(a.realValue))
        case .widen: return .real(a.realValue)
        case .storeDecimal:
            let value = decimals[Int(step.a)]
            guard !value.isNaN else { throw .range("NaN", "Decimal, when it is computed,") }
            if let whole = value.exactWhole { return .integer(whole) }
            return .real(value.real)
        default: return a
        }
    }

    private func checked(_ a: ProgramRegister, _ type: AttributeType?) throws(ProgramFault) -> ProgramRegister {
        let value = a.integerValue
        switch type {
        case .integer16:
            guard Int16(exactly: value) != nil else { throw .range("\(value)", "Integer 16") }
        case .integer32:
            guard Int32(exactly: value) != nil else { throw .range("\(value)", "Integer 32") }
        case .boolean:
            guard value == 0 || value == 1 else {
                throw .range("\(value)", "Boolean", remedy: "Compare it: TERNARY(<value> != 0, YES, NO)")
            }
        default: break
        }
        return a
    }

    /// Returns -1, 0 or 1; nil if either value is not a number.
    func order(_ a: ProgramRegister, _ first: UInt16, _ b: ProgramRegister, _ second: UInt16) -> Int? {
        switch (a.kind, b.kind) {
        case (.integer, .integer):
            return a.integerValue < b.integerValue ? -1 : a.integerValue == b.integerValue ? 0 : 1
        case (.real, .real): return ValueOrder.order(a.realValue, b.realValue)
        case (.integer, .real): return ValueOrder.order(a.integerValue, b.realValue)
        case (.real, .integer): return ValueOrder.order(b.integerValue, a.realValue).map { -$0 }
        default:
            // If either number is a decimal, both are compared exactly in base ten.
            guard let left = exact(a, first), let right = exact(b, second) else {
                return ValueOrder.order(approximate(a, first), approximate(b, second))
            }
            return ExactDecimal.compare(left, right)
        }
    }

    private func exact(_ value: ProgramRegister, _ register: UInt16) -> ExactDecimal? {
        switch value.kind {
        case .integer: ExactDecimal(whole: value.integerValue)
        case .real: digits(value)
        default: decimals[Int(register)]
        }
    }

    /// Returns the decimal that a floating-point number prints as.
    private func digits(_ value: ProgramRegister) -> ExactDecimal? {
        value.isFloat ? ExactDecimal(float: Float(value.realValue)) : ExactDecimal(real: value.realValue)
    }

    private func approximate(_ value: ProgramRegister, _ register: UInt16) -> Double {
        switch value.kind {
        case .integer: Double(value.integerValue)
        case .real: value.realValue
        default: decimals[Int(register)].real
        }
    }
}
