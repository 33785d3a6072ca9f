import SwiftTokens

/// Finds the parts of one Swift source that Linux refuses, and their replacements.
struct PortRules {
    let file: String
    let source: String
    let bytes: [UInt8]
    let tokens: [SwiftToken]
    let declarations: SourceDeclarations
    /// The names that this source declares or sees.
    let names: SourceNames
    /// The bodies of this source's types and extensions, in tokens.
    let bodies: [(type: String, body: Range<Int>)]
    /// The names of this source's variables, and the type that their declarations show.
    let variables: VariableTypes
    /// The number of braces that are open at each token.
    private let depths: [Int]
    private(set) var findings: [PortFinding] = []
    private(set) var edits: [(range: Range<Int>, replacement: String)] = []
    var importsStagecoach = false
    /// True for a source that was written for Swift 2.
    let isSwift2: Bool

    private init(file: String, source: String, reader: DeclarationReader, declarations: SourceDeclarations) {
        self.file = file
        self.source = source
        bytes = Array(source.utf8)
        tokens = reader.tokens
        self.declarations = declarations
        names = declarations.names[file] ?? SourceNames(tokens)
        let types = reader.types.filter { !$0.isExtension } + reader.types.filter(\.isExtension)
        bodies = types.map { ($0.name, $0.body) }
        variables = VariableTypes(reader.tokens)
        var depth = 0
        depths = reader.tokens.map { token in
            if token.isMark("{") { depth += 1 }
            if token.isMark("}") { depth -= 1 }
            return depth
        }
        isSwift2 = reader.tokens.contains { PortTable.has($0.text, in: "swift2") }
    }

    /// Applies all rules to a source.
    static func apply(
        file: String, source: String, reader: DeclarationReader, declarations: SourceDeclarations
    ) -> PortedSource {
        var rules = PortRules(file: file, source: source, reader: reader, declarations: declarations)
        rules.importsStagecoach = rules.tokens.imports("Stagecoach")
        var index = 0
        while index < rules.tokens.count { index = rules.rule(at: index) }
        return PortedSource(file: file, source: source, findings: rules.findings, edits: rules.edits)
    }

    /// Applies the rules to the token at an index. Returns the index of the next token to examine. So does each rule that returns
    /// an index.
    private mutating func rule(at index: Int) -> Int {
        let token = tokens[index]
        switch token.kind {
        case .attribute: return attribute(at: index)
        case .directive: return directive(at: index)
        case .word: return token.isWord("import") ? importStatement(at: index) ?? word(at: index) : word(at: index)
        case .mark: return increment(at: index)
        default: return index + 1
        }
    }

    // MARK: - Findings and edits

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    func text(from first: Int, to last: Int) -> String {
        text(tokens[first].range.lowerBound..<tokens[last].range.upperBound)
    }

    mutating func note(
        _ kind: PortFinding.Kind, _ token: SwiftToken, text: String? = nil, replacement: String? = nil,
        _ message: String
    ) {
        findings.append(
            PortFinding(
                file: file, line: token.line, column: token.column, kind: kind, text: text ?? token.text,
                replacement: replacement, message: message))
    }

    mutating func edit(_ range: Range<Int>, _ replacement: String) {
        edits.append((range, replacement))
    }

    /// Replaces the tokens from one to another, and says so.
    mutating func change(from first: Int, to last: Int, _ replacement: String, _ message: String) {
        note(.change, tokens[first], text: text(from: first, to: last), replacement: replacement, message)
        edit(tokens[first].range.lowerBound..<tokens[last].range.upperBound, replacement)
    }

    /// Removes a range, and its line if nothing else is on it.
    mutating func remove(_ range: Range<Int>) {
        var start = range.lowerBound
        var end = range.upperBound
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        while start > 0, isSpace(bytes[start - 1]) { start -= 1 }
        while end < bytes.count, isSpace(bytes[end]) { end += 1 }
        let startsLine = start == 0 || bytes[start - 1] == UInt8(ascii: "\n")
        let endsLine = end == bytes.count || bytes[end] == UInt8(ascii: "\n")
        edit(startsLine && endsLine ? start..<min(end + 1, bytes.count) : range.lowerBound..<end, "")
    }

    // MARK: - Places

    func isMark(_ index: Int, _ text: String) -> Bool { tokens.isMark(index, text) }
    func isWord(_ index: Int, _ text: String) -> Bool { tokens.isWord(index, text) }

    /// Returns the index of the parenthesis that closes the one at an index; the last token if none does.
    func closing(_ index: Int) -> Int { min(tokens.closing(index), tokens.count - 1) }

    /// Tells whether a token is outside of all braces.
    func isGlobal(_ index: Int) -> Bool { depths[index] == 0 }

    /// Tells whether two tokens are inside the same number of braces.
    func isAsDeep(_ index: Int, as other: Int) -> Bool { depths[index] == depths[other] }

    /// Returns the innermost type whose body holds a token; nil outside of all.
    func enclosingType(_ index: Int) -> String? {
        bodies.filter { $0.body.contains(index) }.min { $0.body.count < $1.body.count }?.type
    }

    /// Returns the name of the call whose arguments hold a token: `NSPredicate` for `NSPredicate(format: …)`.
    func enclosingCall(_ index: Int) -> String? {
        var depth = 0
        for position in stride(from: index - 1, to: 0, by: -1) {
            depth -= tokens[position].bracket
            guard depth < 0 else { continue }
            depth = 0
            if tokens[position].isMark("{") { return nil }
            let name = tokens[position - 1]
            if tokens[position].isMark("("), name.kind == .word, !name.isWord("as") { return name.text }
        }
        return nil
    }
}
