import SwiftTokens

/// The names that a source declares: variables, parameters, functions, cases and labels.
///
/// It takes rather too many names for declared than too few: a name that only looks unknown would be a false finding.
struct SourceNames {
    /// All names, also those of local variables.
    private(set) var names: Set<String> = []
    /// The names that other sources see: those of members, too, as the types of most expressions are unknown.
    private(set) var shared: Set<String> = []
    /// The names that other sources see without a receiver.
    private(set) var global: Set<String> = []
    /// The names that this source declares, and those that it sees without a receiver.
    private(set) var visible: Set<String> = []

    init(_ tokens: [SwiftToken]) {
        read(tokens)
        readShared(tokens)
    }

    func contains(_ name: String) -> Bool { names.contains(name) }

    /// Adds all names of another form of the same source.
    func union(_ other: SourceNames) -> SourceNames {
        var all = self
        all.names.formUnion(other.names)
        all.visible.formUnion(other.visible)
        return all
    }

    /// Adds the names that other sources share.
    func adding(_ others: [SourceNames]) -> SourceNames {
        others.reduce(into: self) {
            $0.names.formUnion($1.shared)
            $0.shared.formUnion($1.shared)
            $0.visible.formUnion($1.global)
        }
    }

    /// Reads the declarations outside of functions that are not private.
    private mutating func readShared(_ tokens: [SwiftToken]) {
        let types: Set<String> = ["class", "struct", "enum", "extension", "protocol", "actor"]
        // For each open brace, true if it is that of a type.
        var braces: [Bool] = []
        var isType = false
        for index in tokens.indices {
            let token = tokens[index]
            if token.kind == .word, types.contains(token.text), tokens.isWord(index + 1),
                !tokens.isWord(index + 1, "func")
            {
                isType = true
            }
            if token.isMark("{") {
                braces.append(isType)
                isType = false
            } else if token.isMark("}") {
                _ = braces.popLast()
            } else if braces.allSatisfy({ $0 }), ["let", "var", "func", "case", ","].contains(token.text),
                tokens.isWord(index + 1)
            {
                let modifiers = tokens[..<index].suffix(3).filter { $0.line == token.line }
                if !modifiers.contains(where: { $0.isWord("private") || $0.isWord("fileprivate") }) {
                    shared.insert(tokens[index + 1].text)
                    if braces.isEmpty { global.insert(tokens[index + 1].text) }
                }
            }
        }
    }

    private mutating func read(_ tokens: [SwiftToken]) {
        let before: Set<String> = ["let", "var", "func", "case", "for", "weak", "unowned", "inout"]
        var isCase = false
        for index in tokens.indices where tokens[index].kind == .word {
            let token = tokens[index]
            if token.isFirstOnLine { isCase = token.isWord("case") || token.isWord("indirect") }
            // Behind a comma or parenthesis it is a label.
            let isFirst = tokens.isMark(index - 1, "(") || tokens.isMark(index - 1, ",")
            if token.isWord("in"), !isFirst { readParameters(tokens, before: index) }
            // `let (a, b)`, `case let .name(a, b)`, `set(value)`
            let isNamed = tokens.isMark(index + 1, ".") && tokens.isMark(index + 3, "(")
            if ["let", "var"].contains(token.text), isNamed { readPattern(tokens, index + 3) }
            if ["let", "var", "for", "set", "willSet", "didSet"].contains(token.text), tokens.isMark(index + 1, "(") {
                readPattern(tokens, index + 1)
            }
            guard index > 0, !tokens[index - 1].isMark(".") else { continue }
            let last = tokens[index - 1]
            let isLabel =
                tokens.isMark(index + 1, ":") && !token.text.isConstantOfApple
                && (last.kind == .word || "(,{[".contains(last.text))
            let isListed = last.isMark(",") && (isCase || tokens.isMark(index + 1, "="))
            guard before.contains(last.text) || isLabel || isListed else { continue }
            // `log: log` is an argument, which declares nothing.
            let isArgument = isLabel && tokens.isWord(index + 2) && tokens[index + 2].text.first?.isLowercase == true
            if isArgument, !before.contains(last.text) { names.insert(token.text) } else { declare(token.text) }
        }
    }

    private mutating func declare(_ name: String) {
        names.insert(name)
        visible.insert(name)
    }

    /// Reads the parameters and captures of a closure: `{ [weak a] b, c in`.
    private mutating func readParameters(_ tokens: [SwiftToken], before index: Int) {
        for position in stride(from: index - 1, through: max(0, index - 60), by: -1) {
            if tokens[position].isMark("{") || tokens[position].isMark("}") || tokens[position].isWord("for") { return }
            if tokens[position].kind == .word { declare(tokens[position].text) }
        }
    }

    private mutating func readPattern(_ tokens: [SwiftToken], _ open: Int) {
        for position in open..<min(tokens.closing(open), tokens.count) where tokens[position].kind == .word {
            declare(tokens[position].text)
        }
    }
}
