/// The names that ported sources declare: variables, parameters, functions, cases and labels.
///
/// It takes rather too many names for declared than too few: a name that only looks unknown would be a false finding.
struct SourceNames {
    private(set) var names: Set<String> = []

    init(_ sources: [[SwiftToken]]) { for tokens in sources { read(tokens) } }

    private mutating func read(_ tokens: [SwiftToken]) {
        let before: Set<String> = ["let", "var", "func", "case", "for", "weak", "unowned", "inout"]
        var isCase = false
        for index in tokens.indices where tokens[index].kind == .word {
            let token = tokens[index]
            if token.isFirstOnLine { isCase = token.isWord("case") || token.isWord("indirect") }
            if token.isWord("in") { readParameters(tokens, before: index) }
            if ["let", "var", "for"].contains(token.text), tokens.isMark(index + 1, "(") { readPattern(tokens, index + 1) }
            guard index > 0, !tokens[index - 1].isMark(".") else { continue }
            let last = tokens[index - 1]
            let isLabel = tokens.isMark(index + 1, ":") && (last.kind == .word || "(,{[".contains(last.text))
            let isListed = last.isMark(",") && (isCase || tokens.isMark(index + 1, "="))
            if before.contains(last.text) || isLabel || isListed { names.insert(token.text) }
        }
    }

    /// Reads the parameters and captures of a closure: `{ [weak a] b, c in`.
    private mutating func readParameters(_ tokens: [SwiftToken], before index: Int) {
        for position in stride(from: index - 1, through: max(0, index - 60), by: -1) {
            if tokens[position].isMark("{") || tokens[position].isMark("}") || tokens[position].isWord("for") { return }
            if tokens[position].kind == .word { names.insert(tokens[position].text) }
        }
    }

    private mutating func readPattern(_ tokens: [SwiftToken], _ open: Int) {
        for position in open..<min(tokens.closing(open), tokens.count) where tokens[position].kind == .word {
            names.insert(tokens[position].text)
        }
    }
}
