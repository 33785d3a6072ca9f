import Diagnostics
import Glibc
import Synchronization

/// The one folder in which a run keeps its spill files, locked for the run's life.
///
/// The lock is an `flock` on the file `lock` in the folder: it ends with the process, however that ends. Whoever gets
/// the lock removes the spill files (`*.spill`) that a killed run left behind; other files are not touched.
/// Memory: a path and four counters.
package final class WorkDirectory: Sendable {
    /// The folder's path.
    package let path: String
    let calls: any FileCalls
    private let lockDescriptor: Atomic<Int32>
    private let ownsFolder: Bool
    private let names = Atomic<Int>(0)
    private let written = Atomic<Int>(0)
    private let held = Atomic<Int>(0)

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
    package convenience init(path: String) throws(MigrationError) {
        try self.init(path: path, calls: SystemFileCalls())
    }

    /// The same with system calls of the caller's choice.
    package init(path: String, calls: any FileCalls) throws(MigrationError) {
        let made = calls.makeDirectory(path, mode: 0o700)
        guard made == 0 || made == -Int(EEXIST) else { throw Self.cannotCreate(path, number: -made) }
        let hadLock = calls.identity(atPath: path + "/lock") != nil
        let descriptor: Int32
        do {
            descriptor = try Self.takeLock(path, calls: calls)
        } catch {
            if made == 0 { _ = calls.removeDirectory(path) }
            throw error
        }
        self.path = path
        self.calls = calls
        lockDescriptor = Atomic(descriptor)
        ownsFolder = made == 0 || hadLock
        try removeSpillFiles()
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
    package func remove() throws(MigrationError) {
        try removeSpillFiles()
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
    func count(written bytes: Int) {
        written.add(bytes, ordering: .relaxed)
        held.add(bytes, ordering: .relaxed)
    }

    /// Counts bytes of a spill file that is gone.
    func count(released bytes: Int) { held.subtract(bytes, ordering: .relaxed) }

    private func removeSpillFiles() throws(MigrationError) {
        for name in calls.names(in: path) ?? [] where name.hasSuffix(".spill") {
            let result = calls.unlink(path + "/" + name)
            guard result == 0 || result == -Int(ENOENT) else {
                throw SpillFailure.system("remove", path + "/" + name, number: -result)
            }
        }
    }

    private static func takeLock(_ path: String, calls: any FileCalls) throws(MigrationError) -> Int32 {
        let lockPath = path + "/lock"
        // A run that ends unlinks its lock file: whoever had opened it before then holds a lock on a file without a
        // name. So the name is looked up again after locking, a few times at most.
        for _ in 0..<16 {
            let opened = calls.open(lockPath, flags: O_RDWR | O_CREAT | O_CLOEXEC, mode: 0o600)
            if opened == -Int(EINTR) { continue }
            guard opened >= 0 else { throw cannotCreate(path, number: -opened) }
            let descriptor = Int32(truncatingIfNeeded: opened)
            var locked = calls.lock(descriptor)
            while locked == -Int(EINTR) { locked = calls.lock(descriptor) }
            if locked == 0, let mine = calls.identity(of: descriptor), mine == calls.identity(atPath: lockPath) {
                return descriptor
            }
            _ = calls.close(descriptor)
            if locked != 0 && locked != -Int(EWOULDBLOCK) {
                throw SpillFailure.system("lock", lockPath, number: -locked)
            }
            if locked != 0 { break }
        }
        throw MigrationError(
            "destination.busy", .temporary, "another run holds the work directory",
            remedy: "Wait for it to end, then run again", context: MigrationError.Context(path: path))
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
