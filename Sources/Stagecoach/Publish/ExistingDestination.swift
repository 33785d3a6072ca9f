import CSQLite
import CoreDataStore
import Diagnostics
import Glibc

/// The store at the destination that is appended to, locked from the beginning of the run to its end. It is copied, and
/// replaced by the finished copy in one step. Until then it is unchanged, except that its -wal was checkpointed into the main
/// file.
final class ExistingDestination {
    private let path: String
    private let connection: Connection
    /// The descriptor from which the store is copied. It stays open as long as the lock, because closing any descriptor of a
    /// file ends the process's locks on that file.
    let descriptor: Int32
    private let status: stat

    /// Locks the store against every other process and checkpoints its -wal into the main file.
    ///
    /// - Parameters:
    ///   - path: the file itself, not a link to it.
    ///   - vfs: the VFS that opens it; it outlives the lock.
    /// - Throws: `destination.locked` (75) if another process uses it; the errors of opening a damaged store.
    init(locking path: String, vfs: String?) throws(MigrationError) {
        self.path = path
        connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE, vfs: vfs)
        // SQLite must not touch a -wal by name when the connection closes, because another store has the name by then.
        if let handle = connection.handle { _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1) }
        do throws(MigrationError) {
            try connection.execute("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
            _ = try connection.integer("SELECT count(*) FROM sqlite_master")
            try connection.execute("COMMIT")
            if try connection.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 1 { throw Self.locked(path, cause: nil) }
        } catch {
            throw error.code == "store.busy" ? Self.locked(path, cause: error) : error
        }
        descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw Self.failure("Opening", path) }
        var status = stat()
        do throws(MigrationError) {
            try Self.synchronize(descriptor, path)
            guard fstat(descriptor, &status) == 0 else { throw Self.failure("Reading", path) }
        } catch {
            close(descriptor)
            throw error
        }
        self.status = status
    }

    /// Syncs the store and its emptied -wal. Otherwise a power failure could restore the old -wal; it would be applied again,
    /// and the store would look as if it had been written since.
    private static func synchronize(_ descriptor: Int32, _ path: String) throws(MigrationError) {
        guard SystemCall.uninterrupted({ fsync(descriptor) }) == 0 else { throw failure("Syncing", path) }
        let log = path + "-wal"
        let opened = SystemCall.uninterrupted { open(log, O_RDONLY | O_CLOEXEC) }
        guard opened >= 0 else {
            if errno == ENOENT { return }
            throw failure("Opening the -wal of", path)
        }
        defer { close(opened) }
        guard SystemCall.uninterrupted({ fsync(opened) }) == 0 else { throw failure("Syncing the -wal of", path) }
    }

    deinit { release() }

    /// Numbers that identify the file and its last write, to tell whether it is the file that was copied.
    var identity: [Int64] { DestinationPath.identity(status) }

    private var isReleased = false

    /// Ends the lock.
    func release() {
        guard !isReleased else { return }
        isReleased = true
        // An error does no harm here, because nothing was written.
        try? connection.close()
        close(descriptor)
    }

    /// Copies the store to a new file, by sharing its blocks if the file system can, otherwise byte by byte.
    ///
    /// - Parameter checkCancelled: called once per MiB.
    /// - Throws: `store.full`, `store.io` (74); the error of `checkCancelled`.
    /// - Complexity: O(1) if blocks are shared, else O(bytes); 1 MiB of memory.
    func copy(to target: String, checkCancelled: () throws -> Void) throws {
        try FileCopy.copy(descriptor, of: path, to: target, checkCancelled: checkCancelled) { copy in
            // Header bytes 18 and 19 are 2 for a file in WAL mode. The copy has no -wal.
            let rollback: [UInt8] = [1, 1]
            try rollback.withUnsafeBytes { try FileCopy.write($0, to: copy, at: 18, target) }
        }
    }

    /// Replaces the old store with the finished one in one step, with the old permissions.
    ///
    /// - Throws: `destination.replaced` (75) if another file has appeared there, `destination.rename` (74).
    func replace(by finished: String) throws(MigrationError) {
        let now: stat?
        do throws(FileBytes.Failure) { now = try FileBytes.status(path, followsLinks: false) } catch {
            throw .writing("Publishing", path: path, otherwise: "destination.io", number: error.number)
        }
        guard let now, now.st_ino == status.st_ino, now.st_dev == status.st_dev else {
            throw MigrationError(
                "destination.replaced", .temporary, "Another file appeared at the destination during the run",
                remedy: "Run the command again", context: .init(path: path))
        }
        guard chmod(finished, status.st_mode & 0o7777) == 0 else { throw Self.failure("Publishing", finished) }
        // Only a privileged process can change the owner. Others already own the old file, or share its group.
        _ = chown(finished, status.st_uid, status.st_gid)
        // A second name for the old store, among the files that are removed with the work directory.
        let kept = "\(DestinationPath(path: finished).folder)/replaced.spill"
        unlink(kept)
        let isKept = link(path, kept) == 0
        guard isKept || [EPERM, EOPNOTSUPP, EMLINK].contains(errno) else { throw Self.failure("Publishing", path) }
        defer { if isKept { unlink(kept) } }
        // SQLite would apply these files to the new store. All their contents are in the old main file.
        for suffix in ["-wal", "-shm", "-journal"] where unlink(path + suffix) != 0 && errno != ENOENT {
            throw Self.failure("Removing the \(suffix) of", path)
        }
        // This also syncs the removal of a journal that SQLite has rolled back. It must not reappear beside the new store after
        // a power failure.
        try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
        guard rename(finished, path) == 0 else { throw Self.failure("Publishing", path) }
        do {
            try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
        } catch {
            // It is unknown whether the new store survives a crash. All or nothing means nothing, as long as it can be undone.
            // In a file system without hard links it cannot, so the store counts as published.
            guard isKept else { return }
            // The finished store gets its private name back, because a resumed run looks for it.
            link(path, finished)
            if rename(kept, path) == 0 { throw error }
            unlink(finished)
        }
    }

    /// Returns the error for a store that another process uses.
    static func locked(_ path: String, cause: MigrationError?) -> MigrationError {
        MigrationError(
            "destination.locked", .temporary, "Another process uses the destination",
            remedy: "Close the program that uses it and run the command again", context: .init(path: path),
            cause: cause)
    }

    private static func failure(_ doing: String, _ path: String) -> MigrationError {
        .writing("\(doing) the destination", path: path, otherwise: "destination.rename")
    }
}
