import CLinux
import Diagnostics
import Glibc

/// The system calls of the module, one to one: it reads and writes every byte through them. Calls that only rename, cut or
/// remove a file, and the sync of a folder, are made directly.
///
/// A test replaces them by a layer of its own that makes a disk full, a write short or a call interrupted. Results are those of
/// the kernel: a count or descriptor, or the negative error number. Nothing is retried here; the calls built on these do that
/// (``openUninterrupted(_:flags:mode:)`` and those beside it).
package protocol FileCalls: Sendable {
    /// `mkdir`: 0, or the negative error number.
    func makeDirectory(_ path: String, mode: UInt32) -> Int
    /// `rmdir`: 0, or the negative error number.
    func removeDirectory(_ path: String) -> Int
    /// The names in a folder, without `.` and `..`; nil if it cannot be read.
    func names(in path: String) -> [String]?
    /// `open`: a descriptor, or the negative error number.
    func open(_ path: String, flags: Int32, mode: UInt32) -> Int
    /// `close`: 0, or the negative error number.
    func close(_ descriptor: Int32) -> Int
    /// `pread`: the bytes read, 0 at the end, or the negative error number.
    func read(_ descriptor: Int32, into bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> Int
    /// `pwrite`: the bytes written, or the negative error number.
    func write(_ descriptor: Int32, from bytes: UnsafeRawBufferPointer, at offset: Int) -> Int
    /// `fallocate` that punches a hole, so that the bytes read as zero and take no disk space: 0, or the negative error number.
    func discard(_ descriptor: Int32, at offset: Int, count: Int) -> Int
    /// `fdatasync`: 0, or the negative error number.
    func sync(_ descriptor: Int32) -> Int
    /// `unlink`: 0, or the negative error number.
    func unlink(_ path: String) -> Int
    /// `flock`, exclusive, without waiting: 0, or the negative error number.
    func lock(_ descriptor: Int32) -> Int
    /// `fstat`: the status of an open file.
    func status(of descriptor: Int32) throws(FileBytes.Failure) -> stat
    /// `stat`: the status of a path; nil if there is no file.
    func status(atPath path: String) throws(FileBytes.Failure) -> stat?
}

/// Flags of `open` that the toolchain's Glibc module does not export.
package enum FileFlags {
    /// `O_DIRECT`: past the page cache.
    #if arch(arm64) || arch(arm)
        package static let direct: Int32 = 0o200000
    #else
        package static let direct: Int32 = 0o40000
    #endif
}

/// The kernel's own system calls.
package struct SystemFileCalls: FileCalls {
    package init() {}

    package func makeDirectory(_ path: String, mode: UInt32) -> Int { Int(negative(Glibc.mkdir(path, mode))) }

    package func removeDirectory(_ path: String) -> Int { Int(negative(Glibc.rmdir(path))) }

    package func names(in path: String) -> [String]? {
        do throws(FileBytes.Failure) {
            return try FileBytes.names(in: path)
        } catch {
            errno = error.number
            return nil
        }
    }

    package func open(_ path: String, flags: Int32, mode: UInt32) -> Int {
        Int(negative(Glibc.open(path, flags, mode)))
    }

    package func close(_ descriptor: Int32) -> Int { Int(negative(Glibc.close(descriptor))) }

    package func read(_ descriptor: Int32, into bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        let count = Glibc.pread(descriptor, bytes.baseAddress, bytes.count, offset)
        return count < 0 ? -Int(errno) : count
    }

    package func write(_ descriptor: Int32, from bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        let count = Glibc.pwrite(descriptor, bytes.baseAddress, bytes.count, offset)
        return count < 0 ? -Int(errno) : count
    }

    package func discard(_ descriptor: Int32, at offset: Int, count: Int) -> Int {
        // FALLOC_FL_PUNCH_HOLE and FALLOC_FL_KEEP_SIZE.
        Int(negative(fallocate64(descriptor, 0x2 | 0x1, offset, count)))
    }

    package func sync(_ descriptor: Int32) -> Int { Int(negative(Glibc.fdatasync(descriptor))) }

    package func unlink(_ path: String) -> Int { Int(negative(Glibc.unlink(path))) }

    package func lock(_ descriptor: Int32) -> Int { Int(negative(flock(descriptor, LOCK_EX | LOCK_NB))) }

    package func status(of descriptor: Int32) throws(FileBytes.Failure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileBytes.Failure(number: errno) }
        return status
    }

    package func status(atPath path: String) throws(FileBytes.Failure) -> stat? { try FileBytes.status(path) }

    private func negative(_ result: Int32) -> Int32 { result < 0 ? -errno : result }
}
