/// The predicate of a partial index, if an SQL condition can express it: comparisons of a property with a constant, joined by
/// AND, OR and parentheses. Stores have no index for other predicates.
indirect enum IndexPredicate: Equatable {
    case comparison(property: String, ArchivedOperator, IndexConstant)
    case and([IndexPredicate])
    case or([IndexPredicate])

    /// Parses a predicate; nil for other predicates.
    ///
    /// - Complexity: O(text).
    init?(_ text: String) {
        guard var parser = IndexPredicateParser(text), let whole = parser.disjunction(depth: 0), parser.isAtEnd else {
            return nil
        }
        self = whole
    }
}

/// The constant that a property is compared with.
enum IndexConstant: Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case string(String)
}

private struct IndexPredicateParser {
    private enum Token: Equatable {
        case word(String)
        case constant(IndexConstant)
        case symbol(String)
    }

    private static let symbols = ["==", "!=", "<>", "<=", ">=", "=<", "=>", "&&", "||", "=", "<", ">", "(", ")"]
    private static let operators: [String: ArchivedOperator] = [
        "==": .equal, "=": .equal, "!=": .notEqual, "<>": .notEqual, "<": .lessThan, "<=": .lessThanOrEqual,
        "=<": .lessThanOrEqual, ">": .greaterThan, ">=": .greaterThanOrEqual, "=>": .greaterThanOrEqual,
    ]

    private var tokens: ArraySlice<Token>
    var isAtEnd: Bool { tokens.isEmpty }

    init?(_ text: String) {
        var found: [Token] = []
        var rest = Substring(text)
        while let character = rest.first {
            if character.isWhitespace {
                rest.removeFirst()
            } else if character.isLetter || character == "_" {
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                rest.removeFirst(word.count)
                switch word.uppercased() {
                case "NIL", "NULL": found.append(.constant(.null))
                case "YES", "TRUE": found.append(.constant(.integer(1)))
                case "NO", "FALSE": found.append(.constant(.integer(0)))
                default: found.append(.word(String(word)))
                }
            } else if character.isASCII, character.isNumber || character == "-" {
                let text = String(character) + rest.dropFirst().prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
                rest.removeFirst(text.count)
                if let integer = Int64(text) {
                    found.append(.constant(.integer(integer)))
                } else if let real = Double(text), real.isFinite {
                    found.append(.constant(.real(real)))
                } else {
                    return nil
                }
            } else if character == "'" || character == "\"" {
                let content = rest.dropFirst().prefix { $0 != character }
                guard content.endIndex < rest.endIndex, !content.contains("\\") else { return nil }
                found.append(.constant(.string(String(content))))
                rest = rest[rest.index(after: content.endIndex)...]
            } else if let symbol = Self.symbols.first(where: { rest.hasPrefix($0) }) {
                found.append(.symbol(symbol))
                rest.removeFirst(symbol.count)
            } else {
                return nil
            }
        }
        tokens = found[...]
    }

    private mutating func accept(_ symbol: String, word: String? = nil) -> Bool {
        switch tokens.first {
        case .symbol(symbol): break
        case .word(let found) where found.uppercased() == word: break
        default: return false
        }
        tokens.removeFirst()
        return true
    }

    mutating func disjunction(depth: Int) -> IndexPredicate? {
        guard depth < 50, let first = conjunction(depth: depth) else { return nil }
        var parts = [first]
        while accept("||", word: "OR") {
            guard let next = conjunction(depth: depth) else { return nil }
            parts.append(next)
        }
        return parts.count == 1 ? first : .or(parts)
    }

    private mutating func conjunction(depth: Int) -> IndexPredicate? {
        guard let first = factor(depth: depth) else { return nil }
        var parts = [first]
        while accept("&&", word: "AND") {
            guard let next = factor(depth: depth) else { return nil }
            parts.append(next)
        }
        return parts.count == 1 ? first : .and(parts)
    }

    private mutating func factor(depth: Int) -> IndexPredicate? {
        if accept("(") {
            guard let inner = disjunction(depth: depth + 1), accept(")") else { return nil }
            return inner
        }
        guard case .word(let property) = tokens.popFirst(), case .symbol(let symbol) = tokens.popFirst(),
            let operation = Self.operators[symbol], case .constant(let constant) = tokens.popFirst()
        else { return nil }
        return .comparison(property: property, operation, constant)
    }
}

extension ModelArchiveWriter {
    /// Writes a partial index's predicate as NSPredicate archives it.
    mutating func predicate(_ predicate: IndexPredicate) -> Reference {
        switch predicate {
        case .and(let parts): return compound(1, parts)
        case .or(let parts): return compound(2, parts)
        case .comparison(let property, let operation, let constant):
            let value: Reference =
                switch constant {
                case .null: .null
                case .integer(let integer): builder.integer(integer)
                case .real(let real): builder.real(real)
                case .string(let text): builder.string(text)
                }
            return comparison(operation, left: keyPath(property), constant: value)
        }
    }

    private mutating func compound(_ type: Int64, _ parts: [IndexPredicate]) -> Reference {
        var references: [Reference] = []
        for part in parts { references.append(predicate(part)) }
        return builder.object(
            ClassName("NSCompoundPredicate", "NSPredicate"),
            ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": builder.array(references).field])
    }
}
