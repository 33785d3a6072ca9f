import Diagnostics

import struct Foundation.Decimal

/// A decimal number in the form in which NSDecimalNumber archives it: a sign, 128 bits of mantissa, a power of ten.
package struct ArchivedDecimal: Sendable, Equatable {
    package var isNegative: Bool
    /// The power of ten, -128...127.
    package var exponent: Int
    package var mantissa: UInt128
    /// True for not a number, which is archived as negative with length 0.
    package var isNaN: Bool

    /// Takes a decimal apart; nil if its digits do not fit 128 bits, which is true of no Decimal.
    package init?(_ decimal: Decimal) {
        guard !decimal.isNaN else {
            self.init(isNegative: true, exponent: 0, mantissa: 0, isNaN: true)
            return
        }
        guard let digits = UInt128(Decimal(sign: .plus, exponent: 0, significand: decimal.significand).description)
        else { return nil }
        self.init(
            isNegative: decimal.sign == .minus && digits != 0, exponent: decimal.exponent, mantissa: digits,
            isNaN: false)
    }

    package init(isNegative: Bool, exponent: Int, mantissa: UInt128, isNaN: Bool = false) {
        self.isNegative = isNegative
        self.exponent = exponent
        self.mantissa = mantissa
        self.isNaN = isNaN
    }

    /// The number, exactly.
    package var decimal: Decimal {
        guard !isNaN, let digits = Decimal(string: String(mantissa)) else { return .nan }
        return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: digits)
    }
}

extension ArchivedValue {
    /// The number of an NSDecimalNumber or NSDecimalNumberPlaceholder; nil for other values.
    ///
    /// Fields: `NS.mantissa` of eight 16-bit words, the lowest first, in the byte order of `NS.mantissa.bo` (1 little, 2 big),
    /// `NS.length` words in use, `NS.exponent`, `NS.negative`, `NS.compact`.
    ///
    /// - Throws: `archive.type` if a field is missing or out of range.
    package func decimal() throws(MigrationError) -> ArchivedDecimal? {
        guard case .object(let object) = self, object.isKind(of: "NSDecimalNumber") else { return nil }
        guard let bytes = try object.data("NS.mantissa"), bytes.count == 16,
            let exponent = try object.integer("NS.exponent"), (-128...127).contains(exponent),
            let length = try object.integer("NS.length"), (0...8).contains(length)
        else { throw object.damaged("a decimal number without mantissa, exponent or length") }
        let isBigEndian = try object.integer("NS.mantissa.bo") == 2
        let isNegative = try object.flag("NS.negative")
        var mantissa: UInt128 = 0
        for word in (0..<Int(length)).reversed() {
            let low = UInt128(bytes[word * 2 + (isBigEndian ? 1 : 0)])
            let high = UInt128(bytes[word * 2 + (isBigEndian ? 0 : 1)])
            mantissa = mantissa << 16 | high << 8 | low
        }
        return ArchivedDecimal(
            isNegative: isNegative, exponent: Int(exponent), mantissa: mantissa,
            isNaN: isNegative && length == 0)
    }
}
