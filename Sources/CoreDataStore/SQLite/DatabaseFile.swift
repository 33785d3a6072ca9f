import DatabasePages
import Diagnostics
import Glibc

/// The facts in the header and the directory entry of an SQLite file, read without SQLite.
package struct DatabaseFile: Sendable {
    /// The journal mode of the file's last writer: header bytes 18 and 19.
    package enum JournalMode: String, Sendable {
        case rollback
        case wal
    }

    /// The path, with symbolic links resolved.
    package let path: String
    /// The size of the main file in bytes.
    package let size: Int64
    /// The size of a page in bytes.
    package let pageSize: Int
    package let journalMode: JournalMode
    /// The size of the `-wal` in bytes; nil if there is none.
    package let walSize: Int64?

    /// Reads the facts and refuses a file that cannot be a database.
    ///
    /// - Parameter path: the main file of a store; symbolic links are followed.
    /// - Throws: `store.notFound`, `store.isDirectory`, `store.notAFile` (66), `store.permission` (77), `store.empty`,
    ///   `store.notADatabase`, `store.damaged`, `store.truncated` (65), `store.io` (74).
    package static func read(path: String) throws(MigrationError) -> DatabaseFile {
        let real = try resolve(path)
        let context = MigrationError.Context(path: real)
        var status = stat()
        guard stat(real, &status) == 0 else { throw openError(errno, real) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR:
            throw MigrationError(
                "store.isDirectory", .noInput, "The store is a directory",
                remedy: "Name the .sqlite file inside it", context: context)
        default: throw MigrationError("store.notAFile", .noInput, "The store is not a regular file", context: context)
        }
        let file = try OpenFile(real)
        let size = Int64(status.st_size)
        guard size > 0 else {
            throw MigrationError(
                "store.empty", .data, "The file is empty",
                remedy: "Check that the copy of the store is complete", context: context)
        }
        let header = try file.read(100, at: 0, "Reading the header")
        guard header.starts(with: magic) else { throw foreign(file, real, size) }
        guard header.count == 100 else {
            throw MigrationError("store.truncated", .data, "The file ends within its header", context: context)
        }
        return try DatabaseFile(path: real, size: size, header: header)
    }

    /// Returns the error for a file that does not begin as a database does. It says which kind of file it is.
    private static func foreign(_ file: OpenFile, _ path: String, _ size: Int64) -> MigrationError {
        let found = ForeignFile.description(of: (try? file.read(ForeignFile.prefixLength, at: 0)) ?? [], size: size)
        return MigrationError(
            "store.notADatabase", .data, "The file is not an SQLite database: it is \(found.what)",
            remedy: found.remedy, context: .init(path: path))
    }

    private init(path: String, size: Int64, header: [UInt8]) throws(MigrationError) {
        let context = MigrationError.Context(path: path)
        self.path = path
        self.size = size
        let stored = Int(header[16]) << 8 | Int(header[17])
        pageSize = stored == 1 ? 65536 : stored
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else {
            throw MigrationError(
                "store.damaged", .data, "The header gives an impossible page size of \(stored) bytes", context: context)
        }
        guard (1...2).contains(header[18]), (1...2).contains(header[19]) else {
            throw MigrationError(
                "store.damaged", .data,
                "The header gives unknown file format versions \(header[18]) and \(header[19])", context: context)
        }
        journalMode = header[19] == 2 ? .wal : .rollback
        walSize = try DatabaseFile.size(of: path + "-wal")
        // SQLite before 3.7 writes no valid number of pages. A -wal may have more pages than the main file, so only SQLite can
        // check the size then.
        let isCounted = header[24..<28].elementsEqual(header[92..<96])
        let promised = Int64(DatabaseFile.bigEndian(header, 28)) * Int64(pageSize)
        if isCounted, (walSize ?? 0) == 0, try DatabaseFile.size(of: path + "-journal") == nil, size < promised {
            throw MigrationError(
                "store.truncated", .data,
                "The file has \(size.counted("byte")), its header promises \(promised.grouped)",
                remedy: "Copy the store again", context: context)
        }
    }

    static let magic = Array("SQLite format 3\0".utf8)

    static func bigEndian(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Returns the size of a regular file, nil if there is none.
    private static func size(of path: String) throws(MigrationError) -> Int64? {
        do throws(FileBytes.Failure) {
            return try FileBytes.status(path).map { Int64($0.st_size) }
        } catch {
            throw openError(error.number, path)
        }
    }

    /// Returns the path without symbolic links, because the `-wal` is beside the real file. A path through a folder's descriptor
    /// stays: it leads to that folder even if another one takes its name.
    private static func resolve(_ path: String) throws(MigrationError) -> String {
        if path.hasPrefix(OpenFolders.prefix), try size(of: path) != nil { return path }
        guard !path.isEmpty, !path.utf8.contains(0), let real = realpath(path, nil) else {
            throw openError(path.isEmpty ? ENOENT : errno, path)
        }
        defer { free(real) }
        return String(cString: real)
    }

    static func openError(_ code: Int32, _ path: String) -> MigrationError {
        let context = MigrationError.Context(path: path)
        switch code {
        case ENOENT where path.contains("\u{FFFD}"):
            return MigrationError(
                "store.nameNotUTF8", .noInput, "The name of the file is not UTF-8, and so it cannot be opened",
                remedy: "Rename the file, or name it by a link", context: context)
        case ENOENT, ENOTDIR:
            return MigrationError(
                "store.notFound", .noInput, "There is no such file", remedy: "Name a store, as Library.sqlite",
                context: context)
        case EACCES, EPERM:
            return MigrationError(
                "store.permission", .permission, "The file may not be read", remedy: "Give yourself read permission",
                context: context)
        default:
            return MigrationError(
                "store.cannotOpen", code == ELOOP || code == ENAMETOOLONG ? .noInput : .io,
                "The file cannot be opened: \(String(cString: strerror(code)))", context: context)
        }
    }
}
