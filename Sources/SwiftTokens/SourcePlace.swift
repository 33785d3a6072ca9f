import Diagnostics

/// A place in a source.
package struct SourcePlace: Sendable, Hashable, CustomStringConvertible {
    package let file: String
    /// The line, from 1.
    package let line: Int

    package var description: String { "\(file):\(line)" }

    package init(file: String, line: Int) { (self.file, self.line) = (file, line) }

    /// Returns a refusal of what stands here.
    package func refusal(
        _ code: MigrationError.Code, _ message: String, remedy: String, entity: String? = nil, property: String? = nil
    ) -> MigrationError {
        let isKnown = !file.isEmpty
        return MigrationError(
            code, .configuration, message, remedy: remedy,
            context: .init(path: isKnown ? file : nil, line: isKnown ? line : nil, entity: entity, property: property))
    }
}
