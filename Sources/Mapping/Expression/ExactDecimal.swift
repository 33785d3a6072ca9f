import Foundation

/// A decimal number as Core Data computes it: 38 digits, base ten.
///
/// Meant for rare values: every operation goes through Foundation and may allocate.
struct ExactDecimal: Sendable {
    var value: Decimal

    init(_ value: Decimal) { self.value = value }
    init(whole: Int64) { value = Decimal(whole) }

    /// Makes the number that a floating-point number prints as: 0.1 is one tenth, not the nearest binary fraction.
    init?(real: Double) { self.init(printed: real) }

    /// Makes the number that a Float prints as.
    init?(float: Float) { self.init(printed: float) }

    private init?(printed number: some BinaryFloatingPoint & CustomStringConvertible) {
        guard number.isFinite, let value = Decimal(string: number.description, locale: Self.locale), value.isFinite
        else { return nil }
        self.value = value
    }

    private static let locale = Locale(identifier: "en_US_POSIX")

    var isNaN: Bool { value.isNaN }

    /// The nearest floating-point number.
    var real: Double { value.nearestReal }

    /// The value truncated toward zero; nil if it does not fit.
    var whole: Int64? {
        value.isNaN ? nil : Int64(rounded(value.sign == .minus ? .up : .down).value.description)
    }

    /// The value as an integer; nil if it has a fraction or does not fit.
    var exactWhole: Int64? {
        whole.flatMap { Decimal($0) == value ? $0 : nil }
    }

    var negated: ExactDecimal { ExactDecimal.apply(.subtract, ExactDecimal(whole: 0), self) ?? self }

    func rounded(_ mode: NSDecimalNumber.RoundingMode) -> ExactDecimal {
        var copy = value
        var result = Decimal()
        NSDecimalRound(&result, &copy, 0, mode)
        return ExactDecimal(result)
    }

    /// Returns the result of an operator (the caller excludes division by zero); nil if 38 digits cannot hold its magnitude.
    static func apply(_ sign: ArithmeticOperator, _ left: ExactDecimal, _ right: ExactDecimal) -> ExactDecimal? {
        if left.isNaN || right.isNaN { return ExactDecimal(Decimal.nan) }
        var (first, second, result) = (left.value, right.value, Decimal())
        let outcome: NSDecimalNumber.CalculationError
        switch sign {
        case .add: outcome = NSDecimalAdd(&result, &first, &second, .plain)
        case .subtract: outcome = NSDecimalSubtract(&result, &first, &second, .plain)
        case .multiply:
            // Foundation traps if the sum of the exponents is below its least exponent. The digits below that limit count as
            // zero.
            let excess = -128 - (first.exponent + second.exponent)
            if excess > 0 {
                var whole = first
                NSDecimalRound(&first, &whole, -(whole.exponent + excess), .plain)
                if first == 0 || second == 0 { return ExactDecimal(whole: 0) }
                if first.exponent + second.exponent < -128 { return ExactDecimal(whole: 0) }
            }
            outcome = NSDecimalMultiply(&result, &first, &second, .plain)
        case .divide: outcome = NSDecimalDivide(&result, &first, &second, .plain)
        case .modulus:
            guard let quotient = apply(.divide, left, right) else { return nil }
            let whole = quotient.rounded(quotient.value.sign == .minus ? .up : .down)
            guard let product = apply(.multiply, whole, right) else { return nil }
            return apply(.subtract, left, product)
        case .power:
            guard let exponent = right.exactWhole, exponent >= 0, exponent <= 1000 else { return nil }
            return power(left, exponent)
        }
        guard outcome == .noError || outcome == .lossOfPrecision || outcome == .underflow, !result.isNaN else {
            return nil
        }
        return ExactDecimal(result)
    }

    private static func power(_ base: ExactDecimal, _ exponent: Int64) -> ExactDecimal? {
        var result = ExactDecimal(whole: 1)
        for _ in 0..<exponent {
            guard let next = apply(.multiply, result, base) else { return nil }
            result = next
        }
        return result
    }

    /// Returns -1, 0 or 1; nil if either value is not a number.
    static func compare(_ left: ExactDecimal, _ right: ExactDecimal) -> Int? {
        if left.isNaN || right.isNaN { return nil }
        return left.value < right.value ? -1 : left.value == right.value ? 0 : 1
    }
}

extension Decimal {
    /// The nearest floating-point number. It goes through the printed digits, because Foundation's own conversion loses the
    /// last bits.
    package var nearestReal: Double { isNaN ? .nan : Double(description) ?? .nan }
}
