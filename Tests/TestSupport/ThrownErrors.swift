import Diagnostics

/// The error that a body throws; nil where it succeeds or throws something else.
package func failure(_ body: () throws -> Void) -> MigrationError? {
    do {
        try body()
        return nil
    } catch { return error as? MigrationError }
}

/// What a body throws where it is no ``MigrationError``: damaged input may give a value or one of those, nothing else.
package func foreignError(_ body: () throws -> Void) -> (any Error)? {
    do {
        try body()
        return nil
    } catch { return error is MigrationError ? nil : error }
}
