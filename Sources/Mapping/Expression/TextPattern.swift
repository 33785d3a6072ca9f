/// A compiled pattern of LIKE or MATCHES.
///
/// LIKE uses a ``PatternAutomaton``. MATCHES has the whole of ICU's syntax: ``ICUPattern`` compiles the regular expression and
/// matches it within a bounded number of steps. If a pattern is plain (literals, classes, groups, alternatives, small counts)
/// and the text does not depend on Unicode's tables, the automaton gives the same answer in time proportional to text times
/// pattern, without making a string of the text.
package struct TextPattern: Sendable {
    /// The greatest number of characters in a regular expression.
    static let maximumLength = 10_000
    /// The greatest automaton that is tried first. Larger ones are used only if ICU's matcher gives up.
    private static let smallAutomaton = 256

    private let automaton: PatternAutomaton?
    private let library: ICUPattern?
    /// True if the automaton is right for every text; otherwise only for ASCII.
    private let isExact: Bool

    /// Compiles the pattern of LIKE or MATCHES.
    init(_ text: String, _ comparison: ComparisonOperator, _ folding: TextFolding) throws(ProgramFault) {
        try self = comparison == .like ? .init(glob: text, folding) : .init(regularExpression: text, folding)
    }

    /// Compiles a LIKE pattern: `*` matches any text, `?` one character, and a backslash makes the next character literal.
    init(glob: String, _ folding: TextFolding) throws(ProgramFault) {
        automaton = try PatternAutomaton(glob: glob, folding)
        library = nil
        isExact = true
    }

    /// Compiles a regular expression, in which case and diacritics count.
    ///
    /// - Throws: as ``init(regularExpression:_:)``.
    package init(regularExpression text: String) throws(ProgramFault) {
        try self.init(regularExpression: text, TextFolding([]))
    }

    /// Compiles a regular expression.
    ///
    /// - Throws: `expression.syntax` for a pattern that ICU refuses, `expression.unsupported` for one that is too long or too
    ///   deep.
    init(regularExpression text: String, _ folding: TextFolding) throws(ProgramFault) {
        guard text.unicodeScalars.count <= Self.maximumLength else {
            throw .unsupported("a regular expression of more than \(Self.maximumLength) characters is not taken")
        }
        let text = folding.ignoresDiacritics ? folding.withoutMarks(text) : text
        library = try ICUPattern(text, folding)
        var parser = RegularExpressionParser(text)
        guard let node = try? parser.parse() else {
            automaton = nil
            isExact = false
            return
        }
        let ignoresCase = folding.ignoresCase || parser.ignoresCase
        isExact = !ignoresCase && !parser.hasShorthands
        // If case is ignored, characters beyond ASCII can match ASCII ones: the Kelvin sign is a k.
        guard !ignoresCase || text.utf8.allSatisfy({ $0 < 0x80 }) else {
            automaton = nil
            return
        }
        automaton = try? PatternAutomaton(
            node, dotIsAnything: parser.dotIsAnything, ignoresCase ? folding.ignoringCase : folding)
    }

    /// Tells whether the pattern matches a whole text of UTF-8 bytes.
    ///
    /// - Throws: `expression.patternLimit` if the match takes too many steps.
    /// - Complexity: O(text × pattern) time if the automaton matches.
    package func matches(_ bytes: UnsafeRawBufferPointer) throws(ProgramFault) -> Bool {
        guard let library else { return automaton?.matches(bytes) ?? false }
        guard let automaton, isExact || bytes.allSatisfy({ $0 < 0x80 }) else {
            return try library.matches(String(decoding: bytes, as: UTF8.self))
        }
        if automaton.states.count <= Self.smallAutomaton { return automaton.matches(bytes) }
        do throws(ProgramFault) { return try library.matches(String(decoding: bytes, as: UTF8.self)) } catch {
            return automaton.matches(bytes)
        }
    }

    /// Tells whether the pattern matches a whole text.
    ///
    /// - Throws: as ``matches(_:)``.
    package func matches(_ text: String) throws(ProgramFault) -> Bool {
        var outcome: Result<Bool, ProgramFault> = .success(false)
        var text = text
        text.withUTF8 { bytes in
            do throws(ProgramFault) {
                outcome = .success(try matches(UnsafeRawBufferPointer(bytes)))
            } catch { outcome = .failure(error) }
        }
        return try outcome.get()
    }
}

extension TextFolding {
    /// The same folding, with case ignored too.
    var ignoringCase: TextFolding {
        TextFolding(ignoresDiacritics ? [.caseInsensitive, .diacriticInsensitive] : .caseInsensitive)
    }
}
