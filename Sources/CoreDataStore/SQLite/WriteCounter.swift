import CSQLite
import DatabasePages
import Diagnostics
import Glibc
import Synchronization

/// Counts the bytes written through a VFS of Stagecoach. SQLite's thread counts, and any thread may read.
package final class WriteCounter: Sendable {
    private let total = Atomic<Int64>(0)

    package init() {}

    /// The number of bytes so far.
    package var bytes: Int64 { total.load(ordering: .relaxed) }

    func add(_ count: Int) { total.add(Int64(count), ordering: .relaxed) }
}

/// A file without a name, for SQLite's sorts. It has no directory entry, so a crash leaves nothing behind.
///
/// Its memory layout is that of SQLite's `sqlite3_file`, whose first member points to the functions.
struct TemporaryFile {
    private var base: sqlite3_file
    private var descriptor: Int32
    private var counter: Unmanaged<WriteCounter>

    /// The number of bytes that the VFS must reserve for a file.
    static var structureSize: Int { MemoryLayout<TemporaryFile>.stride }

    /// Opens a nameless file in a directory, in memory provided by SQLite.
    ///
    /// - Returns: an SQLite result code.
    static func open(
        _ file: UnsafeMutablePointer<sqlite3_file>, directory: String, counter: WriteCounter
    ) -> Int32 {
        var descriptor = SystemCall.uninterrupted {
            Glibc.open(directory, O_RDWR | O_CLOEXEC | namelessFlags, 0o600)
        }
        if descriptor < 0 {
            // Some file systems lack O_TMPFILE, so the file has a name for a moment.
            for _ in 0..<16 where descriptor < 0 {
                let name = directory + "/sort-" + String(UInt64.random(in: 0 ... .max), radix: 36)
                descriptor = SystemCall.uninterrupted {
                    Glibc.open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
                }
                if descriptor >= 0 { unlink(name) } else if errno != EEXIST { break }
            }
        }
        guard descriptor >= 0 else { return FailedCall.note(SQLITE_CANTOPEN) }
        UnsafeMutableRawPointer(file).bindMemory(to: TemporaryFile.self, capacity: 1).initialize(
            to: TemporaryFile(
                base: sqlite3_file(pMethods: methods.pointer), descriptor: descriptor,
                counter: Unmanaged.passRetained(counter)))
        return SQLITE_OK
    }

    /// `O_TMPFILE`, a macro that Swift does not import (the same on all of Linux's architectures that Swift supports, except
    /// Alpha).
    private static var namelessFlags: Int32 { 0o20000000 | O_DIRECTORY }

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<TemporaryFile>? {
        file.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: TemporaryFile.self) }
    }

    private static let methods: IOMethods = {
        var io = sqlite3_io_methods()
        io.iVersion = 1
        io.xClose = { file in
            guard let this = TemporaryFile.of(file) else { return SQLITE_OK }
            close(this.pointee.descriptor)
            this.pointee.counter.release()
            this.pointee.base.pMethods = nil
            return SQLITE_OK
        }
        io.xRead = { file, buffer, count, offset in
            guard let this = TemporaryFile.of(file), let buffer else { return ResultCode.readError }
            let got = PosixFile.read(this.pointee.descriptor, into: buffer, count: Int(count), at: offset)
            return IOMethods.read(got, of: count, into: buffer)
        }
        io.xWrite = { file, buffer, count, offset in
            guard let this = TemporaryFile.of(file), let buffer else { return ResultCode.writeError }
            guard PosixFile.write(this.pointee.descriptor, from: buffer, count: Int(count), at: offset) else {
                return FailedCall.note(errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : ResultCode.writeError)
            }
            this.pointee.counter._withUnsafeGuaranteedRef { $0.add(Int(count)) }
            return SQLITE_OK
        }
        io.xTruncate = { file, size in
            guard let this = TemporaryFile.of(file) else { return ResultCode.truncateError }
            let descriptor = this.pointee.descriptor
            return SystemCall.uninterrupted({ ftruncate(descriptor, off_t(size)) }) == 0
                ? SQLITE_OK : ResultCode.truncateError
        }
        io.xSync = { _, _ in SQLITE_OK }
        io.xFileSize = { file, size in
            guard let this = TemporaryFile.of(file), let size else { return ResultCode.statError }
            return IOMethods.size(PosixFile.size(this.pointee.descriptor), into: size)
        }
        // No other process can see the file, so locks are unnecessary.
        io.xLock = { _, _ in SQLITE_OK }
        io.xUnlock = { _, _ in SQLITE_OK }
        io.xCheckReservedLock = { _, result in
            result?.pointee = 0
            return SQLITE_OK
        }
        io.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        io.xSectorSize = { _ in 4096 }
        io.xDeviceCharacteristics = { _ in 0 }
        return IOMethods(io)
    }()
}
