import Diagnostics
import Glibc

/// The place where the destination will stand: checked before anything is written, taken in one step at the end.
struct DestinationPath {
    let path: String

    /// The folder that holds it; `.` for a bare name.
    var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    var name: String {
        guard let slash = path.lastIndex(of: "/") else { return path }
        return String(path[path.index(after: slash)...])
    }

    /// The work directory beside the destination.
    var workDirectory: String { "\(folder)/.\(name).stagecoach" }

    /// Where spills go: beside the destination, or in a folder that was asked for.
    func spillDirectory(in folder: String?) -> String {
        folder.map { "\($0)/.\(name).stagecoach" } ?? workDirectory
    }

    /// Whether something stands at the path.
    ///
    /// - Throws: `destination.permission` (77), `destination.io` (74).
    func exists() throws(MigrationError) -> Bool { try Self.status(path) != nil }

    /// What stands at a path, a symbolic link itself unless it is followed; nil for nothing.
    ///
    /// - Throws: `destination.permission` (77), `destination.io` (74): nobody knows.
    static func status(_ path: String, followsLinks: Bool = false) throws(MigrationError) -> stat? {
        do throws(FileBytes.Failure) {
            return try FileBytes.status(path, followsLinks: followsLinks)
        } catch {
            throw .writing(
                "Looking for the destination", path: path, otherwise: "destination.io", number: error.number)
        }
    }

    /// The place with symbolic links followed: a link to a store that is appended to goes on pointing to it.
    var resolved: DestinationPath {
        guard let real = realpath(path, nil) else { return self }
        defer { free(real) }
        return DestinationPath(path: String(cString: real))
    }

    /// Refuses a store that cannot be appended to, before anything is written.
    ///
    /// - Throws: `destination.noFile` (73), `destination.permission` (77).
    func checkReplaceable() throws(MigrationError) {
        guard let status = try Self.status(path), status.st_mode & S_IFMT == S_IFREG else {
            throw error("destination.noFile", .cannotCreate, "The destination is not a regular file")
        }
        guard access(path, R_OK | W_OK) == 0, access(folder, W_OK | X_OK) == 0 else {
            guard errno != EIO else { throw systemError("destination.io", "Looking for the destination") }
            throw error("destination.permission", .permission, "The destination cannot be written")
        }
    }

    /// Refuses a path that cannot become a fresh store.
    ///
    /// - Throws: `destination.exists` (73), `destination.leftover` (73) for a journal of an earlier store there, which
    ///   SQLite would apply to the new one, `destination.folder` (73), `destination.permission` (77).
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
                "A file \(name)\(suffix) of an earlier store stands beside the destination",
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
        guard access(folder, W_OK | X_OK) == 0 else {
            guard errno != EIO else { throw systemError("destination.io", "Looking for the destination") }
            let isReadOnly = errno == EROFS
            throw error(
                "destination.permission", isReadOnly ? .cannotCreate : .permission,
                isReadOnly ? "The destination's file system is read-only" : "The destination's folder cannot be written"
            )
        }
    }

    /// Gives a finished file the destination's name, in one step that never replaces a file.
    ///
    /// - Parameter permissions: what it has at most.
    /// - Throws: what ``checkFresh()`` throws where a file or a journal came to stand there meanwhile;
    ///   `destination.rename` (74).
    func publish(_ finished: String, permissions: FilePermissions) throws(MigrationError) {
        // The run may have taken hours; what SQLite would apply to the new store must not stand there now.
        try checkFresh()
        guard permissions.restrict(finished) else {
            throw systemError("destination.rename", "Publishing the finished store")
        }
        let isLinked = link(finished, path) == 0
        if isLinked {
            // The private name stays until the new one is durable.
        } else if errno == EEXIST {
            throw error("destination.exists", .cannotCreate, "A file came to stand at the destination during the run")
        } else if errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK {
            // File systems without hard links: we have just looked, so rename.
            guard rename(finished, path) == 0 else {
                throw systemError("destination.rename", "Renaming the finished store")
            }
        } else {
            throw systemError("destination.rename", "Publishing the finished store")
        }
        do {
            try DestinationPath.synchronize(folder: folder)
        } catch {
            // Whether the name survives a crash is not known: all or nothing means nothing, while that can be done.
            if isLinked { unlink(path) } else { rename(path, finished) }
            throw error
        }
        if isLinked { unlink(finished) }
    }

    /// Makes a folder's entries durable.
    static func synchronize(folder: String) throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        // A folder that may be written and not read cannot be synced by itself.
        if descriptor < 0, errno == EACCES { return }
        defer { if descriptor >= 0 { close(descriptor) } }
        // Some file systems cannot sync a folder; then there is nothing to wait for.
        guard descriptor >= 0, SystemCall.uninterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else {
            throw .writing("Syncing the folder", path: folder, otherwise: "destination.sync")
        }
    }

    /// Whether two paths name one file, through links and relative parts too.
    ///
    /// - Throws: as ``status(_:followsLinks:)``.
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
