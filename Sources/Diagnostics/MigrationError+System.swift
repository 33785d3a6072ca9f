import Glibc

extension MigrationError {
    /// The error for a system call that failed while a file was written.
    ///
    /// - Parameters:
    ///   - doing: what failed, as in "Copying the store".
    ///   - code: for what is neither a full disk (`store.full`, 74) nor a missing permission (`destination.permission`,
    ///     77); an I/O error (74).
    ///   - number: the call's `errno`.
    package static func writing(
        _ doing: String, path: String, otherwise code: Code, number: Int32 = errno
    ) -> MigrationError {
        let message = "\(doing) failed: \(String(cString: strerror(number)))"
        let context = Context(path: path)
        switch number {
        case ENOSPC, EDQUOT:
            return MigrationError(
                "store.full", .io, message, remedy: "Free space on the disk and run the command again",
                context: context)
        case EACCES, EPERM:
            return MigrationError("destination.permission", .permission, message, context: context)
        default: return MigrationError(code, .io, message, context: context)
        }
    }
}
