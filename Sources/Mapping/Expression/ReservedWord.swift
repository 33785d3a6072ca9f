/// The words of NSPredicate's format language that cannot be used as names without a `#` before them.
enum ReservedWord: String, CaseIterable {
    case and, or, not, any, some, all, none
    case `in`, between, contains, beginswith, endswith, like, matches
    case `true`, yes, `false`, no, null, `nil`, `self`, truepredicate, falsepredicate, anykey
    case function, ternary, cast, subquery, fetch, union, intersect, minus
    case first, last, size, ci, caseinsensitive

    /// Finds the reserved word that the bytes spell, in any case.
    init?(_ bytes: some Collection<UInt8>) {
        // The longest word has 15 letters; longer names are never looked up.
        guard bytes.count <= 15,
            let word = Self.byText[String(decoding: bytes.map(TextFolding.lowered), as: UTF8.self)]
        else { return nil }
        self = word
    }

    private static let byText = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// True if the word may be a name at the start of an expression, because no other form begins with it.
    var isNameWhereExpressionBegins: Bool {
        switch self {
        case .function, .ternary, .cast, .subquery, .fetch, .union, .intersect, .minus, .first, .last, .size, .ci,
            .caseinsensitive:
            true
        default: false
        }
    }
}
