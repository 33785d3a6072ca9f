import DatabasePages
import Diagnostics
import Glibc

/// Makes the file of a fresh destination exclusively, below SQLite, and checks and syncs it at the end.
enum DestinationFile {
    /// Makes an empty file, which must not exist yet.
    ///
    /// - Parameter permissions: the permissions of the file, less those of the process's umask.
    /// - Throws: `destination.exists` (73), `destination.permission` (77), `destination.cannotCreate` (73),
    ///   `store.full` or `store.io` (74).
    static func create(_ path: String, permissions: mode_t) throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, permissions) }
        guard descriptor >= 0 else { throw creationError(errno, path) }
        close(descriptor)
    }

    private static func creationError(_ number: Int32, _ path: String) -> MigrationError {
        let context = MigrationError.Context(path: path)
        let reason = String(cString: strerror(number))
        return switch number {
        case EEXIST:
            MigrationError(
                "destination.exists", .cannotCreate, "The destination exists already",
                remedy: "Remove it or choose another path", context: context)
        case EACCES, EPERM, EROFS:
            MigrationError(
                "destination.permission", .permission, "The destination cannot be created: \(reason)",
                context: context)
        case ENOSPC, EDQUOT, EIO: PageFailure.system("Writing", path, number: Int(number))
        default:
            MigrationError(
                "destination.cannotCreate", .cannotCreate, "The destination cannot be created: \(reason)",
                context: context)
        }
    }

    /// Checks that the header's page count matches the file's size, then syncs the file.
    ///
    /// - Parameter isOurs: true if the file was made here. A file that was appended to keeps its own page size.
    /// - Throws: `store.damaged` (an internal error here, as the file was written by this process), `store.io`, `store.full`.
    static func checkAndSync(_ path: String, isOurs: Bool) throws(MigrationError) {
        let descriptor = PosixFile.openReadOnly(path)
        guard descriptor >= 0 else { throw failure("Opening", path) }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = header.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { PosixFile.read(descriptor, into: $0, count: bytes.count, at: 0) } ?? -1
        }
        guard count >= 0 else { throw failure("Reading", path) }
        let size = PosixFile.size(descriptor)
        guard size >= 0 else { throw failure("Reading", path) }
        let pages = header[28..<32].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        // The value one stands for 65536, which does not fit into two bytes.
        let stated = Int64(header[16]) << 8 | Int64(header[17])
        let pageSize = stated == 1 ? 65536 : stated
        let isExpected = isOurs ? pageSize == 4096 : pageSize >= 512
        guard header.starts(with: Array("SQLite format 3\0".utf8)), isExpected, pages * pageSize == size else {
            throw MigrationError(
                "store.damaged", .internal,
                "The written file is inconsistent: \(pages) pages of \(pageSize) bytes in \(size) bytes",
                context: .init(path: path))
        }
        let code = WaitBoard.during(.disk) { SystemCall.uninterrupted { fsync(descriptor) } }
        guard code == 0 else { throw failure("Syncing", path) }
    }

    private static func failure(_ doing: String, _ path: String) -> MigrationError {
        PageFailure.system(doing, path, number: Int(errno))
    }
}
