extension BinaryInteger {
    /// The number with separators: `1,234,567`.
    package var grouped: String {
        var digits = Substring(String(magnitude))
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits = digits.dropLast(3)
        }
        return (self < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// Returns the number with a noun: `1 object`, `1,234 objects`.
    ///
    /// - Parameter several: the words for other numbers than 1; nil: the words for 1 with an s.
    package func counted(_ one: String, _ several: String? = nil) -> String {
        "\(grouped) \(self == 1 ? one : several ?? one + "s")"
    }
}

extension Int {
    /// The number of bytes in the greatest unit that it fills, rounded down: `64 bytes`, `12 KiB`, `1,024 MiB`.
    package var sizeInWords: String {
        self >= 1 << 20 ? "\((self >> 20).grouped) MiB" : self >= 1 << 10 ? "\(self >> 10) KiB" : counted("byte")
    }
}
