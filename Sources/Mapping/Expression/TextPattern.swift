/// A compiled pattern of LIKE or MATCHES.
package struct TextPattern: Sendable {
    private enum Form {
        case like(LikePattern)
        case matches(ICUPattern)
    }

    /// The greatest number of characters in a pattern.
    private static let maximumLength = 10_000

    private let form: Form

    /// Compiles the pattern of LIKE or MATCHES.
    ///
    /// - Throws: `expression.syntax` for a regular expression that ICU refuses, `expression.unsupported` for a pattern that is
    ///   too long.
    init(_ text: String, _ comparison: ComparisonOperator, _ folding: TextFolding) throws(ProgramFault) {
        guard text.unicodeScalars.count <= Self.maximumLength else {
            throw .unsupported("a pattern of more than \(Self.maximumLength) characters is not taken")
        }
        form = comparison == .like ? .like(LikePattern(text, folding)) : .matches(try ICUPattern(text, folding))
    }

    /// Compiles a regular expression, in which case and diacritics count.
    ///
    /// - Throws: as ``init(_:_:_:)``.
    package init(regularExpression text: String) throws(ProgramFault) {
        try self.init(text, .matches, TextFolding([]))
    }

    /// Tells whether the pattern matches a whole text of UTF-8 bytes.
    ///
    /// - Throws: `expression.patternLimit` if a regular expression takes too many steps.
    package func matches(_ bytes: UnsafeRawBufferPointer) throws(ProgramFault) -> Bool {
        switch form {
        case .like(let pattern): pattern.matches(bytes)
        case .matches(let pattern): try pattern.matches(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Tells whether the pattern matches a whole text.
    ///
    /// - Throws: as ``matches(_:)``.
    func matches(_ text: String) throws(ProgramFault) -> Bool {
        switch form {
        case .like(let pattern):
            var text = text
            return text.withUTF8 { pattern.matches(UnsafeRawBufferPointer($0)) }
        case .matches(let pattern): return try pattern.matches(text)
        }
    }
}
