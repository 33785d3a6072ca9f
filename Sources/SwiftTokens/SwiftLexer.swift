/// Cuts a Swift source into tokens, without comments and space.
///
/// It skips text that it cannot read (an unterminated comment, a stray byte): sources that do not compile are not its matter.
///
/// - Complexity: O(bytes) of time and memory. Interpolations that are nested deeper than ``greatestDepth`` are taken for text,
///   so that hostile sources need no deep recursion.
package struct SwiftLexer {
    /// The number of interpolations inside each other that are read.
    private static let greatestDepth = 12

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var lineStart = 0
    private var lastTokenLine = 0
    /// The column of a byte on the current line, from which the next token's column is counted on.
    private var counted = (position: 0, column: 1)
    private var depth = 0
    /// The opening parentheses of interpolations in the string that is being read.
    private var interpolations: [(position: Int, line: Int, lineStart: Int)] = []
    package private(set) var tokens: [SwiftToken] = []

    package init(_ source: String) { bytes = Array(source.utf8) }

    /// Returns the tokens of a source.
    package static func tokens(of source: String) -> [SwiftToken] {
        var lexer = SwiftLexer(source)
        lexer.run()
        return lexer.tokens
    }

    private func byte(_ offset: Int = 0) -> UInt8? {
        let index = position + offset
        return index < bytes.count ? bytes[index] : nil
    }

    private mutating func advance() {
        if bytes[position] == UInt8(ascii: "\n") {
            line += 1
            lineStart = position + 1
            counted = (lineStart, 1)
        }
        position += 1
    }

    /// Reads tokens up to the end, or up to the parenthesis that closes the first token.
    private mutating func run(untilClosed: Bool = false) {
        var depth = 0
        while let next = byte() {
            let count = tokens.count
            switch next {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): advance()
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"): skipLineComment()
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"): skipBlockComment()
            case UInt8(ascii: "/") where isPattern: take(.string) { $0.passPattern(hashes: 0) }
            case UInt8(ascii: "\""): string(hashes: 0)
            case UInt8(ascii: "#"): directive()
            case UInt8(ascii: "@") where byte(1).map(SwiftLexer.isNameStart) == true:
                take(.attribute) { $0.passSignAndName() }
            // A character of C: `'}'` opens and closes nothing.
            case UInt8(ascii: "'") where byte(2) == UInt8(ascii: "'"): take(.string) { for _ in 0..<3 { $0.advance() } }
            case UInt8(ascii: "'") where byte(1) == UInt8(ascii: "\\") && byte(3) == UInt8(ascii: "'"):
                take(.string) { for _ in 0..<4 { $0.advance() } }
            case UInt8(ascii: "`"):
                take(.word) {
                    $0.passSignAndName()
                    if $0.byte() == UInt8(ascii: "`") { $0.advance() }
                }
            case _ where SwiftLexer.isNameStart(next): take(.word) { $0.passName() }
            case _ where SwiftLexer.isDigit(next): take(.number) { $0.passNumber() }
            default: take(.mark) { $0.advance() }
            }
            guard untilClosed, tokens.count == count + 1 else { continue }
            depth += tokens[count].bracket
            if depth == 0 { return }
        }
    }

    /// Reads a string, then its interpolations, which are code.
    private mutating func string(hashes: Int) {
        interpolations = []
        take(.string) { lexer in
            for _ in 0..<hashes { lexer.advance() }
            lexer.passString(hashes: hashes, isOutermost: true)
        }
        let end = (position, line, lineStart, lastTokenLine)
        depth += 1
        for interpolation in depth < SwiftLexer.greatestDepth ? interpolations : [] {
            (position, line, lineStart) = interpolation
            counted = (lineStart, 1)
            run(untilClosed: true)
        }
        depth -= 1
        (position, line, lineStart, lastTokenLine) = end
        counted = (lineStart, 1)
    }

    static func isNameStart(_ byte: UInt8) -> Bool {
        byte >= 128 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private mutating func take(_ kind: SwiftToken.Kind, _ pass: (inout SwiftLexer) -> Void) {
        let start = position
        let startLine = line
        let column = counted.column + String(decoding: bytes[counted.position..<start], as: UTF8.self).count
        counted = (start, column)
        pass(&self)
        var text = String(decoding: bytes[start..<position], as: UTF8.self)
        if kind == .word { text.removeAll { $0 == "`" } }
        tokens.append(
            SwiftToken(
                kind: kind, text: text, range: start..<position, line: startLine, column: column,
                isFirstOnLine: lastTokenLine != startLine))
        lastTokenLine = line
    }

    private static func isDigit(_ byte: UInt8?) -> Bool {
        byte.map((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) == true
    }

    private mutating func passName() {
        while let next = byte(), SwiftLexer.isNameStart(next) || SwiftLexer.isDigit(next) { advance() }
    }

    /// Reads a number with its fraction and the sign of its exponent. `0.1` behind a single point are two places in tuples.
    private mutating func passNumber() {
        let exponent = byte() == UInt8(ascii: "0") && byte(1) == UInt8(ascii: "x") ? "p" : "e"
        let isPlace = tokens.last?.isMark(".") == true && tokens.dropLast().last?.isMark(".") != true
        passName()
        if byte() == UInt8(ascii: "."), SwiftLexer.isDigit(byte(1)), !isPlace { passSignAndName() }
        let isSigned = byte() == UInt8(ascii: "-") || byte() == UInt8(ascii: "+")
        let last = bytes[position - 1] | 0x20
        if isSigned, last == exponent.utf8.first, SwiftLexer.isDigit(byte(1)) { passSignAndName() }
    }

    private mutating func passSignAndName() {
        advance()
        passName()
    }

    /// Reads `#keyPath`, or the number signs of a raw string.
    private mutating func directive() {
        var hashes = 0
        while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
        if byte(hashes) == UInt8(ascii: "\"") {
            string(hashes: hashes)
        } else if byte(hashes) == UInt8(ascii: "/") {
            take(.string) { $0.passPattern(hashes: hashes) }
        } else if let next = byte(1), SwiftLexer.isNameStart(next) {
            take(.directive) { $0.passSignAndName() }
        } else {
            take(.mark) { $0.advance() }
        }
    }

    /// True at a slash that begins a regular expression: an operand is expected, and another slash closes it on its line.
    private var isPattern: Bool {
        guard let next = byte(1), ![UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n")].contains(next),
            let last = tokens.last, last.kind == .mark ? "(,=:[{&|!?;".contains(last.text) : last.isWord("return")
        else { return false }
        var offset = 1
        while let next = byte(offset), next != UInt8(ascii: "\n") {
            if next == UInt8(ascii: "/") { return true }
            offset += next == UInt8(ascii: "\\") ? 2 : 1
        }
        return false
    }

    /// Skips a regular expression from its number signs or its slash to its end; one with number signs may span lines.
    private mutating func passPattern(hashes: Int) {
        for _ in 0...hashes { advance() }
        while let next = byte() {
            if next == UInt8(ascii: "/"), (0..<hashes).allSatisfy({ byte(1 + $0) == UInt8(ascii: "#") }) {
                for _ in 0...hashes { advance() }
                return
            }
            if next == UInt8(ascii: "\n"), hashes == 0 { return }
            advance()
            if next == UInt8(ascii: "\\"), byte() != nil { advance() }
        }
    }

    private mutating func skipLineComment() {
        while let next = byte(), next != UInt8(ascii: "\n") { advance() }
    }

    private mutating func skipBlockComment() {
        var depth = 0
        while byte() != nil {
            if byte() == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
                depth += 1
                advance()
                advance()
            } else if byte() == UInt8(ascii: "*"), byte(1) == UInt8(ascii: "/") {
                depth -= 1
                advance()
                advance()
                if depth == 0 { return }
            } else {
                advance()
            }
        }
    }

    /// Skips a string from its opening quote past the closing one. A one-line string also ends at the end of the line.
    private mutating func passString(hashes: Int, isOutermost: Bool = false) {
        let quote = UInt8(ascii: "\"")
        let isMultiline = byte(1) == quote && byte(2) == quote
        for _ in 0..<(isMultiline ? 3 : 1) { advance() }
        while let next = byte() {
            if next == UInt8(ascii: "\\"), isEscape(hashes) {
                for _ in 0...hashes { advance() }
                if byte() == UInt8(ascii: "(") {
                    if isOutermost { interpolations.append((position, line, lineStart)) }
                    passInterpolation()
                } else if byte() != nil {
                    advance()
                }
            } else if next == quote, isEnd(isMultiline, hashes) {
                for _ in 0..<((isMultiline ? 3 : 1) + hashes) { advance() }
                return
            } else if next == UInt8(ascii: "\n"), !isMultiline {
                return
            } else {
                advance()
            }
        }
    }

    private func isEscape(_ hashes: Int) -> Bool {
        (0..<hashes).allSatisfy { byte(1 + $0) == UInt8(ascii: "#") }
    }

    private func isEnd(_ isMultiline: Bool, _ hashes: Int) -> Bool {
        let quotes = isMultiline ? 3 : 1
        return (0..<quotes).allSatisfy { byte($0) == UInt8(ascii: "\"") }
            && (0..<hashes).allSatisfy { byte(quotes + $0) == UInt8(ascii: "#") }
    }

    /// Skips `(…)` inside a string, with the strings in it.
    private mutating func passInterpolation() {
        self.depth += 1
        defer { self.depth -= 1 }
        var depth = 0
        while let next = byte() {
            switch next {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"): depth -= 1
            case UInt8(ascii: "\"") where self.depth < SwiftLexer.greatestDepth:
                passString(hashes: 0)
                continue
            case UInt8(ascii: "\n") where depth == 0: return
            default: break
            }
            advance()
            if depth == 0 { return }
        }
    }
}
