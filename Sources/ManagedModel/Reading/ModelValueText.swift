import Foundation

/// Parses the texts of values in Xcode's models: flags and numbers, independent of any locale.
enum ModelValueText {
    /// Parses `YES`, `NO`, `1`, `0`; `true` and `false` occur in models written by hand.
    static func flag(_ text: String) -> Bool? {
        switch text {
        case "YES", "1", "true": true
        case "NO", "0", "false": false
        default: nil
        }
    }

    /// Parses a whole number. `2.0` is one, and `YES` and `NO` are 1 and 0 (wire's `mutedStatus` has the default `NO`).
    static func integer(_ text: String) -> Int64? {
        if let flag = word(text) { return flag }
        let trimmed = trimmed(text)
        if let number = Int64(trimmed) { return number }
        return double(trimmed).flatMap { Int64(exactly: $0) }
    }

    /// Parses a finite number.
    static func double(_ text: String) -> Double? {
        if let flag = word(text) { return Double(flag) }
        let trimmed = trimmed(text)
        guard isDecimalNumber(trimmed), let number = Double(trimmed), number.isFinite else { return nil }
        return number
    }

    /// Parses a decimal number of at most 38 digits.
    static func decimal(_ text: String) -> Decimal? {
        if let flag = word(text) { return Decimal(flag) }
        let trimmed = trimmed(text)
        // Foundation's own parser ignores the text from the first invalid character on.
        guard isDecimalNumber(trimmed), let number = Decimal(string: trimmed, locale: nil), !number.isNaN else {
            return nil
        }
        return number
    }

    private static func trimmed(_ text: String) -> String {
        // Nearly all texts have nothing to trim, and Foundation would convert them to UTF-16 first.
        func isPlain(_ byte: UInt8?) -> Bool { byte.map { $0 > 0x20 && $0 < 0x7F } ?? true }
        if isPlain(text.utf8.first), isPlain(text.utf8.last) { return text }
        return text.trimmingCharacters(in: .whitespaces)
    }

    private static func word(_ text: String) -> Int64? { ["YES": 1, "NO": 0][text] }

    /// Tells whether a text has the form `[+-] digits [. digits] [e [+-] digits]`, with a digit before or after the point.
    private static func isDecimalNumber(_ text: String) -> Bool {
        // Swift's own parser also accepts "nan", "inf" and hexadecimal forms.
        text.utf8.allSatisfy("0123456789+-.eE".utf8.contains) && Double(text) != nil
    }
}
