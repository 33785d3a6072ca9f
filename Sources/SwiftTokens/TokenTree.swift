/// The tokens of a source with the partner of each bracket, so that a reader passes over a block in one step.
package struct TokenTree: Sendable {
    package let tokens: [SwiftToken]
    /// The index of the bracket that closes the one at an index; the number of tokens for one that is never closed.
    private let partners: [Int]

    /// - Complexity: O(tokens).
    package init(_ tokens: [SwiftToken]) {
        self.tokens = tokens
        var partners = [Int](repeating: tokens.count, count: tokens.count)
        var open: [Int] = []
        var counts = [0, 0, 0]
        for (index, token) in tokens.enumerated() {
            let bracket = token.bracket
            guard bracket != 0, let form = Self.form(token) else { continue }
            guard bracket == -1 else {
                open.append(index)
                counts[form] += 1
                continue
            }
            // Brackets that were forgotten in between enclose nothing.
            while counts[form] > 0, let last = open.popLast(), let other = Self.form(tokens[last]) {
                counts[other] -= 1
                partners[last] = other == form ? index : last
                if other == form { break }
            }
        }
        self.partners = partners
    }

    /// The number of a bracket's form: round, square or curly.
    private static func form(_ token: SwiftToken) -> Int? {
        switch token.text.utf8.first {
        case UInt8(ascii: "("), UInt8(ascii: ")"): 0
        case UInt8(ascii: "["), UInt8(ascii: "]"): 1
        case UInt8(ascii: "{"), UInt8(ascii: "}"): 2
        default: nil
        }
    }

    package var count: Int { tokens.count }

    /// Returns the index of the mark that closes the bracket at an index; the number of tokens if none does.
    package func closing(_ index: Int) -> Int { partners[index] }
}

extension ArraySlice<SwiftToken> {
    /// The text of the tokens, with a space where the source has one. The tokens inside of strings are left out.
    package var text: String {
        var text = ""
        var end = first?.range.lowerBound ?? 0
        for token in self where token.range.lowerBound >= end {
            if token.range.lowerBound > end { text += " " }
            text += token.text
            end = token.range.upperBound
        }
        return text
    }

    /// The texts of the names and keywords.
    package var words: [String] { filter { $0.kind == .word }.map(\.text) }

    /// The names of `A.b.c`; nil for other tokens.
    package var names: [String]? {
        let isPath = enumerated().allSatisfy { $0.isMultiple(of: 2) ? $1.kind == .word : $1.isMark(".") }
        return isPath && !count.isMultiple(of: 2) ? words : nil
    }

    /// The tokens between the bracket that begins here and the one that closes it.
    package var enclosed: ArraySlice<SwiftToken> {
        var depth = 0
        return prefix { token in
            depth += token.bracket
            return depth > 0
        }.dropFirst()
    }

    /// The tokens cut at a mark outside of all brackets.
    package func parts(at mark: String) -> [ArraySlice<SwiftToken>] {
        var parts: [ArraySlice<SwiftToken>] = []
        var start = startIndex
        var depth = 0
        for index in indices {
            depth += self[index].bracket
            if depth == 0, self[index].isMark(mark) {
                parts.append(self[start..<index])
                start = index + 1
            }
        }
        if start < endIndex { parts.append(self[start..<endIndex]) }
        return parts
    }
}
