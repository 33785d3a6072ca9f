/// The tokens of an SQL text in order: names, quoted texts, numbers, and symbols of one character. Comments are left out.
struct SQLTokens {
    enum Token: Equatable {
        /// A keyword or a name; quoted ones without their quotes.
        case name(String)
        case text(String)
        case number(String)
        case symbol(Character)
    }

    let tokens: [Token]

    /// - Returns: nil if a quote or a comment does not end.
    /// - Complexity: O(text).
    init?(_ sql: String) {
        var found: [Token] = []
        var rest = Substring(sql)
        while let character = rest.first {
            if character.isWhitespace {
                rest.removeFirst()
            } else if rest.hasPrefix("--") {
                rest = rest.drop { !$0.isNewline }
            } else if rest.hasPrefix("/*") {
                guard let end = rest.firstRange(of: "*/") else { return nil }
                rest = rest[end.upperBound...]
            } else if let close = Self.quotes[character] {
                guard let text = Self.quoted(&rest, until: close) else { return nil }
                found.append(character == "'" ? .text(text) : .name(text))
            } else if character.isLetter || character == "_" || !character.isASCII {
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" || !$0.isASCII }
                rest = rest[word.endIndex...]
                found.append(.name(String(word)))
            } else if character.isNumber {
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "." }
                rest = rest[word.endIndex...]
                found.append(.number(String(word)))
            } else {
                found.append(.symbol(character))
                rest.removeFirst()
            }
        }
        tokens = found
    }

    private static let quotes: [Character: Character] = ["'": "'", "\"": "\"", "`": "`", "[": "]"]

    /// Returns the text between quotes. A doubled quote stands for one quote.
    private static func quoted(_ rest: inout Substring, until close: Character) -> String? {
        rest.removeFirst()
        var text = ""
        while let character = rest.popFirst() {
            if character != close {
                text.append(character)
            } else if close != "]", rest.first == close {
                text.append(close)
                rest.removeFirst()
            } else {
                return text
            }
        }
        return nil
    }

    /// Names and texts that may be names, in upper case.
    var words: Set<String> {
        Set(
            tokens.compactMap { token in
                switch token {
                case .name(let name), .text(let name): name.uppercased()
                case .number, .symbol: nil
                }
            })
    }

    /// The names in order, in upper case; nil for everything else.
    private var keywords: [String?] {
        tokens.map { if case .name(let name) = $0 { name.uppercased() } else { nil } }
    }

    /// Tells whether one of some columns may be compared with something.
    func compares(_ columns: Set<String>) -> Bool {
        let harmless: Set<Character> = [",", "(", ")"]
        let verbs: Set<String> = ["SELECT", "FROM", "AS", "BY", "ON", "OF", "COLLATE", "ASC", "DESC", "DISTINCT"]
        func isHarmless(_ place: Int) -> Bool {
            guard tokens.indices.contains(place) else { return true }
            switch tokens[place] {
            case .symbol(let symbol): return harmless.contains(symbol)
            case .name(let name): return verbs.contains(name.uppercased())
            case .text, .number: return false
            }
        }
        for (place, word) in keywords.enumerated() {
            guard let word, columns.contains(word) else { continue }
            // `NEW.Z_ENT` begins two words before.
            let isQualified = place >= 2 && tokens[place - 1] == .symbol(".")
            guard isHarmless(place - (isQualified ? 3 : 1)), isHarmless(place + 1) else { return true }
        }
        return false
    }

    /// The event of a CREATE TRIGGER statement: INSERT, UPDATE or DELETE; nil if the text is none.
    var triggerEvent: String? {
        let words = keywords
        guard words.count > 4, words[0] == "CREATE", let trigger = words.prefix(3).firstIndex(of: "TRIGGER") else {
            return nil
        }
        var place = trigger + 1
        if words[place...].prefix(3).elementsEqual(["IF", "NOT", "EXISTS"]) { place += 3 }
        // The trigger's own name may be a keyword.
        place += 1
        return words[min(place, words.count)...].prefix(4).compactMap(\.self)
            .first { ["INSERT", "UPDATE", "DELETE"].contains($0) }
    }

    /// The module of a CREATE VIRTUAL TABLE statement, in lower case.
    var module: String? {
        guard let using = keywords.firstIndex(of: "USING"), tokens.indices.contains(using + 1) else { return nil }
        return keywords[using + 1]?.lowercased()
    }

    /// The table from which a full-text table takes its texts (`content='ZNOTE'`); empty if it keeps none, nil if none is
    /// stated.
    var contentTable: String? {
        for (place, word) in keywords.enumerated() where word == "CONTENT" && tokens.indices.contains(place + 2) {
            guard tokens[place + 1] == .symbol("=") else { continue }
            switch tokens[place + 2] {
            case .name(let name), .text(let name): return name
            case .number, .symbol: return nil
            }
        }
        return nil
    }
}
