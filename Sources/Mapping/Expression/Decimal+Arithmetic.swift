import Foundation

/// Decimal numbers as Core Data computes them: 38 digits, base ten.
///
/// Meant for rare values: every operation goes through Foundation and may allocate.
extension Decimal {
    /// Makes the number that a floating-point number prints as: 0.1 is one tenth, not the nearest binary fraction.
    init?(printed number: some BinaryFloatingPoint & CustomStringConvertible) {
        guard number.isFinite, let value = Decimal(string: number.description, locale: Self.locale), value.isFinite
        else { return nil }
        self = value
    }

    private static let locale = Locale(identifier: "en_US_POSIX")

    /// The nearest floating-point number. It goes through the printed digits, because Foundation's own conversion loses the
    /// last bits.
    package var nearestReal: Double { isNaN ? .nan : Double(description) ?? .nan }

    /// The value truncated toward zero; nil if it does not fit.
    var whole: Int64? {
        isNaN ? nil : Int64(rounded(sign == .minus ? .up : .down).description)
    }

    /// The value as an integer; nil if it has a fraction or does not fit.
    var exactWhole: Int64? {
        whole.flatMap { Decimal($0) == self ? $0 : nil }
    }

    var negated: Decimal { Decimal.apply(.subtract, 0, self) ?? self }

    func rounded(_ mode: NSDecimalNumber.RoundingMode) -> Decimal {
        var copy = self
        var result = Decimal()
        NSDecimalRound(&result, &copy, 0, mode)
        return result
    }

    /// Returns the result of an operator (the caller excludes division by zero); nil if 38 digits cannot hold its magnitude.
    static func apply(_ sign: ArithmeticOperator, _ left: Decimal, _ right: Decimal) -> Decimal? {
        if left.isNaN || right.isNaN { return .nan }
        var (first, second, result) = (left, right, Decimal())
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
                if first == 0 || second == 0 { return 0 }
                if first.exponent + second.exponent < -128 { return 0 }
            }
            outcome = NSDecimalMultiply(&result, &first, &second, .plain)
        case .divide: outcome = NSDecimalDivide(&result, &first, &second, .plain)
        case .modulus:
            guard let quotient = apply(.divide, left, right) else { return nil }
            let whole = quotient.rounded(quotient.sign == .minus ? .up : .down)
            guard let product = apply(.multiply, whole, right) else { return nil }
            return apply(.subtract, left, product)
        case .power:
            guard let exponent = right.exactWhole, exponent >= 0, exponent <= 1000 else { return nil }
            return power(left, exponent)
        }
        guard outcome == .noError || outcome == .lossOfPrecision || outcome == .underflow, !result.isNaN else {
            return nil
        }
        return result
    }

    private static func power(_ base: Decimal, _ exponent: Int64) -> Decimal? {
        var result = Decimal(1)
        for _ in 0..<exponent {
            guard let next = apply(.multiply, result, base) else { return nil }
            result = next
        }
        return result
    }

    /// Returns -1, 0 or 1; nil if either value is not a number.
    static func compare(_ left: Decimal, _ right: Decimal) -> Int? {
        if left.isNaN || right.isNaN { return nil }
        return left < right ? -1 : left == right ? 0 : 1
    }
}
