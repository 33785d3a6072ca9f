import CSQLite
import Diagnostics

/// Turns SQLite's result codes into errors that say what and where.
package enum SQLiteFailure {
    /// - Parameters:
    ///   - handle: the connection, for its message; may be nil.
    ///   - code: primary or extended result code.
    ///   - doing: what was tried, as the start of a sentence.
    ///   - path: the database.
    package static func error(_ handle: OpaquePointer?, code: Int32, doing: String, path: String) -> MigrationError {
        let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        let context = MigrationError.Context(path: path)
        func make(_ name: MigrationError.Code, _ category: MigrationError.Category, _ remedy: String? = nil)
            -> MigrationError
        {
            MigrationError(
                name, category, "\(doing) failed: \(detail) (SQLite \(code))", remedy: remedy, context: context)
        }
        if code == ResultCode.readOnlyRollback {
            return make(
                "store.hotJournal", .data,
                "A program was interrupted while writing the store. Let the program that owns it open it once, or copy "
                    + "the store with its -journal and open the copy with sqlite3, then use that")
        }
        switch code & 0xff {
        case SQLITE_NOTADB: return make("store.notADatabase", .data)
        case SQLITE_CORRUPT, SQLITE_FORMAT: return make("store.damaged", .data)
        case SQLITE_FULL: return make("store.full", .io, "Free space on the disk and run the command again")
        case SQLITE_IOERR: return make("store.io", .io)
        case SQLITE_NOMEM: return make("store.memory", .io, "Give the command a higher --memory-limit")
        case SQLITE_TOOBIG:
            return make("store.valueTooLarge", .configuration, "Give the command a higher --memory-limit")
        case SQLITE_PERM, SQLITE_AUTH, SQLITE_READONLY: return make("store.permission", .permission)
        case SQLITE_BUSY, SQLITE_LOCKED:
            return make("store.busy", .temporary, "Close the program that uses the store and run the command again")
        case SQLITE_INTERRUPT: return make("store.interrupted", .temporary)
        case SQLITE_CANTOPEN: return make("store.cannotOpen", .noInput)
        case SQLITE_CONSTRAINT: return make("store.constraint", .data)
        default: return make("store.sqlite", .internal)
        }
    }
}
