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
        var counts: [String: Int] = [:]
        for (index, token) in tokens.enumerated() {
            switch token.bracket {
            case 1:
                open.append(index)
                counts[token.text, default: 0] += 1
            case -1:
                let mark = ["}": "{", ")": "("][token.text] ?? "["
                guard counts[mark, default: 0] > 0 else { continue }
                // Brackets that were forgotten in between enclose nothing.
                while let last = open.popLast() {
                    counts[tokens[last].text, default: 0] -= 1
                    partners[last] = tokens[last].text == mark ? index : last
                    if tokens[last].text == mark { break }
                }
            default: break
            }
        }
        self.partners = partners
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
