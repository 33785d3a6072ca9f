import Diagnostics

/// The error that a body throws; nil if it succeeds or throws something else.
package func failure(_ body: () throws -> Void) -> MigrationError? {
    do {
        try body()
        return nil
    } catch { return error as? MigrationError }
}

/// Returns the error of a body if it is no ``MigrationError``. Damaged input may give a value or such an error only.
package func foreignError(_ body: () throws -> Void) -> (any Error)? {
    do {
        try body()
        return nil
    } catch { return error is MigrationError ? nil : error }
}
