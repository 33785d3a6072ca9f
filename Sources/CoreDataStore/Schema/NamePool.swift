/// The SQL names already taken within one scope. The second use of a name gets the suffix 1, the third 2.
///
/// For example, scout-4 has `ZNAME`, `ZNAME1`, `ZNAME2` in one table. SQLite compares names without regard to ASCII case, and
/// so does the pool. Memory: one entry a name.
struct NamePool {
    private var used: Set<String>
    /// The next suffix to try, by name, so that n uses of one name cost O(n).
    private var nextSuffix: [String: Int] = [:]

    /// - Parameter reserved: names that are never given out.
    init(reserved: [String] = []) { used = Set(reserved.map { $0.uppercased() }) }

    /// Takes a name that is given from elsewhere.
    mutating func reserve(_ name: String) { used.insert(name.uppercased()) }

    /// Returns the name, or the name with the first free suffix.
    mutating func take(_ name: String) -> String {
        let key = name.uppercased()
        if used.insert(key).inserted { return name }
        var suffix = nextSuffix[key] ?? 1
        while !used.insert(key + String(suffix)).inserted { suffix += 1 }
        nextSuffix[key] = suffix + 1
        return name + String(suffix)
    }
}

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
