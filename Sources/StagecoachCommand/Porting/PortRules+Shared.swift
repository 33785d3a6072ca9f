import SwiftTokens

extension PortRules {
    /// Marks a global or static variable, which Swift 6 refuses where several threads could change it.
    mutating func sharedVariable(at index: Int) {
        var first = index
        let modifiers: Set<String> = [
            "public", "private", "fileprivate", "internal", "open", "package", "final", "static",
        ]
        while first > 0,
            modifiers.contains(tokens[first - 1].text) || isMark(first - 1, ")") && isWord(first - 2, "set")
        {
            first -= isMark(first - 1, ")") ? 4 : 1
        }
        let isStatic = (first..<index).contains { isWord($0, "static") }
        // `nonisolated(unsafe)` may stand before or behind the other modifiers.
        let isUnsafe = isMark(first - 1, ")") && isWord(first - 2, "unsafe")
        let isMarked = first > 0 && (isUnsafe || ["nonisolated", "lazy", "weak"].contains(tokens[first - 1].text))
        guard isStatic || isGlobal(index), !isMarked, tokens.isWord(index + 1), isStored(index) else { return }
        let start = tokens[index].range.lowerBound
        note(
            .change, tokens[index], text: text(from: index, to: index + 1),
            replacement: "nonisolated(unsafe) " + text(from: index, to: index + 1),
            "Swift 6 asks that variables that threads share are safe: the policies' own code has to see to that")
        edit(start..<start, "nonisolated(unsafe) ")
    }

    /// Tells whether a variable is stored, and can be changed by others: a constant that holds Any, a class of the sources or one that
    /// threads must not share.
    private func isStored(_ index: Int) -> Bool {
        let line = tokens[index].line
        let rest = tokens[(index + 2)...].prefix { $0.line == line }
        let assigned = rest.firstIndex { $0.isMark("=") }
        if isWord(index, "var") {
            guard let brace = rest.firstIndex(where: { $0.isMark("{") }) else { return true }
            return assigned.map { $0 < brace } == true
        }
        return rest.indices.contains { position in
            let isClass =
                isMark(position + 1, "(")
                && (declarations.classes.contains { isWord(position, $0.name) }
                    || PortTable.has(tokens[position].text, in: "unsafeClasses"))
            let isAny = isWord(position, "Any") || isWord(position, "AnyObject") && isSwift2
            return isClass || isAny && assigned.map { position < $0 } == true
        }
    }
}
