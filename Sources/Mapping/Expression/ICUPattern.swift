import Foundation

/// A regular expression in ICU's syntax, which Core Data's MATCHES and its validation use.
///
/// The whole of ICU's syntax is supported: look-around, back references by number and name, atomic groups, possessive
/// quantifiers, `(?x)` and the other flags, `\Q…\E`, `\R`, `\X`, `\N{…}`, properties, operations on classes. ICU backtracks, so
/// a pattern may take time exponential in the length of the text. A match ends with an error if it backtracks too often or if
/// its stack of 8 MB is full. Nothing recurses.
///
/// An automaton of our own for plain patterns was tried before it. A migration that filters a million texts of 37 characters
/// took 0.8 to 0.95 of the CPU with it, so ICU is the only engine.
///
/// Memory: a few kilobytes and the compiled pattern; during a match two bytes a character and the stack.
struct ICUPattern: Sendable {
    /// The greatest number of progress reports in a match. ICU reports after every 10,000 steps, about every 0.2 ms.
    static let maximumReports = 300
    /// The length in UTF-16 units from which a pattern with back references is allowed fewer reports.
    private static let longText = 100_000

    private let text: String
    private let expression: NSRegularExpression
    private let folding: TextFolding
    /// True if the pattern has back references. Comparing with a group's text makes one step as long as that text.
    private let hasReferences: Bool

    /// Compiles a regular expression.
    ///
    /// - Throws: `expression.syntax` for a pattern that ICU refuses, with the place if it can be determined.
    init(_ text: String, _ folding: TextFolding) throws(ProgramFault) {
        let text = folding.ignoresDiacritics ? folding.withoutMarks(text) : text
        self.text = text
        self.folding = folding
        hasReferences = text.contains("\\k") || "123456789".contains { text.contains("\\\($0)") }
        let options: NSRegularExpression.Options = folding.ignoresCase ? .caseInsensitive : []
        func compiled(_ pattern: String) -> NSRegularExpression? {
            try? NSRegularExpression(pattern: pattern, options: options)
        }
        // The pattern must be valid on its own, so that nothing in it closes the group around it. A comment or a quotation left
        // open at its end would swallow the closing parenthesis, hence the three endings tried.
        guard text.isEmpty || compiled(text) != nil,
            let expression = [")", "\n)", "\\E)"].lazy.compactMap({ compiled("\\A(?:\(text)\($0)\\z") }).first
        else { throw Self.mistake(in: text) }
        self.expression = expression
    }

    /// Tells whether the pattern matches a whole text.
    ///
    /// - Throws: `expression.patternLimit` naming the pattern.
    func matches(_ text: String) throws(ProgramFault) -> Bool {
        let text = folding.ignoresDiacritics ? folding.withoutMarks(text) : text
        let length = text.utf16.count
        var remaining = Self.maximumReports + length / 1000
        if hasReferences, length > Self.longText { remaining = max(1, Self.maximumReports * Self.longText / length) }
        var isMatching = false
        var isOverLimit = false
        expression.enumerateMatches(
            in: text, options: [.anchored, .reportProgress], range: NSRange(location: 0, length: length)
        ) { result, flags, stop in
            if result != nil {
                isMatching = true
                stop.pointee = true
                return
            }
            if flags.contains(.internalError) { isOverLimit = true }
            guard flags.contains(.progress) else { return }
            remaining -= 1
            if remaining < 0 {
                isOverLimit = true
                stop.pointee = true
            }
        }
        if isOverLimit, !isMatching {
            throw ProgramFault(
                "expression.patternLimit",
                "the regular expression \(ExpressionConstant.quoted(ExpressionLexer.excerpt(self.text))) tries too many ways to match a text of \(length) characters",
                remedy: "Write it without a repetition inside a repetition, or without look-around and back references")
        }
        return isMatching
    }

    /// The length of the longest pattern in which the place of a mistake is looked for: each of its beginnings is compiled.
    private static let longestWithPlace = 1000

    /// Returns the error for a pattern that ICU refuses. ICU takes the longest beginning without the mistake, so that what
    /// follows it has no end, has no meaning, or stands in a wrong place.
    private static func mistake(in text: String) -> ProgramFault {
        let scalars = text.unicodeScalars
        let excerpt = ExpressionConstant.quoted(ExpressionLexer.excerpt(text))
        let remedy = "Look for a bracket, group or name that has no end or is not known"
        guard scalars.count <= longestWithPlace else {
            return ProgramFault(
                "expression.syntax", "\(excerpt) is no regular expression that ICU takes", remedy: remedy)
        }
        let taken = (0..<scalars.count).last { count in
            count == 0 || (try? NSRegularExpression(pattern: String(scalars.prefix(count)))) != nil
        }
        let rest = String(scalars.dropFirst(taken ?? 0))
        return ProgramFault(
            "expression.syntax",
            "the regular expression \(excerpt) cannot be read from "
                + "\(ExpressionConstant.quoted(ExpressionLexer.excerpt(rest))) on, at character \((taken ?? 0) + 1)",
            remedy: remedy)
    }
}

extension TextFolding {
    /// Returns a text without its diacritical marks.
    func withoutMarks(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        var result = ""
        for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
        where scalar.properties.generalCategory != .nonspacingMark {
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
