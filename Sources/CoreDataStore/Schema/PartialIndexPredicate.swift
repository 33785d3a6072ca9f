import ManagedModel

/// Converts the predicate of a partial fetch index into SQL, if both certainly mean the same.
///
/// Read: comparisons (`==`, `=`, `!=`, `<>`, `<`, `<=`, `>`, `>=`) of a stored property with a number, a Boolean or a quoted
/// string, `== nil`, `!= nil`, joined by AND, OR and parentheses, in the forms that stores have: `ZFAVORITE = 1`, `<> 0`,
/// `IS NOT NULL`, and joined ones in parentheses (43 of 43: `(ZKIND = 1 AND ZSTATE = 2)`). Everything else (NOT, key paths,
/// functions), where predicates and SQL differ on case or whose form is not known, gives nil and the index is left out.
struct PartialIndexPredicate {
    /// Returns the SQL name of a property's column and its attribute type (nil for a to-one); nil if it has no column.
    typealias ColumnLookup = (String) -> (name: String, type: AttributeType?)?

    private enum Token: Equatable {
        case word(String)
        case number(String)
        case string(String)
        case symbol(String)
    }

    private var tokens: ArraySlice<Token>
    private let column: ColumnLookup

    /// Returns the condition, or nil if it has no certain SQL form.
    static func sql(_ predicate: String, column: ColumnLookup) -> String? {
        withoutActuallyEscaping(column) { column in
            guard let tokens = tokenize(predicate), !tokens.isEmpty else { return nil }
            var parser = PartialIndexPredicate(tokens: tokens[...], column: column)
            guard let whole = parser.disjunction(depth: 0), parser.tokens.isEmpty else { return nil }
            return Self.enclosed(whole)
        }
    }

    private static func tokenize(_ text: String) -> [Token]? {
        var tokens: [Token] = []
        var rest = Substring(text)
        while let character = rest.first {
            if character.isWhitespace {
                rest.removeFirst()
            } else if character.isLetter || character == "_" {
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
                tokens.append(.word(String(word)))
                rest.removeFirst(word.count)
            } else if character.isASCII, character.isNumber || character == "-" {
                let digits = rest.dropFirst().prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
                let number = String(character) + digits
                guard let value = Double(number), value.isFinite else { return nil }
                tokens.append(.number(number))
                rest.removeFirst(number.count)
            } else if character == "'" || character == "\"" {
                let content = rest.dropFirst().prefix { $0 != character }
                guard content.endIndex < rest.endIndex, !content.contains("\\"), !content.contains("\0") else {
                    return nil
                }
                tokens.append(.string(String(content)))
                rest = rest[rest.index(after: content.endIndex)...]
            } else if let symbol = ["==", "!=", "<>", "<=", ">=", "=<", "=>", "&&", "||", "=", "<", ">", "(", ")"]
                .first(where: { rest.hasPrefix($0) })
            {
                tokens.append(.symbol(symbol))
                rest.removeFirst(symbol.count)
            } else {
                return nil
            }
        }
        return tokens
    }

    private mutating func accept(_ symbols: String..., word: String? = nil) -> Bool {
        switch tokens.first {
        case .symbol(let found) where symbols.contains(found): break
        case .word(let found) where found.uppercased() == word: break
        default: return false
        }
        tokens.removeFirst()
        return true
    }

    /// A part of a condition; true marks one that joins others.
    private typealias Part = (text: String, isCompound: Bool)

    /// Returns the text of a part: one that joins others stands in parentheses, whatever the text of the predicate had.
    private static func enclosed(_ part: Part) -> String { part.isCompound ? "(\(part.text))" : part.text }

    private mutating func disjunction(depth: Int) -> Part? {
        guard depth < 50 else { return nil }
        return list("||", "OR") { parser in parser.list("&&", "AND") { $0.factor(depth: depth) } }
    }

    /// Parses parts joined by a symbol or a word.
    private mutating func list(
        _ symbol: String, _ word: String, of part: (inout PartialIndexPredicate) -> Part?
    ) -> Part? {
        var parts: [Part] = []
        repeat {
            guard let next = part(&self) else { return nil }
            parts.append(next)
        } while accept(symbol, word: word)
        guard parts.count > 1 else { return parts[0] }
        return (parts.map(Self.enclosed).joined(separator: " \(word) "), true)
    }

    private mutating func factor(depth: Int) -> Part? {
        if accept("(") {
            guard let inner = disjunction(depth: depth + 1), accept(")") else { return nil }
            return inner
        }
        return comparison().map { ($0, false) }
    }

    private mutating func comparison() -> String? {
        guard case .word(let property) = tokens.popFirst(), let (name, type) = column(property),
            case .symbol(let symbol) = tokens.popFirst(), let value = tokens.popFirst()
        else { return nil }
        let comparators = [
            "==": "=", "=": "=", "<": "<", ">": ">", "<=": "<=", "=<": "<=", ">=": ">=", "=>": ">=",
            "!=": "<>", "<>": "<>",
        ]
        if case .word(let word) = value, ["NIL", "NULL"].contains(word.uppercased()) {
            switch symbol {
            case "==", "=": return name + " IS NULL"
            case "!=", "<>": return name + " IS NOT NULL"
            default: return nil
            }
        }
        guard let type, let comparator = comparators[symbol] else { return nil }
        switch value {
        case .number(let number) where type.isNumeric: return "\(name) \(comparator) \(number)"
        // Only equality: the order of strings depends on collation and locale.
        case .string(let string) where type == .string && ["=", "<>"].contains(comparator):
            return "\(name) \(comparator) \(SQLName.literal(string))"
        case .word(let word) where type == .boolean && ["=", "<>"].contains(comparator):
            switch word.uppercased() {
            case "YES", "TRUE": return "\(name) \(comparator) 1"
            case "NO", "FALSE": return "\(name) \(comparator) 0"
            default: return nil
            }
        default: return nil
        }
    }
}
