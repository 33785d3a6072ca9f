import Diagnostics
import Glibc
import Synchronization

/// The folder in which a run keeps its spill files, locked for the run's life.
///
/// The lock is an `flock` on the file `lock` in the folder; it ends with the process, even after a kill. The run that gets the
/// lock removes the spill files (`*.spill`) of a killed run. It touches no other files.
///
/// Files that a saved state names (``SpillFile/save(to:)``) outlive the process. A run may be resumed from either of its last
/// two states. So a released file or range is removed only after two later states were written.
///
/// Memory: a path and four counters; the names of files that were released lately.
package final class WorkDirectory: Sendable {
    /// The folder's path.
    package var path: String { folder.path }
    /// The path for the files in it, which leads to this folder even if another one takes its name.
    package var inside: String { folder.inside }
    private let folder: OwnFolder
    package let calls: any FileCalls
    private let lockDescriptor: Atomic<Int32>
    private let ownsFolder: Bool
    private let names = Atomic<Int>(0)
    private let written = Atomic<Int>(0)
    private let held = Atomic<Int>(0)
    private let saved = Mutex(SavedFiles())

    /// The number of bytes ever written to spill files.
    package var bytesWritten: Int { written.load(ordering: .relaxed) }
    /// The number of bytes that the spill files hold now.
    package var bytesHeld: Int { held.load(ordering: .relaxed) }

    /// Creates the folder (mode 0700) if it is missing, locks it, and removes a killed run's spill files.
    ///
    /// - Parameters:
    ///   - keepsFiles: true to keep a killed run's spill files until ``removeUnclaimed()`` or ``removeSpillFiles()``.
    ///   - elsewhere: as in ``OwnFolder``.
    /// - Throws: `destination.busy` (75) if another run holds the lock; `work.create` (73) or `spill.permission` (77) if the
    ///   folder or its lock cannot be made; `folder.foreign` (77) if another user could change what is in it; `spill.io` (74).
    package init(
        path: String, calls: any FileCalls = SystemFileCalls(), keepsFiles: Bool = false,
        elsewhere: String = "name another folder with --work-dir"
    ) throws(MigrationError) {
        let taken = try Self.takeFolder(path, calls: calls, elsewhere)
        folder = taken.folder
        self.calls = calls
        lockDescriptor = Atomic(taken.lock)
        ownsFolder = taken.isOwn
        if keepsFiles {
            let left = spillFiles
            saved.withLock { $0.left = left }
            // New files get numbers that no file of the killed run has.
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

    /// Returns a path for a new spill file, unique in this run: `<folder>/<name>-<number>.spill`.
    package func file(named name: String) -> String {
        let number = names.add(1, ordering: .relaxed).newValue
        return "\(inside)/\(name)-\(number).spill"
    }

    /// Deletes the spill files and the lock. Deletes the folder too, if this run or a killed one made it and it is empty.
    ///
    /// - Parameter keepsFiles: true to keep the spill files, for a run that resumes from here.
    /// - Throws: `spill.io` (74), `spill.permission` (77) if a file stays.
    package func remove(keepsFiles: Bool = false) throws(MigrationError) {
        if !keepsFiles { try removeSpillFiles() }
        let descriptor = lockDescriptor.exchange(-1, ordering: .relaxed)
        guard descriptor >= 0 else { return }
        let unlinked = calls.unlink(inside + "/lock")
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

    /// Counts bytes that were added to a spill file.
    package func count(written bytes: Int) {
        written.add(bytes, ordering: .relaxed)
        held.add(bytes, ordering: .relaxed)
    }

    /// Counts bytes of a spill file that were removed.
    package func count(released bytes: Int) { held.subtract(bytes, ordering: .relaxed) }

    /// Deletes all spill files.
    ///
    /// - Throws: `spill.io` (74), `spill.permission` (77) if a file stays.
    package func removeSpillFiles() throws(MigrationError) { try remove(spillFiles) }

    /// The names of the spill files, and of the journals of those that SQLite writes.
    private var spillFiles: [String] {
        (calls.names(in: inside) ?? []).filter { $0.hasSuffix(".spill") || $0.hasSuffix(".spill-journal") }
    }

    private func remove(_ names: [String]) throws(MigrationError) {
        for name in names {
            let result = calls.unlink(inside + "/" + name)
            guard result == 0 || result == -Int(ENOENT) else {
                throw SpillFailure.system("remove", path + "/" + name, number: -result)
            }
        }
    }

    // MARK: - Files that outlive the process

    /// The pending work on files that saved states name.
    private struct SavedFiles {
        /// Files with bytes that were not synced yet.
        var unsynced: Set<String> = []
        /// Spill files of a killed run.
        var left: [String] = []
        /// Files of the killed run that were opened again.
        var claimed: Set<String> = []
        /// Files and ranges released since the last state; below, those released between the state before and that one.
        var released: [Release] = []
        var older: [Release] = []
    }

    /// A file or range that is not needed any more.
    package enum Release: Sendable {
        case file(String)
        /// A range of bytes in a file.
        case bytes(String, from: Int, count: Int)
    }

    /// Notes that a state names a file with bytes that were not synced yet.
    func noteSaved(_ name: String) { saved.withLock { _ = $0.unsynced.insert(name) } }

    /// Notes that a file of a killed run is in use again.
    package func claim(_ name: String) { saved.withLock { _ = $0.claimed.insert(name) } }

    /// Takes over a file, or a range of one, that a state names and that nobody reads any more.
    package func release(_ release: Release) { saved.withLock { $0.released.append(release) } }

    /// Removes the spill files of a killed run that nothing opened again.
    ///
    /// - Throws: `spill.io` (74), `spill.permission` (77) if a file stays.
    package func removeUnclaimed() throws(MigrationError) {
        let unclaimed = saved.withLock { saved in saved.left.filter { !saved.claimed.contains($0) } }
        try remove(unclaimed)
    }

    /// Prepares a state that is about to be written.
    ///
    /// - Returns: `synchronize`, to call before the state is written: it syncs the files that the state names; `removeUnneeded`,
    ///   to call after: it removes files that no state needs any more. Both may be called from another thread.
    package func saveState() -> (
        synchronize: @Sendable () throws(MigrationError) -> Void, removeUnneeded: @Sendable () -> Void
    ) {
        let (names, due) = saved.withLock { saved in
            let taken = (saved.unsynced, saved.older)
            saved.unsynced = []
            saved.older = saved.released
            saved.released = []
            return taken
        }
        let (folder, calls) = (folder, calls)
        return (
            { () throws(MigrationError) in
                for name in names.sorted() { try Self.synchronize(folder.inside + "/" + name, calls, O_RDWR) }
                if !names.isEmpty { try Self.synchronize(folder.inside, calls, O_RDONLY | O_DIRECTORY) }
            },
            {
                for release in due {
                    switch release {
                    case .file(let name): _ = calls.unlink(folder.inside + "/" + name)
                    case .bytes(let name, let offset, let count):
                        let opened = calls.open(folder.inside + "/" + name, flags: O_RDWR | O_CLOEXEC, mode: 0)
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
        // Some file systems cannot sync a folder (EINVAL); then there is nothing to wait for.
        guard result == 0 || result == -Int(EINVAL) else {
            throw SpillFailure.system("write", path, number: -result)
        }
    }

    /// The number of attempts to get a folder and a lock that another run may remove meanwhile.
    private static let attempts = 16

    /// Creates the folder if it is missing, and locks it.
    ///
    /// - Returns: the folder, the lock's descriptor, and whether this run or a killed one made the folder.
    private static func takeFolder(
        _ path: String, calls: any FileCalls, _ elsewhere: String
    ) throws(MigrationError) -> (folder: OwnFolder, lock: Int32, isOwn: Bool) {
        // A run that ends removes the folder, even one that this run has just made and not locked yet. So try again.
        for _ in 0..<attempts {
            let made = calls.makeDirectory(path, mode: 0o700)
            guard made == 0 || made == -Int(EEXIST) else { throw cannotCreate(path, number: -made) }
            do throws(MigrationError) {
                guard let folder = try OwnFolder(path, calls: calls, elsewhere: elsewhere) else { continue }
                let hadLock = try exists(folder.inside + "/lock", calls)
                if let lock = try takeLock(in: folder, calls: calls) { return (folder, lock, made == 0 || hadLock) }
            } catch {
                if made == 0 { _ = calls.removeDirectory(path) }
                throw error
            }
        }
        throw cannotCreate(path, number: Int(ENOENT))
    }

    /// Locks the file at a path.
    ///
    /// - Returns: nil if the folder is gone.
    private static func takeLock(in folder: OwnFolder, calls: any FileCalls) throws(MigrationError) -> Int32? {
        let (path, lockPath) = (folder.path, folder.inside + "/lock")
        // A run that ends unlinks its lock file. A process that had opened it before would then lock a file without a name. So
        // look the name up again after locking, a few times at most.
        for _ in 0..<attempts {
            let opened = calls.open(lockPath, flags: O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
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
                let (own, named) = (try calls.status(of: descriptor), try calls.status(atPath: lockPath))
                if own.st_dev == named?.st_dev, own.st_ino == named?.st_ino { return descriptor }
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

    private static func exists(_ path: String, _ calls: any FileCalls) throws(MigrationError) -> Bool {
        do throws(FileBytes.Failure) { return try calls.status(atPath: path) != nil } catch {
            throw SpillFailure.system("look up", path, number: Int(error.number))
        }
    }

    static func cannotCreate(_ path: String, number: Int) -> MigrationError {
        let system = SpillFailure.system("create", path, number: number)
        guard system.category == .io, system.code != "spill.full" else { return system }
        return MigrationError(
            "work.create", .cannotCreate,
            "cannot create the work directory: \(String(cString: strerror(Int32(truncatingIfNeeded: number))))",
            remedy: "Name a folder whose parent exists with --work-dir", context: MigrationError.Context(path: path))
    }
}
