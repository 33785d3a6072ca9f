import Diagnostics

extension WorkArea {
    /// Runs work on the private store. Errors that name the private store name the destination instead, by the path that the
    /// user gave.
    ///
    /// - Parameters:
    ///   - given: the path that the user gave.
    ///   - real: the same path without links.
    func naming<Value>(_ given: String, real: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as MigrationError {
            throw naming(given, real, in: error)
        }
    }

    private func naming(_ given: String, _ real: String, in error: MigrationError) -> MigrationError {
        var error = error
        if let path = error.context.path, path.hasPrefix(OpenFolders.shown(storePath)) || path == real {
            error.context.path = given
        }
        if let cause = error.cause as? MigrationError { error.cause = naming(given, real, in: cause) }
        return error
    }
}
