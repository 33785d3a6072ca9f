import Diagnostics
import Glibc

/// The path at which the destination will be. It is checked before anything is written, and taken in one step at the end.
struct DestinationPath {
    let path: String

    /// The folder that contains the destination; `.` for a bare name.
    var folder: String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    var name: String { path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path }

    /// The path of the work directory beside the destination.
    var workDirectory: String { "\(folder)/.\(name).stagecoach" }
    /// The path of the journal of a run to the destination.
    var journalPath: String { "\(workDirectory)/\(Self.journal)" }
    /// The path of the second copy of the publication record. Without the copy, a damaged journal would let an append that
    /// was already published be appended again.
    var publicationPath: String { "\(workDirectory)/\(Self.publication)" }
    /// The path to which the journal is moved once the store is published and the run is about to end. It lies beside the
    /// work directory, which is removed first. Without the journal the same command would append once more.
    var lastJournalPath: String { "\(workDirectory)-done" }
    /// The path of the private store in the work directory.
    var privateStorePath: String { "\(workDirectory)/\(Self.privateStore)" }

    /// The names of these files in the work directory.
    static let journal = "run.journal"
    static let publication = "run.publication"
    static let privateStore = "store.sqlite"
    /// The remedy where the work directory cannot be used, as the end of a sentence.
    static let elsewhere = "make the destination in a folder that only you can write in"

    /// Returns the place of a destination, and whether a store there is added to.
    ///
    /// - Parameter adds: true if an existing store is to be added to. It is the one that a link leads to.
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    static func target(
        _ path: String, adds: Bool
    ) throws(MigrationError) -> (place: DestinationPath, appends: Bool) {
        let given = DestinationPath(path: path)
        let stands = try given.exists()
        return adds && stands ? (given.resolved, true) : (given, false)
    }

    /// Returns the path of the directory for spills: beside the destination, or in a given folder.
    func spillDirectory(in folder: String?) -> String {
        folder.map { "\($0)/.\(name).stagecoach" } ?? workDirectory
    }

    /// Tells whether the path exists. Throws `destination.permission` (77), `destination.io` (74).
    func exists() throws(MigrationError) -> Bool { try Self.status(path) != nil }

    /// Returns the status of a path. A symbolic link is not followed unless requested. Returns nil if nothing exists there.
    ///
    /// - Throws: `destination.permission` (77), `destination.io` (74) if that cannot be determined.
    static func status(_ path: String, followsLinks: Bool = false) throws(MigrationError) -> stat? {
        do throws(FileBytes.Failure) {
            return try FileBytes.status(path, followsLinks: followsLinks)
        } catch {
            throw .writing("Looking for the destination", path: path, otherwise: "destination.io", number: error.number)
        }
    }

    /// Returns numbers that identify a file, the first two, and its last write.
    static func identity(_ status: stat) -> [Int64] {
        [
            Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size),
            Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec),
        ]
    }

    /// Returns the size of a file in bytes. Throws `store.io` (74).
    static func size(of path: String) throws(MigrationError) -> Int {
        var status = stat()
        if stat(path, &status) == 0 { return Int(status.st_size) }
        throw DestinationPath(path: path).systemError("store.io", "Reading the file's size")
    }

    /// The path with symbolic links followed, so that a link to an appended store still points to it afterwards.
    var resolved: DestinationPath {
        guard let real = realpath(path, nil) else { return self }
        defer { free(real) }
        return DestinationPath(path: String(cString: real))
    }

    /// Refuses the source. Throws `destination.isSource` (64), and the errors of ``status(_:followsLinks:)``.
    func checkOther(than source: String) throws(MigrationError) {
        guard try Self.isSameFile(source, path) else { return }
        throw error("destination.isSource", .usage, "Source and destination are the same file")
    }

    /// Refuses a store that cannot be appended to, before anything is written.
    ///
    /// - Throws: `destination.noFile` (73), `destination.permission` (77).
    func checkReplaceable() throws(MigrationError) {
        guard let status = try Self.status(path), status.st_mode & S_IFMT == S_IFREG else {
            throw error("destination.noFile", .cannotCreate, "The destination is not a regular file")
        }
        guard access(path, R_OK | W_OK) == 0 else {
            guard errno != EIO else { throw systemError("destination.io", "Looking for the destination") }
            throw error(
                "destination.permission", .permission, "The destination cannot be written",
                remedy: status.st_uid == geteuid()
                    ? "Give its owner the permission: chmod u+w" : "Run the command as the file's owner")
        }
        try checkFolderPermission()
    }

    /// Refuses a path that cannot become a fresh store.
    ///
    /// - Throws: `destination.exists` (73); `destination.leftover` (73) for a journal of an earlier store, which SQLite would
    ///   apply to the new one; `destination.folder` (73), `destination.permission` (77).
    func checkFresh() throws(MigrationError) {
        guard !name.isEmpty, name != ".", name != ".." else {
            throw error("destination.name", .cannotCreate, "The destination is not a file name")
        }
        if try exists() {
            throw error(
                "destination.exists", .cannotCreate, "The destination exists already",
                remedy: "Name another path, or move the file away")
        }
        for suffix in ["-wal", "-journal", "-shm"] where try Self.status(path + suffix) != nil {
            throw error(
                "destination.leftover", .cannotCreate,
                "A file \(name)\(suffix) of another store is beside the destination",
                remedy: "Move it away: SQLite would take it for the new store's")
        }
        guard let status = try Self.status(folder, followsLinks: true) else {
            throw error(
                "destination.folder", .cannotCreate, "The destination's folder does not exist",
                remedy: "Make the folder first")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw error("destination.folder", .cannotCreate, "The destination's folder is not a folder")
        }
        try checkFolderPermission()
    }

    /// Refuses a folder in which this user can make no files: `destination.permission` (77; 73 on a read-only file system).
    private func checkFolderPermission() throws(MigrationError) {
        guard access(folder, W_OK | X_OK) != 0 else { return }
        guard errno != EIO else { throw systemError("destination.io", "Looking for the destination") }
        let isReadOnly = errno == EROFS
        throw error(
            "destination.permission", isReadOnly ? .cannotCreate : .permission,
            isReadOnly ? "The destination's file system is read-only" : "The destination's folder cannot be written",
            remedy: "Name a destination in another folder; the source may stay where it is")
    }

    /// Gives a finished file the destination's name, in one step that never replaces a file.
    ///
    /// - Parameter permissions: the most permissions that the file gets.
    /// - Throws: the errors of ``checkFresh()`` if a file or a journal has appeared there meanwhile; `destination.rename` (74).
    func publish(_ finished: String, permissions: FilePermissions) throws(MigrationError) {
        // The run may have taken hours, and SQLite would apply a journal that has appeared since to the new store.
        try checkFresh()
        guard permissions.restrict(finished) else {
            throw systemError("destination.rename", "Publishing the finished store")
        }
        let isLinked = link(finished, path) == 0
        if isLinked {
            // The private name stays until the new one is durable.
        } else if errno == EEXIST {
            throw error("destination.exists", .cannotCreate, "A file appeared at the destination during the run")
        } else if errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK {
            // A file system without hard links. The path was checked just now, so a rename is nearly as safe.
            guard rename(finished, path) == 0 else {
                throw systemError("destination.rename", "Renaming the finished store")
            }
        } else {
            throw systemError("destination.rename", "Publishing the finished store")
        }
        do {
            try DestinationPath.synchronize(folder: folder)
        } catch {
            // It is unknown whether the name survives a crash. All or nothing means nothing, as long as it can be undone.
            if isLinked { unlink(path) } else { rename(path, finished) }
            throw error
        }
        if isLinked { unlink(finished) }
    }

    /// Syncs the entries of a folder to the disk.
    static func synchronize(folder: String) throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        // A folder that may be written but not read cannot be synced by itself.
        if descriptor < 0, errno == EACCES { return }
        defer { if descriptor >= 0 { close(descriptor) } }
        // Some file systems cannot sync a folder. Then there is nothing to wait for.
        guard descriptor >= 0, SystemCall.uninterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else {
            throw .writing("Syncing the folder", path: folder, otherwise: "destination.sync")
        }
    }

    /// Tells whether two paths name one file, also through links and relative parts.
    ///
    /// - Throws: the errors of ``status(_:followsLinks:)``.
    static func isSameFile(_ first: String, _ second: String) throws(MigrationError) -> Bool {
        guard let one = try status(first, followsLinks: true), let other = try status(second, followsLinks: true) else {
            return first == second
        }
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }

    private func error(
        _ code: MigrationError.Code, _ category: MigrationError.Category, _ message: String, remedy: String? = nil
    ) -> MigrationError {
        MigrationError(code, category, message, remedy: remedy, context: .init(path: path))
    }

    private func systemError(_ code: MigrationError.Code, _ doing: String) -> MigrationError {
        error(code, .io, "\(doing) failed: \(String(cString: strerror(errno)))")
    }
}
