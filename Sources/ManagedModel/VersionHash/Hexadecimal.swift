extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits for each byte.
    package var hexadecimal: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            for digit in [byte >> 4, byte & 15] { digits.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
