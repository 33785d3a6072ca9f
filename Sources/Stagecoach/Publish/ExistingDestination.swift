import CSQLite
import Diagnostics
import Glibc
import PersistentStore

/// The store that stands at the destination and is appended to, locked from the beginning of the run to its end: copied,
/// and replaced by the finished copy in one step. Until then it is what it was, its -wal brought into its main file.
final class ExistingDestination {
    private let path: String
    private let connection: Connection
    /// Read from while copying. It stays open as long as the lock: closing any descriptor of a file ends the process's
    /// locks on it.
    let descriptor: Int32
    private let status: stat

    /// Locks the store against every other process and brings its -wal into its main file.
    ///
    /// - Parameters:
    ///   - path: the file itself, not a link to it.
    ///   - vfs: what it is opened through; it outlives the lock.
    /// - Throws: `destination.locked` (75) where another process uses it; what opening a damaged store throws.
    init(locking path: String, vfs: String?) throws(MigrationError) {
        self.path = path
        connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE, vfs: vfs)
        // Nothing is to happen to a -wal by name when the connection closes: by then another store has the name.
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

    /// Brings the store to the disk as it is now, and that its -wal is empty: else that one would be brought in once more after
    /// a power failure, and the store would look written since.
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

    /// Which file it is and when it was written last: what tells whether it is the one that was copied.
    var identity: [Int64] {
        [
            Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size),
            Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec),
        ]
    }

    private var isReleased = false

    /// Ends the lock.
    func release() {
        guard !isReleased else { return }
        isReleased = true
        // An error here cannot hurt: nothing was written.
        try? connection.close()
        close(descriptor)
    }

    /// Copies the store to a new file: by sharing its blocks where the file system can, else byte by byte.
    ///
    /// - Parameter checkCancelled: called once a MiB.
    /// - Throws: `store.full`, `store.io` (74); what `checkCancelled` throws.
    /// - Complexity: O(1) where blocks are shared, else O(bytes); 1 MiB of memory.
    func copy(to target: String, checkCancelled: () throws -> Void) throws {
        try FileCopy.copy(descriptor, of: path, to: target, checkCancelled: checkCancelled) { copy in
            // Header bytes 18 and 19 say 2 where a -wal may stand beside the file: beside the copy none does.
            let rollback: [UInt8] = [1, 1]
            try rollback.withUnsafeBytes { try FileCopy.write($0, to: copy, at: 18, target) }
        }
    }

    /// Puts the finished store in the place of the old one, with its permissions, in one step.
    ///
    /// - Throws: `destination.replaced` (75) where another file came to stand there, `destination.rename` (74).
    func replace(by finished: String) throws(MigrationError) {
        let now: stat?
        do throws(FileBytes.Failure) { now = try FileBytes.status(path, followsLinks: false) } catch {
            throw .writing("Publishing", path: path, otherwise: "destination.io", number: error.number)
        }
        guard let now, now.st_ino == status.st_ino, now.st_dev == status.st_dev else {
            throw MigrationError(
                "destination.replaced", .temporary, "Another file came to stand at the destination during the run",
                remedy: "Run the command again", context: .init(path: path))
        }
        guard chmod(finished, status.st_mode & 0o7777) == 0 else { throw Self.failure("Publishing", finished) }
        // Only a privileged process can give a file away; others own the old one, or share its group.
        _ = chown(finished, status.st_uid, status.st_gid)
        // A second name for the old store, among the files that are removed with the work directory.
        let kept = "\(DestinationPath(path: finished).folder)/replaced.spill"
        unlink(kept)
        let isKept = link(path, kept) == 0
        guard isKept || [EPERM, EOPNOTSUPP, EMLINK].contains(errno) else { throw Self.failure("Publishing", path) }
        defer { if isKept { unlink(kept) } }
        // What SQLite would apply to the new store must not stand beside it. All of it is in the old main file.
        for suffix in ["-wal", "-shm", "-journal"] where unlink(path + suffix) != 0 && errno != ENOENT {
            throw Self.failure("Removing the \(suffix) of", path)
        }
        // A journal that SQLite has rolled back and removed, too: after a power failure it must not stand beside the new one.
        try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
        guard rename(finished, path) == 0 else { throw Self.failure("Publishing", path) }
        do {
            try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
        } catch {
            // Whether the new store survives a crash is not known: all or nothing means nothing, while that can be done.
            // A file system without hard links has published.
            guard isKept else { return }
            // The finished store gets its private name back: a run that goes on from here looks for it.
            link(path, finished)
            if rename(kept, path) == 0 { throw error }
            unlink(finished)
        }
    }

    /// The error for a store that another process uses.
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
