import struct Foundation.Decimal

/// The part of a number that a conversion to a narrower type cuts off.
///
/// An integer drops a fraction, and every other number the digits that it cannot hold. Of a number that becomes a Float, the first
/// 15 digits count: a Double holds so many, and what arithmetic leaves behind them is no digit of the source. A Decimal that fills
/// all its 38 digits is a quotient that was rounded before.
package enum NumberCut: UInt8, Sendable {
    case none, fraction, digits

    /// The digits that a Decimal has at most, less one: the last one may be a zero.
    private static let fullDecimal = 37
    /// The digits that every Double holds.
    private static let surelyHeld = 15

    /// Returns what a whole number loses as a Double.
    static func storing(_ value: Int64, as stored: Double) -> NumberCut {
        Int64(exactly: stored) == value ? .none : .digits
    }

    /// Returns what a number loses as a Float.
    static func storing(_ value: Double, as stored: Float) -> NumberCut {
        guard Double(stored) != value, value.isFinite, let printed = Double(stored.description) else { return .none }
        return abs(printed - value) > abs(value) * 5e-15 ? .digits : .none
    }

    /// Returns what a Decimal loses as a Double, which stands for the digits that it prints.
    static func storing(_ value: Decimal, as stored: Double) -> NumberCut {
        let digits = value.description.utf8.filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        let zero = UInt8(ascii: "0")
        guard let first = digits.firstIndex(where: { $0 != zero }), let last = digits.lastIndex(where: { $0 != zero })
        else { return .none }
        guard surelyHeld + 1..<fullDecimal ~= last - first + 1 else { return .none }
        return Decimal(printed: stored) == value ? .none : .digits
    }

    /// Returns what a number loses as a number of another type, whatever forms both have.
    ///
    /// - Parameters:
    ///   - value: the number, as it prints.
    ///   - isFloat: true if it becomes a Float.
    package static func storing(_ value: Decimal, asReal stored: Double, isFloat: Bool) -> NumberCut {
        isFloat ? storing(value.nearestReal, as: Float(stored)) : storing(value, as: stored)
    }
}
