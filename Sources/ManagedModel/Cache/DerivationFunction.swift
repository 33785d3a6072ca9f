/// The functions of derived attributes, as selectors in archives and as text in models.
package enum DerivationFunction {
    /// The last component of the key path, by the selector of an aggregate.
    package static let aggregates = [
        "count:": "@count", "sum:": "@sum", "min:": "@min", "max:": "@max", "average:": "@avg",
    ]

    /// Tells whether a text is a key path: letters, digits, underscores and `@`, in components separated by dots.
    static func isKeyPath(_ text: String) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { component in
            !component.isEmpty
                && component.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "@" }
        } && !(text.first?.isNumber ?? true)
    }
}
