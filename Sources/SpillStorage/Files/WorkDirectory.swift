import Diagnostics
import Glibc
import Synchronization

/// The one folder in which a run keeps its spill files, locked for the run's life.
///
/// The lock is an `flock` on the file `lock` in the folder: it ends with the process, however that ends. Whoever gets
/// the lock removes the spill files (`*.spill`) that a killed run left behind; other files are not touched.
///
/// Files that a state of a run names (``SpillFile/save(to:)``) outlive the process: what of them is given up is removed once
/// two later states stand, because a killed run may be gone on from either of the last two.
/// Memory: a path and four counters; the names of files that were given up lately.
package final class WorkDirectory: Sendable {
    /// The folder's path.
    package let path: String
    package let calls: any FileCalls
    private let lockDescriptor: Atomic<Int32>
    private let ownsFolder: Bool
    private let names = Atomic<Int>(0)
    private let written = Atomic<Int>(0)
    private let held = Atomic<Int>(0)
    private let saved = Mutex(SavedFiles())

    /// Bytes ever written to spill files.
    package var bytesWritten: Int { written.load(ordering: .relaxed) }
    /// Bytes that the spill files hold now.
    package var bytesHeld: Int { held.load(ordering: .relaxed) }
    /// Spill files ever made.
    package var filesMade: Int { names.load(ordering: .relaxed) }

    /// Creates the folder (mode 0700) where it is missing, locks it, and clears it of a killed run's spill files.
    ///
    /// - Throws: `destination.busy` (75) when another run holds the lock; `work.create` (73) or `spill.permission` (77)
    ///   when the folder or its lock cannot be made; `spill.io` (74).
    ///
    /// - Parameter keepsFiles: whether a killed run's spill files stay until ``removeUnclaimed()`` or
    ///   ``removeSpillFiles()``.
    package convenience init(path: String, keepsFiles: Bool = false) throws(MigrationError) {
        try self.init(path: path, calls: SystemFileCalls(), keepsFiles: keepsFiles)
    }

    /// The same with system calls of the caller's choice.
    package init(path: String, calls: any FileCalls, keepsFiles: Bool = false) throws(MigrationError) {
        let (descriptor, isOwn) = try Self.takeFolder(path, calls: calls)
        self.path = path
        self.calls = calls
        lockDescriptor = Atomic(descriptor)
        ownsFolder = isOwn
        if keepsFiles {
            let left = spillFiles
            saved.withLock { $0.left = left }
            // New files get numbers that none has.
            let last =
                left.compactMap { name in
                    name.split(separator: ".").first.flatMap { Int($0.split(separator: "-").last ?? "") }
                }.max() ?? 0
            names.store(last, ordering: .relaxed)
        } else {
            try removeSpillFiles()
        }
    }

    deinit {
        let descriptor = lockDescriptor.load(ordering: .relaxed)
        if descriptor >= 0 { _ = calls.close(descriptor) }
    }

    /// A path for a new spill file, unlike every other of this run: `<folder>/<name>-<number>.spill`.
    package func file(named name: String) -> String {
        let number = names.add(1, ordering: .relaxed).newValue
        return "\(path)/\(name)-\(number).spill"
    }

    /// Deletes the spill files and the lock, and the folder where this run or a killed one made it and it is empty.
    ///
    /// - Throws: `spill.io` (74), `spill.permission` (77) when a file stays.
    ///
    /// - Parameter keepsFiles: whether the spill files stay, for a run that goes on from here.
    package func remove(keepsFiles: Bool = false) throws(MigrationError) {
        if !keepsFiles { try removeSpillFiles() }
        let descriptor = lockDescriptor.exchange(-1, ordering: .relaxed)
        guard descriptor >= 0 else { return }
        let unlinked = calls.unlink(path + "/lock")
        _ = calls.close(descriptor)
        guard unlinked == 0 || unlinked == -Int(ENOENT) else {
            throw SpillFailure.system("remove", path + "/lock", number: -unlinked)
        }
        guard ownsFolder else { return }
        let removed = calls.removeDirectory(path)
        guard removed == 0 || removed == -Int(ENOTEMPTY) || removed == -Int(EEXIST) || removed == -Int(ENOENT) else {
            throw SpillFailure.system("remove", path, number: -removed)
        }
    }

    /// Counts bytes that a spill file gained.
    package func count(written bytes: Int) {
        written.add(bytes, ordering: .relaxed)
        held.add(bytes, ordering: .relaxed)
    }

    /// Counts bytes of a spill file that is gone.
    package func count(released bytes: Int) { held.subtract(bytes, ordering: .relaxed) }

    /// Deletes all spill files.
    ///
    /// - Throws: `spill.io` (74), `spill.permission` (77) when a file stays.
    package func removeSpillFiles() throws(MigrationError) { try remove(spillFiles) }

    /// Files of a run, with the journals of those that SQLite writes.
    private var spillFiles: [String] {
        (calls.names(in: path) ?? []).filter { $0.hasSuffix(".spill") || $0.hasSuffix(".spill-journal") }
    }

    private func remove(_ names: [String]) throws(MigrationError) {
        for name in names {
            let result = calls.unlink(path + "/" + name)
            guard result == 0 || result == -Int(ENOENT) else {
                throw SpillFailure.system("remove", path + "/" + name, number: -result)
            }
        }
    }

    // MARK: - Files that outlive the process

    /// What is to be done about files that states name.
    private struct SavedFiles {
        /// Files in which bytes stand that were not brought to the disk.
        var unsynced: Set<String> = []
        /// Files of a killed run.
        var left: [String] = []
        /// Those of them that were opened again.
        var claimed: Set<String> = []
        /// What was given up since the last state, and between the one before and that one.
        var released: [Release] = []
        var older: [Release] = []
    }

    /// What is of no use any more.
    package enum Release: Sendable {
        case file(String)
        /// Bytes of a file.
        case bytes(String, from: Int, count: Int)
    }

    /// Notes that a state names a file, in which bytes were written.
    func noteSaved(_ name: String) { saved.withLock { _ = $0.unsynced.insert(name) } }

    /// Notes that a file of a killed run is in use again.
    package func claim(_ name: String) { saved.withLock { _ = $0.claimed.insert(name) } }

    /// Takes a file, or a part of it, that a state names and that nobody reads any more.
    package func release(_ release: Release) { saved.withLock { $0.released.append(release) } }

    /// Removes the spill files of a killed run that nothing opened again.
    ///
    /// - Throws: `spill.io` (74), `spill.permission` (77) when a file stays.
    package func removeUnclaimed() throws(MigrationError) {
        let unclaimed = saved.withLock { saved in saved.left.filter { !saved.claimed.contains($0) } }
        try remove(unclaimed)
    }

    /// A state was taken that is about to be written down: gives what brings its files to the disk, and what removes files
    /// of no use once the state stands there. Both may be called from another thread.
    package func saveState() -> (
        synchronize: @Sendable () throws(MigrationError) -> Void, settle: @Sendable () -> Void
    ) {
        let (names, due) = saved.withLock { saved in
            let taken = (saved.unsynced, saved.older)
            saved.unsynced = []
            saved.older = saved.released
            saved.released = []
            return taken
        }
        let (path, calls) = (path, calls)
        return (
            { () throws(MigrationError) in
                for name in names.sorted() { try Self.synchronize(path + "/" + name, calls, O_RDWR) }
                if !names.isEmpty { try Self.synchronize(path, calls, O_RDONLY | O_DIRECTORY) }
            },
            {
                for release in due {
                    switch release {
                    case .file(let name): _ = calls.unlink(path + "/" + name)
                    case .bytes(let name, let offset, let count):
                        let opened = calls.open(path + "/" + name, flags: O_RDWR | O_CLOEXEC, mode: 0)
                        guard opened >= 0 else { continue }
                        _ = calls.discard(Int32(truncatingIfNeeded: opened), at: offset, count: count)
                        _ = calls.close(Int32(truncatingIfNeeded: opened))
                    }
                }
            }
        )
    }

    private static func synchronize(
        _ path: String, _ calls: any FileCalls, _ flags: Int32
    ) throws(MigrationError) {
        let opened = calls.openUninterrupted(path, flags: flags | O_CLOEXEC)
        guard opened >= 0 else { throw SpillFailure.system("open", path, number: -opened) }
        let descriptor = Int32(truncatingIfNeeded: opened)
        defer { _ = calls.close(descriptor) }
        let result = calls.syncUninterrupted(descriptor)
        // Some file systems cannot sync a folder; then there is nothing to wait for.
        guard result == 0 || result == -Int(EINVAL) else {
            throw SpillFailure.system("write", path, number: -result)
        }
    }

    /// How often a folder or a lock is tried for that another run takes away meanwhile.
    private static let attempts = 16

    /// Makes the folder where it is missing, and locks it.
    ///
    /// - Returns: the lock, and whether the folder is of this run's making or a killed one's.
    private static func takeFolder(
        _ path: String, calls: any FileCalls
    ) throws(MigrationError) -> (descriptor: Int32, isOwn: Bool) {
        // A run that ends removes the folder, also one that this run has just made and not locked yet.
        for _ in 0..<attempts {
            let made = calls.makeDirectory(path, mode: 0o700)
            guard made == 0 || made == -Int(EEXIST) else { throw cannotCreate(path, number: -made) }
            do throws(MigrationError) {
                let hadLock = try identity(path + "/lock", calls) != nil
                if let lock = try takeLock(path, calls: calls) { return (lock, made == 0 || hadLock) }
            } catch {
                if made == 0 { _ = calls.removeDirectory(path) }
                throw error
            }
        }
        throw cannotCreate(path, number: Int(ENOENT))
    }

    /// - Returns: nil where the folder is gone.
    private static func takeLock(_ path: String, calls: any FileCalls) throws(MigrationError) -> Int32? {
        let lockPath = path + "/lock"
        // A run that ends unlinks its lock file: whoever had opened it before then holds a lock on a file without a
        // name. So the name is looked up again after locking, a few times at most.
        for _ in 0..<attempts {
            let opened = calls.open(lockPath, flags: O_RDWR | O_CREAT | O_CLOEXEC, mode: 0o600)
            if opened == -Int(EINTR) { continue }
            if opened == -Int(ENOENT) { return nil }
            guard opened >= 0 else { throw cannotCreate(path, number: -opened) }
            let descriptor = Int32(truncatingIfNeeded: opened)
            var locked = calls.lock(descriptor)
            while locked == -Int(EINTR) { locked = calls.lock(descriptor) }
            guard locked == 0 else {
                _ = calls.close(descriptor)
                if locked == -Int(EWOULDBLOCK) { break }
                throw SpillFailure.system("lock", lockPath, number: -locked)
            }
            do throws(FileBytes.Failure) {
                if try calls.identity(of: descriptor) == calls.identity(atPath: lockPath) { return descriptor }
            } catch {
                _ = calls.close(descriptor)
                throw SpillFailure.system("look up", lockPath, number: Int(error.number))
            }
            _ = calls.close(descriptor)
        }
        throw MigrationError(
            "destination.busy", .temporary, "another run holds the work directory",
            remedy: "Wait for it to end, then run again", context: MigrationError.Context(path: path))
    }

    private static func identity(
        _ path: String, _ calls: any FileCalls
    ) throws(MigrationError) -> FileIdentity? {
        do throws(FileBytes.Failure) { return try calls.identity(atPath: path) } catch {
            throw SpillFailure.system("look up", path, number: Int(error.number))
        }
    }

    private static func cannotCreate(_ path: String, number: Int) -> MigrationError {
        let system = SpillFailure.system("create", path, number: number)
        guard system.category == .io, system.code != "spill.full" else { return system }
        return MigrationError(
            "work.create", .cannotCreate,
            "cannot create the work directory: \(String(cString: strerror(Int32(truncatingIfNeeded: number))))",
            remedy: "Name a folder whose parent exists with --work-dir", context: MigrationError.Context(path: path))
    }
}
