/// The tokens of a source with the partner of each bracket, so that a reader passes over a block in one step.
struct TokenTree: Sendable {
    let tokens: [SwiftToken]
    /// The index of the bracket that closes the one at an index; the number of tokens for one that is never closed.
    private let partners: [Int]

    /// - Complexity: O(tokens).
    init(_ tokens: [SwiftToken]) {
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

    var count: Int { tokens.count }

    subscript(_ index: Int) -> SwiftToken? { tokens.indices.contains(index) ? tokens[index] : nil }

    subscript(_ range: Range<Int>) -> ArraySlice<SwiftToken> { tokens[range.clamped(to: 0..<tokens.count)] }

    /// Returns the index of the mark that closes the bracket at an index; the number of tokens if none does.
    func closing(_ index: Int) -> Int { partners[index] }

    /// Returns the index behind the token at an index, or behind the block that it opens.
    func end(_ index: Int) -> Int { tokens[index].bracket == 1 ? min(partners[index] + 1, count) : index + 1 }

    func isMark(_ index: Int, _ text: String) -> Bool { tokens.isMark(index, text) }
    func isWord(_ index: Int, _ text: String) -> Bool { tokens.isWord(index, text) }
    func isWord(_ index: Int) -> Bool { tokens.isWord(index) }

    /// Returns the text of tokens, with a space where the source has one.
    func text(_ range: Range<Int>) -> String { self[range].text }
}

extension ArraySlice<SwiftToken> {
    /// The text of the tokens, with a space where the source has one. The tokens inside of strings are left out.
    var text: String {
        var text = ""
        var end = first?.range.lowerBound ?? 0
        for token in self where token.range.lowerBound >= end {
            if token.range.lowerBound > end { text += " " }
            text += token.text
            end = token.range.upperBound
        }
        return text
    }

    /// The tokens cut at a mark outside of all brackets.
    func parts(at mark: String) -> [ArraySlice<SwiftToken>] {
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
