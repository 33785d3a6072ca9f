/// A token of a value expression or predicate.
enum ExpressionToken: Equatable {
    case end
    /// A word that is not reserved, or an escaped one.
    case name(String)
    /// A word of the language, with its text as written.
    case reserved(ReservedWord, text: String)
    /// A built-in function named by its selector: `sum:`, `modulus:by:`.
    case selector(String)
    /// `$name`.
    case variable(String)
    /// `@name`, without the at sign.
    case collectionOperator(String)
    case string(String)
    /// The magnitude of an integer.
    case integer(UInt64)
    case double(Double)
    case symbol(Symbol)

    /// Operators and punctuation.
    enum Symbol: String, CaseIterable {
        case openParenthesis = "("
        case closeParenthesis = ")"
        case openBrace = "{"
        case closeBrace = "}"
        case openBracket = "["
        case closeBracket = "]"
        case comma = ","
        case dot = "."
        case plus = "+"
        case minus = "-"
        case times = "*"
        case divide = "/"
        case modulus = "%"
        case power = "**"
        case equal = "=="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case and = "&&"
        case or = "||"
        case not = "!"
        case assign = ":="
        case bitAnd = "&"
        case bitOr = "|"
        case bitExclusiveOr = "^"
        case bitComplement = "~"
        case shiftLeft = "<<"
        case shiftRight = ">>"
    }

    /// The token as an error message shows it.
    var description: String {
        switch self {
        case .end: "the end"
        case .name(let name): "'\(name.prefix(60))'"
        case .reserved(_, let text): "the reserved word '\(text)'"
        case .selector(let name): "'\(name.prefix(60))'"
        case .variable(let name): "'$\(name.prefix(60))'"
        case .collectionOperator(let name): "'@\(name.prefix(60))'"
        case .string: "a string"
        case .integer(let value): "the number \(value)"
        case .double(let value): "the number \(value)"
        case .symbol(let symbol): "'\(symbol.rawValue)'"
        }
    }
}
