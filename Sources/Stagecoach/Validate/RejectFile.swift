import Diagnostics
import Glibc

/// A reject file while it is written: a hidden file beside its place, which takes the name when the destination is
/// published.
///
/// Memory: 64 KiB of lines.
final class RejectFile {
    let path: String
    private let part: String
    private var descriptor: Int32
    private var lines: [UInt8] = []
    private var isPlaced = false

    /// Begins the file.
    ///
    /// - Throws: `output.exists` (73), `output.create` (73), `output.permission` (77), `output.io` (74).
    init(path: String) throws(MigrationError) {
        self.path = path
        let place = DestinationPath(path: path)
        part = "\(place.folder)/.\(place.name).stagecoach-part"
        descriptor = -1
        var status = stat()
        guard lstat(path, &status) != 0 else { throw RejectFile.exists(path) }
        descriptor = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw RejectFile.failure(errno, path) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if !isPlaced { unlink(part) }
    }

    /// Adds a line.
    func append(_ object: RejectedObject) throws(MigrationError) {
        lines.append(contentsOf: object.json.utf8)
        lines.append(0x0A)
        if lines.count >= 64 << 10 { try flush() }
    }

    /// Writes what is left and brings the file to the disk.
    func finish() throws(MigrationError) {
        try flush()
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw RejectFile.failure(errno, path) }
        let code = close(descriptor)
        descriptor = -1
        guard code == 0 else { throw RejectFile.failure(errno, path) }
    }

    /// Gives the file its name.
    ///
    /// - Throws: `output.exists` (73) where a file came to stand there meanwhile; `output.io` (74).
    func place() throws(MigrationError) {
        if link(part, path) == 0 {
            unlink(part)
        } else if errno == EEXIST {
            throw RejectFile.exists(path)
        } else {
            // File systems without hard links: we have looked before.
            guard rename(part, path) == 0 else { throw RejectFile.failure(errno, path) }
        }
        isPlaced = true
    }

    /// Takes the file away again, where the destination could not be published.
    func withdraw() { if isPlaced { unlink(path) } }

    private func flush() throws(MigrationError) {
        var done = 0
        while done < lines.count {
            let written = lines.withUnsafeBytes { bytes in
                write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw RejectFile.failure(errno, path) }
            done += written
        }
        lines.removeAll(keepingCapacity: true)
    }

    private static func exists(_ path: String) -> MigrationError {
        MigrationError(
            "output.exists", .cannotCreate, "The reject file exists already",
            remedy: "Name another path, or move the file away", context: .init(path: path))
    }

    private static func failure(_ number: Int32, _ path: String) -> MigrationError {
        let reason = String(cString: strerror(number))
        switch number {
        case EACCES, EPERM:
            return MigrationError(
                "output.permission", .permission, "The reject file cannot be written: \(reason)",
                context: .init(path: path))
        case ENOENT, ENOTDIR, EROFS, ELOOP:
            return MigrationError(
                "output.create", .cannotCreate, "The reject file cannot be made: \(reason)",
                context: .init(path: path))
        default:
            return MigrationError(
                "output.io", .io, "Writing the reject file failed: \(reason)",
                remedy: number == ENOSPC ? "Free space on the disk" : nil, context: .init(path: path))
        }
    }
}
