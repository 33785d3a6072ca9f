import Diagnostics

/// A regular expression that a whole text has to match, for other modules: ``TextPattern``.
package struct WholeTextPattern: Sendable {
    private let pattern: TextPattern

    /// Compiles a regular expression.
    ///
    /// - Throws: `expression.syntax` (78) for what is no regular expression, `expression.unsupported` (78) for
    ///   forms that are not known.
    package init(_ text: String) throws(MigrationError) {
        do throws(ProgramFault) {
            pattern = try TextPattern(regularExpression: text, TextFolding([]))
        } catch {
            throw MigrationError(error.code, .configuration, error.message, remedy: error.remedy)
        }
    }

    /// Whether the pattern matches all of a text of UTF-8 bytes.
    ///
    /// - Throws: `expression.patternLimit` (65) where a pattern that has to backtrack takes too many steps.
    /// - Complexity: O(text × pattern) time.
    package func matches(_ bytes: UnsafeRawBufferPointer) throws(MigrationError) -> Bool {
        do throws(ProgramFault) { return try pattern.matches(bytes) } catch {
            throw error.described(.data, in: .init())
        }
    }

    /// Whether the pattern matches all of a text.
    ///
    /// - Throws: as ``matches(_:)``.
    package func matches(_ text: String) throws(MigrationError) -> Bool {
        do throws(ProgramFault) { return try pattern.matches(text) } catch {
            throw error.described(.data, in: .init())
        }
    }
}
