/// Formats names for SQL text.
package enum SQLName {
    /// Returns the name unquoted, as Core Data writes it, if SQLite accepts that; else in double quotes.
    package static func quoted(_ name: String) -> String {
        let plain = name.unicodeScalars.enumerated().allSatisfy { position, scalar in
            switch scalar {
            case "A"..."Z", "a"..."z", "_": true
            case "0"..."9", "$": position > 0
            default: scalar.value > 0x7f
            }
        }
        if plain, !name.isEmpty { return name }
        return enclosed(name, in: "\"")
    }

    /// Returns the name in the form in which SQLite compares names: ASCII letters are capitals.
    static func folded(_ name: String) -> String {
        String(decoding: name.utf8.map { $0 >= 0x61 && $0 <= 0x7A ? $0 - 0x20 : $0 }, as: UTF8.self)
    }

    /// Returns the text as an SQL string literal.
    package static func literal(_ text: String) -> String { enclosed(text, in: "'") }

    /// Returns the text between quotes, with those inside doubled.
    static func enclosed(_ text: String, in quote: Unicode.Scalar) -> String {
        var result = String(quote)
        for scalar in text.unicodeScalars {
            if scalar == quote { result.unicodeScalars.append(scalar) }
            result.unicodeScalars.append(scalar)
        }
        return result + String(quote)
    }
}
