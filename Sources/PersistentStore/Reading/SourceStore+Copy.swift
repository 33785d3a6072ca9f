import CSQLite
import Diagnostics

extension SourceStore {
    /// Copies the state that is read to a new file that needs no `-wal`. The store, its `-wal` and `-shm` are only read.
    ///
    /// - Parameters:
    ///   - target: nothing stands there, nor a `-wal` of its name.
    ///   - checkCancelled: called once a MiB.
    /// - Throws: `store.moved` (75) where somebody wrote meanwhile; `store.full`, `store.io` (74); what
    ///   `checkCancelled` throws. Files may stand at the target then.
    /// - Complexity: O(1) where blocks are shared, else O(bytes); O(frames) of the `-wal`.
    package func copy(to target: String, checkCancelled: () throws -> Void) throws {
        // A migration of the copy gives the permissions on.
        try FileCopy.copy(path, to: target, keepsPermissions: true, checkCancelled: checkCancelled)
        if fingerprint.lastCommitFrame > 0 {
            try FileCopy.copy(path + "-wal", to: target + "-wal", checkCancelled: checkCancelled)
        }
        try checkUnchanged()
        // Brings the -wal in, and says in the header that none stands beside the file.
        let copy = try Connection(path: target, flags: SQLITE_OPEN_READWRITE)
        try copy.execute("PRAGMA journal_mode=DELETE")
        try copy.close()
    }
}
