import CSQLite
import Diagnostics
import Glibc
import Synchronization

/// Converts SQLite's result codes into errors that name the operation and the place.
package enum SQLiteFailure {
    /// - Parameters:
    ///   - handle: the connection, for its message; may be nil.
    ///   - code: a primary or extended result code.
    ///   - doing: the operation, as the start of a sentence.
    ///   - path: the path of the database.
    package static func error(_ handle: OpaquePointer?, code: Int32, doing: String, path: String) -> MigrationError {
        // If a file cannot be opened, SQLite's message names its path, which may be an internal one.
        let message = handle.map { String(cString: sqlite3_errmsg($0)) }
        let isUnopened = code & 0xff == SQLITE_CANTOPEN || message?.hasPrefix("unable to open database: ") ?? false
        let named = isUnopened ? nil : message
        // SQLite describes a moved file like one that may not be written.
        let said = code == ResultCode.moved ? "the file was moved or removed meanwhile" : named
        let detail = said ?? String(cString: sqlite3_errstr(code))
        let context = MigrationError.Context(path: path)
        let system = systemNumber(handle, code)
        let full = NoRoom(system)
        let reason = system == 0 ? "" : ": \(full?.reason ?? String(cString: strerror(system)))"
        func make(_ name: MigrationError.Code, _ category: MigrationError.Category, _ remedy: String? = nil)
            -> MigrationError
        {
            MigrationError(
                name, category, "\(doing) failed: \(detail)\(reason) (SQLite \(code))", remedy: remedy, context: context
            )
        }
        if let full { return make("store.full", .io, full.remedy) }
        if code == ResultCode.readOnlyRollback {
            return make(
                "store.hotJournal", .data,
                "A program was interrupted while writing the store. Let the program that owns it open it once, or copy "
                    + "the store with its -journal and open the copy with sqlite3, then use that")
        }
        if code == ResultCode.moved {
            return make("store.moved", .io, "Leave the file alone while the command runs, and run the command again")
        }
        switch code & 0xff {
        // SQLite takes an error of reading for damage.
        case SQLITE_CORRUPT where system == EIO: return make("store.io", .io)
        case SQLITE_NOTADB: return make("store.notADatabase", .data)
        case SQLITE_CORRUPT, SQLITE_FORMAT: return make("store.damaged", .data)
        case SQLITE_FULL: return make("store.full", .io, NoRoom(ENOSPC)?.remedy)
        case SQLITE_IOERR: return make("store.io", .io)
        case SQLITE_NOMEM: return make("store.memory", .io, "Give the command a higher --memory-limit")
        case SQLITE_TOOBIG:
            return make("store.valueTooLarge", .configuration, "Give the command a higher --memory-limit")
        case SQLITE_PERM, SQLITE_AUTH, SQLITE_READONLY: return make("store.permission", .permission)
        case SQLITE_BUSY, SQLITE_LOCKED:
            return make("store.busy", .temporary, "Close the program that uses the store and run the command again")
        case SQLITE_INTERRUPT: return make("store.interrupted", .temporary)
        case SQLITE_CANTOPEN:
            switch system {
            case EACCES, EPERM, EROFS: return make("store.permission", .permission)
            case 0, ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: return make("store.cannotOpen", .noInput)
            default: return make("store.cannotOpen", .io)
            }
        case SQLITE_CONSTRAINT: return make("store.constraint", .data)
        default: return make("store.sqlite", .internal)
        }
    }

    /// Returns the `errno` behind an I/O failure; 0 if none is known.
    private static func systemNumber(_ handle: OpaquePointer?, _ code: Int32) -> Int32 {
        guard let handle else { return 0 }
        let kind = code & 0xff
        guard [SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_CORRUPT].contains(kind) else { return 0 }
        let noted = FailedCall.take()
        // SQLite distinguishes this case itself, without storing a number.
        if kind == SQLITE_FULL { return noted == 0 ? ENOSPC : noted }
        if kind != SQLITE_CORRUPT, noted != 0 { return noted }
        if noted == EIO { return EIO }
        var number: Int32 = 0
        if kind != SQLITE_CANTOPEN {
            _ = sqlite3_file_control(handle, "main", SQLITE_FCNTL_LAST_ERRNO, &number)
            if kind == SQLITE_CORRUPT { return number == EIO ? EIO : 0 }
        }
        return number != 0 ? number : sqlite3_system_errno(handle)
    }
}

/// The `errno` of the last failed file call below SQLite. SQLite's result codes do not contain it, and later calls overwrite
/// `errno` before the code is examined.
enum FailedCall {
    private static let last = Atomic<Int32>(0)

    /// Stores the number if a function of a VFS failed.
    ///
    /// - Returns: the code, for the function to return.
    static func note(_ code: Int32, number: Int32 = errno) -> Int32 {
        if code != SQLITE_OK, code != ResultCode.shortRead { last.store(number, ordering: .relaxed) }
        return code
    }

    /// Returns the stored number and clears it; 0 if none was stored.
    static func take() -> Int32 { last.exchange(0, ordering: .relaxed) }
}

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
