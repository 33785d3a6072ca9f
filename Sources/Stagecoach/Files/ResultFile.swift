import CoreDataStore
import Diagnostics
import Glibc
import SpillStorage

/// A file of results while it is written. It is a hidden file beside its final path, and is renamed when the destination is
/// published.
///
/// Memory: 64 KiB of bytes to write.
final class ResultFile {
    let path: String
    /// The most permissions that the file gets.
    private let permissions: FilePermissions
    /// The path of the hidden file.
    let part: String
    /// The name of the file in messages, for example `reject file`.
    private let kind: String
    private var descriptor: Int32
    private var waiting: [UInt8] = []
    private var isPlaced = false

    /// Begins the file.
    ///
    /// - Parameters:
    ///   - permissions: the permissions of the file, less those of the process's umask.
    ///   - first: files whose contents it begins with.
    /// - Throws: `output.exists` (73), `output.create` (73), `output.permission` (77), `output.io` (74).
    init(path: String, kind: String, permissions: FilePermissions, first: [String] = []) throws(MigrationError) {
        self.path = path
        self.permissions = permissions
        self.kind = kind
        let place = DestinationPath(path: path)
        part = "\(place.folder)/.\(place.name).stagecoach-part"
        descriptor = -1
        try Self.checkFree(path, kind: kind)
        // A file that a killed run left may have other permissions.
        unlink(part)
        descriptor = SystemCall.uninterrupted {
            open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, permissions.file)
        }
        guard descriptor >= 0 else { throw failure(errno) }
        for other in first { try append(contentsOf: other) }
    }

    /// The final path of the file, and the path where it is written.
    var parts: (path: String, part: String) { (path, part) }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if !isPlaced { unlink(part) }
    }

    /// Appends a line and a line end.
    func append(line: String) throws(MigrationError) {
        waiting.append(contentsOf: line.utf8)
        waiting.append(0x0A)
        if waiting.count >= 64 << 10 { try flush() }
    }

    /// Appends the contents of another file. Throws `output.io` (74).
    private func append(contentsOf path: String) throws(MigrationError) {
        let other = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard other >= 0 else { throw failure(errno) }
        defer { close(other) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = bytes.withUnsafeMutableBytes { read(other, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno) }
            guard count > 0 else { return }
            waiting.append(contentsOf: bytes.prefix(count))
            try flush()
        }
    }

    /// Copies the contents so far to a file, and syncs that file. Throws `output.io`, `store.full`, `store.io` (74).
    func keep(at path: String) throws {
        try flush()
        unlink(path)
        try FileCopy.copy(part, to: path) {}
        let copy = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard copy >= 0 else { throw failure(errno) }
        defer { close(copy) }
        guard SystemCall.uninterrupted({ fsync(copy) }) == 0 else { throw failure(errno) }
        try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
    }

    /// Refuses a path that already exists, before long work.
    ///
    /// - Throws: `output.exists` (73); `output.permission` (77), `output.io` (74) if that cannot be determined.
    static func checkFree(_ path: String, kind: String) throws(MigrationError) {
        do throws(FileBytes.Failure) {
            guard try FileBytes.status(path, followsLinks: false) != nil else { return }
        } catch {
            throw failure(error.number, path, kind)
        }
        throw exists(path, kind)
    }

    /// Writes the remaining bytes and syncs the file.
    func finish() throws(MigrationError) {
        try flush()
        guard SystemCall.uninterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else { throw failure(errno) }
        let code = close(descriptor)
        descriptor = -1
        guard code == 0 else { throw failure(errno) }
    }

    /// Renames the file to its final path.
    ///
    /// - Throws: `output.exists` (73) if a file has appeared there meanwhile; `output.io` (74).
    func place() throws(MigrationError) {
        guard permissions.restrict(part) else { throw failure(errno) }
        if link(part, path) == 0 {
            unlink(part)
        } else if errno == EEXIST {
            throw exists
        } else {
            // A file system without hard links. The path was checked before.
            guard rename(part, path) == 0 else { throw failure(errno) }
        }
        isPlaced = true
        do {
            try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
        } catch {
            withdraw()
            throw error
        }
    }

    /// Removes the file again, if the destination could not be published.
    func withdraw() { if isPlaced { unlink(path) } }

    private func flush() throws(MigrationError) {
        var done = 0
        while done < waiting.count {
            let written = waiting.withUnsafeBytes { bytes in
                write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw failure(errno) }
            done += written
        }
        waiting.removeAll(keepingCapacity: true)
    }

    private var exists: MigrationError { Self.exists(path, kind) }

    private static func exists(_ path: String, _ kind: String) -> MigrationError {
        MigrationError(
            "output.exists", .cannotCreate, "The \(kind) exists already",
            remedy: "Name another path, or move the file away", context: .init(path: path))
    }

    private func failure(_ number: Int32) -> MigrationError { Self.failure(number, path, kind) }

    private static func failure(_ number: Int32, _ path: String, _ kind: String) -> MigrationError {
        let reason = String(cString: strerror(number))
        switch number {
        case EACCES, EPERM:
            return MigrationError(
                "output.permission", .permission, "The \(kind) cannot be written: \(reason)",
                context: .init(path: path))
        case ENOENT, ENOTDIR, EROFS, ELOOP:
            return MigrationError(
                "output.create", .cannotCreate, "The \(kind) cannot be made: \(reason)", context: .init(path: path))
        default:
            let full = NoRoom(number)
            return MigrationError(
                "output.io", .io, "Writing the \(kind) failed: \(full?.reason ?? reason)", remedy: full?.remedy,
                context: .init(path: path))
        }
    }
}

extension String {
    /// The text as a value of a line of comma-separated values (RFC 4180), quoted if necessary.
    package var asCommaSeparated: String {
        utf8.contains { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
            ? "\"\(replacing("\"", with: "\"\""))\"" : self
    }
}
