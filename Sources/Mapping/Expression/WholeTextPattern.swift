import Diagnostics

/// A regular expression that a whole text has to match, for other modules: ``TextPattern``, which never backtracks.
package struct WholeTextPattern: Sendable {
    private let pattern: TextPattern

    /// Compiles a regular expression.
    ///
    /// - Throws: `expression.syntax` (78) for what is no regular expression, `expression.unsupported` (78) for what an
    ///   automaton cannot do.
    package init(_ text: String) throws(MigrationError) {
        do throws(ProgramFault) {
            pattern = try TextPattern(regularExpression: text, TextFolding([]))
        } catch {
            throw MigrationError(error.code, .configuration, error.message, remedy: error.remedy)
        }
    }

    /// Whether the pattern matches all of a text of UTF-8 bytes.
    ///
    /// - Complexity: O(text × pattern) time.
    package func matches(_ bytes: UnsafeRawBufferPointer) -> Bool { pattern.matches(bytes) }
}
