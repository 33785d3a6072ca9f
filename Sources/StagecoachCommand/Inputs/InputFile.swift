import Diagnostics
import Glibc
import ManagedModel

/// Reads small input files as a whole, and tells kinds of files apart by their first bytes.
enum InputFile {
    /// The size above which a file is not read as a mapping model.
    static let greatestSize = 64 << 20

    /// Returns the bytes of a regular file.
    ///
    /// - Parameter what: the kind of file in errors, such as `mapping model`.
    static func read(_ path: String, what: String) throws(MigrationError) -> [UInt8] {
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure(errno, path, what) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw MigrationError("input.notAFile", .noInput, "The \(what) is not a regular file", at: path)
        }
        guard status.st_size <= greatestSize else {
            throw MigrationError("input.tooLarge", .configuration, "The file is too large for a \(what)", at: path)
        }
        do throws(FileBytes.Failure) {
            return try FileBytes.read(path, most: Int(status.st_size))
        } catch {
            throw failure(error.number, path, what)
        }
    }

    /// Returns the SHA-256 of a file as hexadecimal digits.
    ///
    /// - Complexity: O(bytes) of time, 64 KiB of memory.
    static func digest(_ path: String, what: String) throws(MigrationError) -> String {
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw failure(errno, path, what) }
        defer { close(descriptor) }
        var hash = SHA256()
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = SystemCall.uninterrupted { Glibc.read(descriptor, &piece, piece.count) }
            guard count >= 0 else { throw failure(errno, path, what) }
            guard count > 0 else { return hash.finalize().hexadecimal }
            hash.update(Array(piece[..<count]))
        }
    }

    /// Returns the first bytes of a regular file, at most the given number; nil if the file is missing or not readable.
    static func beginning(of path: String, count: Int) throws(MigrationError) -> [UInt8]? {
        do throws(FileBytes.Failure) {
            guard let status = try FileBytes.status(path), status.st_mode & S_IFMT == S_IFREG else { return nil }
            return try FileBytes.read(path, most: count)
        } catch {
            guard error.number == EIO else { return nil }
            throw failure(error.number, path, "file")
        }
    }

    /// Tells whether a file or folder exists at a path.
    ///
    /// - Parameter what: the kind of file in errors.
    static func exists(_ path: String, _ what: String) throws(MigrationError) -> Bool {
        do throws(FileBytes.Failure) { return try FileBytes.status(path) != nil } catch {
            throw failure(error.number, path, what)
        }
    }

    /// Tells whether a path is a folder.
    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Tells whether a file begins with SQLite's header.
    static func isDatabase(_ path: String) throws(MigrationError) -> Bool {
        try beginning(of: path, count: 16) == Array("SQLite format 3\0".utf8)
    }

    private static func failure(_ number: Int32, _ path: String, _ what: String) -> MigrationError {
        switch number {
        case ENOENT, ENOTDIR:
            MigrationError("input.notFound", .noInput, "There is no such \(what)", at: path)
        case EACCES, EPERM:
            MigrationError(
                "input.permission", .permission, "The \(what) may not be read", remedy: "Give yourself read permission",
                at: path)
        default:
            MigrationError(
                "input.io", .io, "Reading the \(what) failed: \(String(cString: strerror(number)))", at: path)
        }
    }
}
