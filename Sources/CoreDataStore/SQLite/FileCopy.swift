import DatabasePages
import Diagnostics
import Glibc

/// Copies files: by sharing their blocks if the file system can, else byte by byte.
package enum FileCopy {
    /// FICLONE of linux/fs.h, a macro that Swift cannot import.
    static let shareBlocks: UInt = 0x4004_9409
    private static let step = 1 << 20

    /// Copies a file by its path. Locks that the process holds on it through other descriptors are lost.
    ///
    /// - Parameter keepsPermissions: true to give the copy the permissions of the file, and its owner the right to write it. If
    ///   false, only the owner may access the copy.
    /// - Throws: `store.full`, `store.io` (74), `destination.permission` (77); the errors of `checkCancelled`.
    package static func copy(
        _ path: String, to target: String, keepsPermissions: Bool = false, checkCancelled: () throws -> Void
    ) throws {
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw failure("Opening", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("Opening", path) }
        try copy(
            descriptor, of: path, to: target, permissions: keepsPermissions ? status.st_mode & 0o777 | 0o600 : 0o600,
            checkCancelled: checkCancelled
        ) { _ in }
    }

    /// Copies an open file to a new one.
    ///
    /// - Parameters:
    ///   - path: the path of the file, for messages.
    ///   - target: the path of the copy, where no file exists.
    ///   - permissions: the permissions of the copy, less those of the process's umask.
    ///   - checkCancelled: called once a MiB.
    ///   - body: called with the copy's descriptor once it is complete.
    /// - Throws: `store.full`, `store.io` (74), `destination.permission` (77); the errors of `checkCancelled`.
    /// - Complexity: O(1) if blocks are shared, else O(bytes); 1 MiB of memory.
    package static func copy(
        _ descriptor: Int32, of path: String, to target: String, permissions: mode_t = 0o600,
        checkCancelled: () throws -> Void, _ body: (Int32) throws -> Void
    ) throws {
        let copy = SystemCall.uninterrupted { open(target, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, permissions) }
        guard copy >= 0 else { throw failure("Copying", target) }
        defer { close(copy) }
        if ioctl(copy, shareBlocks, descriptor) != 0 {
            guard SystemCall.uninterrupted({ ftruncate(copy, 0) }) == 0 else { throw failure("Copying", target) }
            var offset: off_t = 0
            let buffer = UnsafeMutableRawPointer.allocate(byteCount: step, alignment: 4096)
            defer { buffer.deallocate() }
            while true {
                try checkCancelled()
                let count = PosixFile.read(descriptor, into: buffer, count: step, at: Int64(offset))
                guard count >= 0 else { throw failure("Copying", path) }
                guard count > 0 else { break }
                try write(UnsafeRawBufferPointer(start: buffer, count: count), to: copy, at: offset, target)
                offset += off_t(count)
            }
        }
        try body(copy)
    }

    /// Writes all of the bytes at an offset.
    ///
    /// - Throws: `store.full`, `store.io` (74), `destination.permission` (77).
    package static func write(
        _ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: off_t, _ path: String
    ) throws(MigrationError) {
        guard let start = bytes.baseAddress else { return }
        guard PosixFile.write(file, from: start, count: bytes.count, at: Int64(offset)) else {
            throw failure("Copying", path)
        }
    }

    private static func failure(_ doing: String, _ path: String) -> MigrationError {
        .writing("\(doing) the store", path: path, otherwise: "store.io")
    }
}
