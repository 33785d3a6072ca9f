/// A pattern of LIKE or MATCHES, compiled.
///
/// LIKE is a ``PatternAutomaton``. MATCHES has ICU's syntax, all of it: ``ICUPattern`` decides what a regular
/// expression is and matches it, within a bounded number of steps. Where a pattern is plain (literals, classes, groups,
/// alternatives, small counts) and the text leaves no doubt about Unicode's tables, the automaton gives the same answer
/// in time proportional to text times pattern, without making a string of the text.
struct TextPattern: Sendable {
    /// Characters of a regular expression.
    static let maximumLength = 10_000
    /// Automata with more states are used only where ICU's matcher gives up.
    private static let smallAutomaton = 256

    private let automaton: PatternAutomaton?
    private let library: ICUPattern?
    /// Whether the automaton is right for every text, not only for ASCII.
    private let isExact: Bool

    /// Compiles a LIKE pattern: `*` is any text, `?` one character, a backslash takes the meaning of the next away.
    init(glob: String, _ folding: TextFolding) throws(ProgramFault) {
        automaton = try PatternAutomaton(glob: glob, folding)
        library = nil
        isExact = true
    }

    /// Compiles a regular expression.
    ///
    /// - Throws: `expression.syntax` for what ICU does not know as a regular expression, `expression.unsupported` for
    ///   one that is too long or too deep.
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
        // Case beyond ASCII reaches into it: the Kelvin sign is a k.
        guard !ignoresCase || text.utf8.allSatisfy({ $0 < 0x80 }) else {
            automaton = nil
            return
        }
        automaton = try? PatternAutomaton(
            node, dotIsAnything: parser.dotIsAnything, ignoresCase ? folding.ignoringCase : folding)
    }

    /// Whether the pattern matches a whole text of UTF-8 bytes.
    ///
    /// - Throws: `expression.patternLimit` where a pattern takes too many steps.
    /// - Complexity: O(text × pattern) time for what the automaton matches.
    func matches(_ bytes: UnsafeRawBufferPointer) throws(ProgramFault) -> Bool {
        guard let library else { return automaton?.matches(bytes) ?? false }
        guard let automaton, isExact || bytes.allSatisfy({ $0 < 0x80 }) else {
            return try library.matches(String(decoding: bytes, as: UTF8.self))
        }
        if automaton.states.count <= Self.smallAutomaton { return automaton.matches(bytes) }
        do throws(ProgramFault) { return try library.matches(String(decoding: bytes, as: UTF8.self)) } catch {
            return automaton.matches(bytes)
        }
    }

    /// Whether the pattern matches a whole text.
    ///
    /// - Throws: as ``matches(_:)``.
    func matches(_ text: String) throws(ProgramFault) -> Bool {
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
    /// The same, and case is overlooked.
    var ignoringCase: TextFolding {
        TextFolding(ignoresDiacritics ? [.caseInsensitive, .diacriticInsensitive] : .caseInsensitive)
    }
}
