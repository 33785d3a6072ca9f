import SwiftTokens

/// A part of Apple's systems that Linux does not have, and what takes its place in ported copies.
struct PlatformPart {
    /// The tokens by which sources use the part, a list for each way.
    let uses: [[String]]
    /// The kind of the finding; nil for a part that needs none.
    let kind: PortFinding.Kind?
    let message: String
    /// The declarations that ported copies get; empty for none.
    let source: String

    /// The parts that `text` lists.
    static let all: [PlatformPart] = text.split(separator: "//@ ").map { section in
        let end = section.firstIndex(of: "\n") ?? section.endIndex
        let head = section[..<end].split(separator: "|").map { $0.trimmingPrefix { $0 == " " } }
        let uses = head[1].split(separator: " ").map { SwiftLexer.tokens(of: String($0)).map(\.text) }
        return PlatformPart(
            uses: uses, kind: PortFinding.Kind(rawValue: head[0].filter { $0 != " " }),
            message: String(head.count > 2 ? head[2] : ""), source: String(section[end...].dropFirst()))
    }

    /// The names that the sources of all parts declare or use.
    static let names = Set(all.flatMap { SwiftLexer.tokens(of: $0.source) }.filter { $0.kind == .word }.map(\.text))

    /// The names that the sources of all parts declare outside any type, among other words there.
    static let globals = Set(
        all.flatMap { part in
            var depth = 0
            return SwiftLexer.tokens(of: part.source).filter { token in
                depth += token.bracket
                return depth == 0 && token.kind == .word
            }
        }.map(\.text))

    private static let byFirst = Dictionary(
        grouping: all.indices.flatMap { part in all[part].uses.map { (first: $0[0], use: $0, part: part) } },
        by: \.first)

    /// Returns the place in `all` of the part that the tokens at an index use; nil if none.
    static func used(_ tokens: [SwiftToken], at index: Int) -> Int? {
        byFirst[tokens[index].text]?.first { use in
            let isMember = tokens.isMark(index - 1, ".") && use.first != "."
            return !isMember && index + use.use.count <= tokens.count
                && tokens[index..<index + use.use.count].elementsEqual(use.use) { $0.text == $1 }
        }?.part
    }
}
