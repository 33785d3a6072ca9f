import Glibc

extension MigrationError {
    /// The error for a system call that failed while a file was written.
    ///
    /// - Parameters:
    ///   - doing: the failed action, such as "Copying the store".
    ///   - code: the code for other errors than those of ``NoRoom`` (`store.full`, 74) and a missing permission
    ///     (`destination.permission`, 77); such an error is an I/O error (74).
    ///   - number: the `errno` of the call.
    package static func writing(
        _ doing: String, path: String, otherwise code: Code, number: Int32 = errno
    ) -> MigrationError {
        let context = Context(path: path)
        if let full = NoRoom(number) {
            return MigrationError(
                "store.full", .io, "\(doing) failed: \(full.reason)", remedy: full.remedy, context: context)
        }
        let message = "\(doing) failed: \(String(cString: strerror(number)))"
        switch number {
        case EACCES, EPERM:
            return MigrationError("destination.permission", .permission, message, context: context)
        default: return MigrationError(code, .io, message, context: context)
        }
    }
}
