import Diagnostics

/// A regular expression that must match a whole text: ``TextPattern`` for other modules.
package struct WholeTextPattern: Sendable {
    private let pattern: TextPattern

    /// Compiles a regular expression.
    ///
    /// - Throws: `expression.syntax` (78) for an invalid regular expression, `expression.unsupported` (78) for unknown forms.
    package init(_ text: String) throws(MigrationError) {
        do throws(ProgramFault) { pattern = try TextPattern(regularExpression: text, TextFolding([])) } catch {
            throw MigrationError(error.code, .configuration, error.message, remedy: error.remedy)
        }
    }

    /// Tells whether the pattern matches a whole text of UTF-8 bytes.
    ///
    /// - Throws: `expression.patternLimit` (65) if the match backtracks and takes too many steps.
    /// - Complexity: O(text × pattern) time.
    package func matches(_ bytes: UnsafeRawBufferPointer) throws(MigrationError) -> Bool {
        do throws(ProgramFault) { return try pattern.matches(bytes) } catch {
            throw error.described(.data, in: .init())
        }
    }

    /// Tells whether the pattern matches a whole text.
    ///
    /// - Throws: as ``matches(_:)``.
    package func matches(_ text: String) throws(MigrationError) -> Bool {
        do throws(ProgramFault) { return try pattern.matches(text) } catch {
            throw error.described(.data, in: .init())
        }
    }
}
