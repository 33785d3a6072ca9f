import Diagnostics
import Glibc
import Rows

/// A file that holds an external binary value, open for reading. It is a regular file, not a link to one.
///
/// Memory: 256 KiB while it is read in parts.
package final class ExternalFile: HugeValueSource {
    private static let part = 256 << 10

    package let path: String
    /// The size in bytes when the file was opened.
    package let count: Int
    private let descriptor: Int32
    private let status: stat

    /// Opens the file.
    ///
    /// - Throws: `external.notAFile` (65) for a symbolic link, a folder or anything else that is not a regular file;
    ///   `external.unreadable` (77, 74).
    package init(path: String) throws(MigrationError) {
        self.path = path
        // Without this flag, opening a FIFO would wait for its writer.
        descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else {
            if errno == ELOOP { throw Self.notAFile(path) }
            throw Self.unreadable(path)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let error = Self.unreadable(path)
            close(descriptor)
            throw error
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw Self.notAFile(path)
        }
        self.status = status
        count = Int(status.st_size)
    }

    deinit { close(descriptor) }

    private static func unreadable(_ path: String) -> MigrationError {
        MigrationError(
            "external.unreadable", errno == EACCES || errno == EPERM ? .permission : .io,
            "A file of external binary data cannot be read: \(String(cString: strerror(errno)))",
            context: .init(path: path))
    }

    private static func notAFile(_ path: String) -> MigrationError {
        MigrationError(
            "external.notAFile", .data, "A value's external data is no regular file",
            remedy: "Put the file itself there, not a symbolic link to it", context: .init(path: path))
    }

    /// Passes the file's bytes to a body, in order.
    ///
    /// - Throws: `external.unreadable` (74), `external.changed` (75) if the length has changed; the errors of the body.
    package func read(
        _ body: (UnsafeRawBufferPointer) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(Self.part, max(1, count)), alignment: 16)
        defer { buffer.deallocate() }
        var done = 0
        while done < count {
            let found = pread(descriptor, buffer.baseAddress, min(buffer.count, count - done), off_t(done))
            if found < 0, errno == EINTR { continue }
            guard found >= 0 else {
                throw MigrationError(
                    "external.unreadable", .io,
                    "Reading a file of external binary data failed: \(String(cString: strerror(errno)))",
                    context: .init(path: path))
            }
            guard found > 0 else {
                throw MigrationError(
                    "external.changed", .temporary, "A file of external binary data became shorter during the run",
                    context: .init(path: path))
            }
            try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<found]))
            done += found
        }
    }

    /// Returns the file's bytes, all at once.
    package func contents() throws(MigrationError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        try read { part in bytes.append(contentsOf: part) }
        return bytes
    }

    package func read(
        _ value: HugeValue, _ body: (UnsafeRawBufferPointer) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        try read(body)
    }

    package func refusal(_ value: HugeValue, for use: String) -> MigrationError {
        MigrationError(
            "store.valueTooLarge", .configuration,
            "The external value has \(count.counted("byte")); \(use) needs all of them at once",
            remedy: "Let the destination attribute allow external storage", context: .init(path: path))
    }

    /// Carries the file to a new path: by sharing its blocks if the file system can, else by a hard link if the file has
    /// the permissions that the new one is to have, else by a copy.
    ///
    /// - Parameters:
    ///   - target: the new path, where no file exists.
    ///   - permissions: the greatest permissions of the new file. Its owner may read and write it.
    ///   - checkCancelled: called once a MiB.
    /// - Throws: `store.full`, `external.write` (74); the errors of `checkCancelled`.
    /// - Complexity: O(1); for a copy O(bytes) and 1 MiB of memory.
    package func carry(
        to target: String, permissions: FilePermissions, checkCancelled: () throws -> Void
    ) throws {
        let mode = permissions.limiting(status.st_mode)
        let shared = SystemCall.uninterrupted {
            open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        }
        guard shared >= 0 else {
            throw MigrationError.writing("Copying external binary data", path: target, otherwise: "external.write")
        }
        let isShared = ioctl(shared, FileCopy.shareBlocks, descriptor) == 0
        close(shared)
        if isShared { return }
        guard unlink(target) == 0 else {
            throw MigrationError.writing("Copying external binary data", path: target, otherwise: "external.write")
        }
        if status.st_mode & 0o777 == mode,
            linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, target, AT_SYMLINK_FOLLOW) == 0
        {
            return
        }
        try FileCopy.copy(
            descriptor, of: path, to: target, permissions: mode, checkCancelled: checkCancelled
        ) { _ in }
    }
}
