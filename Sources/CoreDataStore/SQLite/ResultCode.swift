import CSQLite

/// SQLite's extended result codes, whose macros Swift does not import.
enum ResultCode {
    static let readError = SQLITE_IOERR | (1 << 8)
    static let shortRead = SQLITE_IOERR | (2 << 8)
    static let writeError = SQLITE_IOERR | (3 << 8)
    static let truncateError = SQLITE_IOERR | (6 << 8)
    static let statError = SQLITE_IOERR | (7 << 8)
    static let deleteError = SQLITE_IOERR | (10 << 8)
    static let accessError = SQLITE_IOERR | (13 << 8)
    /// The file to delete does not exist.
    static let deletesNothing = SQLITE_IOERR | (23 << 8)
    static let lockError = SQLITE_IOERR | (15 << 8)
    /// A hot rollback journal exists for a file that may not be written.
    static let readOnlyRollback = SQLITE_READONLY | (3 << 8)
    /// The file of a database is no longer at the path where it was opened.
    static let moved = SQLITE_READONLY | (4 << 8)
}
