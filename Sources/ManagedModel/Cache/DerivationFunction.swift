/// The functions that derived attributes use, as selectors in archives and as text in models.
enum DerivationFunction {
    /// Selector of an aggregate to the key path's last component.
    static let aggregates = [
        "count:": "@count", "sum:": "@sum", "min:": "@min", "max:": "@max", "average:": "@avg",
    ]

    /// Letters, digits, underscores and `@`, in components parted by dots.
    static func isKeyPath(_ text: String) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { component in
            !component.isEmpty
                && component.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "@" }
        } && !(text.first?.isNumber ?? true)
    }
}
