/// Edits of ported copies around stubs, whose members have no types of their own.
extension PortStubs {
    /// Returns a ported source that compiles with the stubs: `.case` among the arguments of a stub gets its type, and what is
    /// used as an optional becomes one.
    func edited(_ ported: String) -> String {
        let tokens = SwiftLexer.tokens(of: ported)
        var edits: [(range: Range<Int>, replacement: String)] = []
        func insert(_ text: String, before position: Int) { edits.append((position..<position, text)) }
        for index in tokens.indices where isRoot(tokens, index) {
            let end = chainEnd(tokens, index, &edits)
            let after = end < tokens.count ? tokens[end] : nil
            let isWhole = after.map { $0.isFirstOnLine || "{},;".contains($0.text) || $0.isWord("else") } ?? true
            let isInitialiser = tokens.isMark(index + 1, "(") && tokens.closing(index + 1) == end - 1
            guard index > 2, tokens[index - 1].isMark("="), isWhole, !isInitialiser,
                tokens[index - 3].isWord("let") || tokens[index - 3].isWord("var")
            else { continue }
            let isCondition = index > 3 && ["if", "guard", "while", ","].contains(tokens[index - 4].text)
            if isCondition {
                insert(" as Missing?", before: tokens[end - 1].range.upperBound)
            } else if VariableTypes.isOptional(tokens, tokens[index - 2].text, after: end) {
                insert(": Missing?", before: tokens[index - 2].range.upperBound)
            }
        }
        return PortedSource(file: "", source: ported, findings: [], edits: edits).ported
    }

    /// Tells whether a chain of members of a stub begins at a token.
    private func isRoot(_ tokens: [SwiftToken], _ index: Int) -> Bool {
        guard tokens[index].kind == .word, !tokens.isMark(index - 1, "."), let type = missing[tokens[index].text] else {
            return false
        }
        return [.other, .variable, .function].contains(type.kind)
            && (tokens.isMark(index + 1, "(") || tokens.isMark(index + 1, ".")) && !tokens.isWord(index - 1, "func")
    }

    /// Returns the index behind a chain, with the edits of its marks and arguments.
    private func chainEnd(
        _ tokens: [SwiftToken], _ index: Int, _ edits: inout [(range: Range<Int>, replacement: String)]
    ) -> Int {
        var position = index + 1
        while position < tokens.count {
            if tokens[position].isMark("(") {
                let list = CallArguments(tokens, open: position, isDeclaration: false)
                for argument in list.arguments {
                    let first = argument.colon.map { $0 + 1 } ?? argument.start
                    guard tokens.isMark(first, "."), tokens.isWord(first + 1) else { continue }
                    edits.append((tokens[first].range.lowerBound..<tokens[first].range.lowerBound, "Missing"))
                }
                position = list.close + 1
            } else if tokens[position].isMark("["), !tokens[position].isFirstOnLine {
                position = tokens.closing(position) + 1
            } else if tokens[position].isMark("."), tokens.isWord(position + 1) {
                position += 2
            } else if tokens[position].isMark("?") || tokens[position].isMark("!"), tokens.isMark(position + 1, ".") {
                edits.append((tokens[position].range, ""))
                position += 1
            } else {
                break
            }
        }
        return position
    }
}

extension VariableTypes {
    /// Tells whether a variable is used as an optional behind a token.
    static func isOptional(_ tokens: [SwiftToken], _ name: String, after index: Int) -> Bool {
        (min(index, tokens.count)..<tokens.count).contains { position in
            guard tokens[position].isWord(name), !tokens.isMark(position - 1, ".") else { return false }
            let isBound = tokens.isMark(position - 1, "=") && ["let", "var"].contains(tokens[position - 3].text)
                && ["if", "guard", ","].contains(tokens[position - 4].text)
                && !tokens.isMark(position + 1, ".") && !tokens.isMark(position + 1, "(")
            let isShort = ["let", "var"].contains(tokens[position - 1].text)
                && ["if", "guard", ","].contains(tokens[position - 2].text) && !tokens.isMark(position + 1, "=")
            let isNil = tokens.isMark(position + 2, "=") && tokens.isWord(position + 3, "nil")
            let isChained = tokens.isMark(position + 1, "?") && !tokens.isMark(position + 2, ":")
                && position + 1 < tokens.count && tokens[position + 1].range.lowerBound == tokens[position].range.upperBound
            let isForced = tokens.isMark(position + 1, "!") && !tokens.isMark(position + 2, "=")
            let isDefaulted = tokens.isMark(position + 1, "?") && tokens.isMark(position + 2, "?")
            return isBound || isShort || isNil || isChained || isForced || isDefaulted
        }
    }
}
