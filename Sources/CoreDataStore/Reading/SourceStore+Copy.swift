import CSQLite

extension SourceStore {
    /// Copies the state of the snapshot to a new file that needs no `-wal`. The store, its `-wal` and `-shm` are only read.
    ///
    /// - Parameters:
    ///   - target: the path of the copy, where neither a file nor its `-wal` exists.
    ///   - checkCancelled: called once a MiB.
    /// - Throws: `store.moved` (75) if another process wrote meanwhile; `store.full`, `store.io` (74); the errors of
    ///   `checkCancelled`. Files may then be left at the target.
    /// - Complexity: O(1) if blocks are shared, else O(bytes); O(frames) of the `-wal`.
    package func copy(to target: String, checkCancelled: () throws -> Void) throws {
        // The permissions are kept, because a migration of the copy passes them on.
        try FileCopy.copy(path, to: target, keepsPermissions: true, checkCancelled: checkCancelled)
        if fingerprint.lastCommitFrame > 0 {
            try FileCopy.copy(path + "-wal", to: target + "-wal", checkCancelled: checkCancelled)
        }
        try checkUnchanged()
        // Merges the -wal, and records in the header that the file has none.
        let copy = try Connection(path: target, flags: SQLITE_OPEN_READWRITE)
        try copy.execute("PRAGMA journal_mode=DELETE")
        try copy.close()
    }
}
