/// The Objective-C selector that Swift gives a method, by which mapping models call it.
enum SelectorName {
    /// Returns the selector of a method: `isbn(forIsbn:)` is `isbnForIsbn:`, `toInt16(value:)` is `toInt16WithValue:`,
    /// `f(_:b:)` is `f:b:`.
    ///
    /// - Parameter labels: the label of each parameter, empty for `_`.
    static func selector(base: String, labels: [String]) -> String {
        guard let first = labels.first else { return base }
        var selector = base
        if !first.isEmpty {
            let words = [firstWord(first), lastWord(base)]
            if !words.contains(where: { PortTable.has($0, in: "prepositions") }) { selector += "With" }
            selector += first.prefix(1).uppercased() + first.dropFirst()
        }
        selector += ":"
        for label in labels.dropFirst() { selector += label + ":" }
        return selector
    }

    /// Returns the first word of a camel-case name, in lower case.
    private static func firstWord(_ name: String) -> String {
        let start = name.prefix(1)
        let rest = name.dropFirst().prefix { !$0.isUppercase && !$0.isNumber && $0 != "_" }
        return (start + rest).lowercased()
    }

    /// Returns the last word of a camel-case name, in lower case.
    private static func lastWord(_ name: String) -> String {
        guard let start = name.lastIndex(where: { $0.isUppercase || $0 == "_" || $0.isNumber }) else {
            return name.lowercased()
        }
        return name[start...].lowercased()
    }
}
