import CSQLite
import DatabasePages
import Diagnostics
import Glibc

/// The VFS through which every byte of a source is read. The main file and `-wal` are opened read-only, every write fails, the
/// wal-index is in heap memory, and nothing is created, changed or touched beside the store.
///
/// Connections must be opened with SQLITE_OPEN_READONLY and set `PRAGMA locking_mode=EXCLUSIVE` before their first read: only
/// in that mode SQLite keeps the wal-index in heap memory without shared memory (8 bytes a frame).
/// ``Connection/openSource(path:vfs:)`` does both.
///
/// One instance is registered under ``fixedName``, and keeps SQLite's temporary data in memory. An instance with a directory
/// for temporary files has a name of its own and is unregistered by ``close()``.
package final class SourceVFS: RegisteredVFS, @unchecked Sendable {
    /// The name of the instance without temporary files.
    package static let fixedName = "stagecoach-source"

    /// The instance without temporary files. It is registered at first use and never closed.
    package static let standard = SourceVFS(name: fixedName, temporaryDirectory: nil)

    /// The directory for SQLite's sorts that spill; nil for none.
    package let temporaryDirectory: String?
    /// The number of bytes written to temporary files.
    package let written = WriteCounter()

    /// Makes a VFS with its temporary files in a directory. They are unlinked at once.
    package convenience init(temporaryDirectory: String) {
        self.init(name: Self.freshName(Self.fixedName), temporaryDirectory: temporaryDirectory)
    }

    private init(name: String, temporaryDirectory: String?) {
        self.temporaryDirectory = temporaryDirectory
        var table = DelegatingVFS.make()
        table.szOsFile = Int32(max(SourceFile.structureSize, CountedFile.structureSize))
        table.xOpen = { vfs, name, file, flags, outFlags in
            guard let this = SourceVFS.of(vfs), let file else { return SQLITE_CANTOPEN }
            file.pointee.pMethods = nil
            return this.open(name, file, flags, outFlags)
        }
        table.xDelete = { _, _, _ in ResultCode.deleteError }
        table.xAccess = { _, name, flags, result in
            guard let name, let result else { return SQLITE_IOERR }
            guard let exists = SourceVFS.access(name, flags) else { return FailedCall.note(ResultCode.accessError) }
            result.pointee = exists ? 1 : 0
            return SQLITE_OK
        }
        super.init(name: name, table)
    }

    private func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let name else {
            guard let temporaryDirectory else { return SQLITE_CANTOPEN }
            outFlags?.pointee = flags
            return CountedFile.openTemporary(file, in: temporaryDirectory, flags, counter: written)
        }
        let kinds = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL
        let kind = flags & kinds
        // Any other named file would be beside the store.
        guard kind != 0 else { return SQLITE_CANTOPEN }
        let descriptor = PosixFile.openReadOnly(name)
        if descriptor >= 0 {
            // Rows are read in key order, which is almost the order of the pages.
            if kind != SQLITE_OPEN_MAIN_JOURNAL { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }
        } else if kind != SQLITE_OPEN_WAL || errno != ENOENT {
            return FailedCall.note(SQLITE_CANTOPEN)
        }
        SourceFile.initialize(file, descriptor: descriptor)
        outFlags?.pointee = SQLITE_OPEN_READONLY | kind
        return SQLITE_OK
    }

    /// Tells whether a file exists, in the sense of SQLite's own VFS: an empty file does not. A rollback journal exists only if
    /// it begins with a journal's magic number: SQLite plays back no other, so no other makes the state of the store
    /// incomplete.
    ///
    /// - Returns: nil if the system call fails; `errno` has the reason.
    private static func access(_ name: UnsafePointer<CChar>, _ flags: Int32) -> Bool? {
        if flags == SQLITE_ACCESS_READWRITE { return false }
        var status = stat()
        guard stat(name, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR ? false : nil }
        guard status.st_size > 0 else { return false }
        let length = strlen(name)
        guard length > 8, strcmp(name + (length - 8), "-journal") == 0 else { return true }
        let descriptor = PosixFile.openReadOnly(name)
        // Unreadable: SQLite should try, fail and report it.
        guard descriptor >= 0 else { return true }
        defer { Glibc.close(descriptor) }
        var head: UInt64 = 0
        guard PosixFile.read(descriptor, into: &head, count: 8, at: 0) == 8 else { return false }
        return UInt64(bigEndian: head) == journalMagic
    }

    private static let journalMagic: UInt64 = 0xd9d5_05f9_20a1_63d7
}

extension Connection {
    /// Opens a source through ``SourceVFS``: read-only, wal-index in heap memory, no checkpoint on close.
    ///
    /// - Parameters:
    ///   - path: the main file of the store, with symbolic links resolved.
    ///   - vfs: the VFS to read through.
    /// - Throws: the error of ``SQLiteFailure/error(_:code:doing:path:)`` for SQLite's code.
    package static func openSource(path: String, vfs: SourceVFS) throws(MigrationError) -> Connection {
        let connection = try Connection(
            path: path, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, vfs: vfs.name,
            keeping: vfs)
        guard let handle = connection.handle else { return connection }
        _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        // Old schemas may have double-quoted strings in an index, which is no reason to refuse the store.
        _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 1)
        // Waits two seconds in steps of 25 ms, each reported to the progress display of the thread's run.
        sqlite3_busy_handler(
            handle,
            { _, attempts in
                guard attempts < 80 else { return 0 }
                WaitBoard.current?.tell(.sourceLock)
                usleep(25_000)
                return 1
            }, nil)
        // Before the first read, because this mode keeps the wal-index out of shared memory.
        try connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        return connection
    }
}
