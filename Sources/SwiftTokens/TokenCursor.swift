/// A reader's position among the tokens of a block. What lies behind the block's end is not there for it.
package struct TokenCursor: Sendable {
    package let tree: TokenTree
    package var position: Int
    /// The end of the block.
    package var end: Int

    package init(_ tree: TokenTree, at position: Int = 0) {
        self.tree = tree
        self.position = position
        end = tree.count
    }

    /// The token at the position; nil at the end.
    package var token: SwiftToken? { token(0) }

    /// Returns the token at a distance; nil beyond the ends.
    package func token(_ distance: Int) -> SwiftToken? {
        let index = position + distance
        return index >= 0 && index < end ? tree.tokens[index] : nil
    }

    package func isMark(_ text: String, _ distance: Int = 0) -> Bool { token(distance)?.isMark(text) == true }
    package func isWord(_ text: String, _ distance: Int = 0) -> Bool { token(distance)?.isWord(text) == true }

    /// True if no space is between the token and the one before it.
    package var isAdjacent: Bool { token(-1)?.range.upperBound == token?.range.lowerBound }

    /// Moves behind the token, or behind the block that it opens.
    package mutating func pass() {
        guard let token else { return }
        position = token.bracket == 1 ? min(tree.closing(position) + 1, end) : position + 1
    }

    /// Moves behind a mark; false if it does not stand here.
    package mutating func take(_ mark: String) -> Bool {
        guard isMark(mark) else { return false }
        position += 1
        return true
    }

    /// Returns the name or keyword here and moves behind it; nil if there is none.
    package mutating func takeWord() -> String? {
        guard let token, token.kind == .word else { return nil }
        position += 1
        return token.text
    }

    /// Returns the tokens in the brackets that open here, and moves behind them.
    package mutating func takeBlock() -> ArraySlice<SwiftToken> {
        let start = position + 1
        let close = min(tree.closing(position), end)
        pass()
        return tree.tokens[start..<max(start, close)]
    }
}
