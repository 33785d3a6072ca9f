/// A token of a Swift source, with the detail needed to find names, attributes and braces.
package struct SwiftToken: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// A name or keyword, without backticks.
        case word
        /// `@objc`, with the at sign.
        case attribute
        /// `#keyPath`, with the number sign.
        case directive
        /// A string literal with its quotes, or a regular expression literal. The tokens of a string's interpolations follow it,
        /// each in its parentheses.
        case string
        case number
        /// A single character.
        case mark
    }

    package let kind: Kind
    package let text: String
    /// The token's bytes in the source.
    package let range: Range<Int>
    /// The line, from 1.
    package let line: Int
    /// The column in characters, from 1.
    package let column: Int
    /// True if only space precedes it on its line.
    package let isFirstOnLine: Bool

    package func isMark(_ text: String) -> Bool { kind == .mark && self.text == text }
    package func isWord(_ text: String) -> Bool { kind == .word && self.text == text }

    /// The change of depth behind the token: 1 for a bracket that opens, -1 for one that closes.
    package var bracket: Int {
        guard kind == .mark else { return 0 }
        switch text.utf8.first {
        case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): return 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): return -1
        default: return 0
        }
    }
}

/// Questions about the token at an index, which may lie beyond the ends.
extension [SwiftToken] {
    package func isMark(_ index: Int, _ text: String) -> Bool { indices.contains(index) && self[index].isMark(text) }
    package func isWord(_ index: Int, _ text: String) -> Bool { indices.contains(index) && self[index].isWord(text) }
    package func isWord(_ index: Int) -> Bool { indices.contains(index) && self[index].kind == .word }

    /// Tells whether a bracket follows a name without a space, as in `Defaults[.migrated]`.
    package func isSubscript(_ index: Int) -> Bool {
        isMark(index, "[") && index > 0 && self[index - 1].range.upperBound == self[index].range.lowerBound
    }

    /// Tells whether a source imports a module.
    package func imports(_ module: String) -> Bool {
        indices.contains { isWord($0, "import") && isWord($0 + 1, module) }
    }

    /// Returns the index of the mark that closes the one at an index; the end if none does.
    package func closing(_ index: Int) -> Int {
        let open = self[index].text
        let close = ["(": ")", "{": "}", "<": ">"][open] ?? "]"
        var depth = 0
        for position in index..<count {
            if self[position].isMark(open) { depth += 1 }
            if self[position].isMark(close) { depth -= 1 }
            if depth == 0 { return position }
        }
        return count
    }
}
