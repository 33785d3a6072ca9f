import Diagnostics

extension MigrationError {
    /// Makes an error about a file or folder.
    init(
        _ code: Code, _ category: Category, _ message: String, remedy: String? = nil, at path: String,
        cause: (any Error)? = nil
    ) {
        self.init(code, category, message, remedy: remedy, context: .init(path: path), cause: cause)
    }
}
