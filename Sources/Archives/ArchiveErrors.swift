import Diagnostics

extension MigrationError {
    /// Makes the error for an archive that violates its format: category `data`.
    ///
    /// - Parameter message: one sentence without a full stop.
    package static func archive(_ code: Code, _ message: String) -> MigrationError {
        MigrationError(code, .data, message)
    }
}
