import CSQLite
import DatabasePages
import Glibc

/// A store's main file, `-wal` or `-journal`, opened read-only: every writing function fails.
///
/// Its memory layout is that of SQLite's `sqlite3_file`, whose first member points to the functions. These are version 1,
/// without shared memory, so SQLite keeps the wal-index in heap memory and never touches a `-shm`.
struct SourceFile {
    private var base: sqlite3_file
    /// The descriptor; -1 for a missing `-wal`, which reads as an empty file.
    private var descriptor: Int32
    /// True if this open file holds a shared lock.
    private var isLocked: Bool

    static var structureSize: Int { MemoryLayout<SourceFile>.stride }

    /// Initialises the file in SQLite's memory. It owns the descriptor, which may be -1 for an empty file.
    static func initialize(_ file: UnsafeMutablePointer<sqlite3_file>, descriptor: Int32) {
        UnsafeMutableRawPointer(file).bindMemory(to: SourceFile.self, capacity: 1).initialize(
            to: SourceFile(
                base: sqlite3_file(pMethods: methods), descriptor: descriptor, isLocked: false))
    }

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<SourceFile>? {
        file.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: SourceFile.self) }
    }

    /// Returns the descriptor of a file that SQLite opened through this structure, -1 for a missing file; nil for other files.
    static func descriptor(of file: UnsafeMutablePointer<sqlite3_file>) -> Int32? {
        guard file.pointee.pMethods == methods else { return nil }
        return of(file)?.pointee.descriptor
    }

    // SQLite's lock bytes (os.h): one pending byte, one reserved byte, 510 shared ones, at 1 GiB.
    private static let pendingByte: off_t = 0x4000_0000
    private static let reservedByte: off_t = pendingByte + 1
    private static let sharedFirst: off_t = pendingByte + 2
    private static let sharedCount: off_t = 510

    // Locks belong to the open file, not to the process: closing another descriptor of the same file elsewhere in the process
    // does not drop them. They conflict with SQLite's own locks, as those of any other process do.
    private static let getLock: Int32 = 36
    private static let setLock: Int32 = 37

    private static func lock(_ type: Int32, _ start: off_t, _ count: off_t) -> flock {
        flock(l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: start, l_len: count, l_pid: 0)
    }

    private static func change(_ descriptor: Int32, _ type: Int32, _ start: off_t, _ count: off_t) -> Int32 {
        var lock = lock(type, start, count)
        while fcntl(descriptor, setLock, &lock) != 0 {
            switch errno {
            case EINTR: continue
            case EACCES, EAGAIN, EDEADLK: return SQLITE_BUSY
            // On a file system without locks, read without one. The fingerprint shows if another process wrote.
            case EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP: return SQLITE_OK
            default: return ResultCode.lockError
            }
        }
        return SQLITE_OK
    }

    /// Takes SQLite's shared lock: the pending byte for a moment, then the shared range.
    private mutating func lockShared() -> Int32 {
        guard descriptor >= 0, !isLocked else { return SQLITE_OK }
        var code = SourceFile.change(descriptor, F_RDLCK, SourceFile.pendingByte, 1)
        guard code == SQLITE_OK else { return code }
        code = SourceFile.change(descriptor, F_RDLCK, SourceFile.sharedFirst, SourceFile.sharedCount)
        _ = SourceFile.change(descriptor, F_UNLCK, SourceFile.pendingByte, 1)
        isLocked = code == SQLITE_OK
        return code
    }

    private mutating func unlock() -> Int32 {
        guard isLocked else { return SQLITE_OK }
        isLocked = false
        return SourceFile.change(descriptor, F_UNLCK, SourceFile.pendingByte, 2 + SourceFile.sharedCount)
    }

    /// The table of functions, at a fixed address. It is never changed and never freed.
    nonisolated(unsafe) private static let methods: UnsafePointer<sqlite3_io_methods> = {
        var io = sqlite3_io_methods()
        io.iVersion = 1
        io.xClose = { file in
            guard let this = SourceFile.of(file) else { return SQLITE_OK }
            if this.pointee.descriptor >= 0 { close(this.pointee.descriptor) }
            this.pointee.descriptor = -1
            this.pointee.base.pMethods = nil
            return SQLITE_OK
        }
        io.xRead = { file, buffer, count, offset in
            guard let this = SourceFile.of(file), let buffer else { return ResultCode.readError }
            let descriptor = this.pointee.descriptor
            let got = descriptor < 0 ? 0 : PosixFile.read(descriptor, into: buffer, count: Int(count), at: offset)
            if got < 0 { return FailedCall.note(ResultCode.readError) }
            if got == Int(count) { return SQLITE_OK }
            memset(buffer + got, 0, Int(count) - got)
            return ResultCode.shortRead
        }
        // The promise: the source is never changed, not by a byte.
        io.xWrite = { _, _, _, _ in ResultCode.writeError }
        io.xTruncate = { _, _ in ResultCode.truncateError }
        io.xSync = { _, _ in SQLITE_OK }
        io.xFileSize = { file, size in
            guard let this = SourceFile.of(file), let size else { return ResultCode.statError }
            let bytes = this.pointee.descriptor < 0 ? 0 : PosixFile.size(this.pointee.descriptor)
            guard bytes >= 0 else { return ResultCode.statError }
            size.pointee = bytes
            return SQLITE_OK
        }
        io.xLock = { file, level in
            guard let this = SourceFile.of(file) else { return ResultCode.lockError }
            switch level {
            case SQLITE_LOCK_NONE: return SQLITE_OK
            case SQLITE_LOCK_SHARED: return this.pointee.lockShared()
            // In exclusive locking mode, which keeps the wal-index in heap memory, the pager requests this lock before it opens
            // the -wal. The shared lock is already held, and no stronger one is needed or taken.
            case SQLITE_LOCK_EXCLUSIVE: return this.pointee.lockShared()
            default: return SQLITE_READONLY
            }
        }
        io.xUnlock = { file, level in
            guard let this = SourceFile.of(file) else { return ResultCode.lockError }
            return level == SQLITE_LOCK_NONE ? this.pointee.unlock() : SQLITE_OK
        }
        io.xCheckReservedLock = { file, result in
            guard let this = SourceFile.of(file), let result else { return ResultCode.lockError }
            result.pointee = 0
            guard this.pointee.descriptor >= 0 else { return SQLITE_OK }
            var lock = SourceFile.lock(F_WRLCK, SourceFile.reservedByte, 1)
            if fcntl(this.pointee.descriptor, SourceFile.getLock, &lock) == 0, lock.l_type != Int16(F_UNLCK) {
                result.pointee = 1
            }
            return SQLITE_OK
        }
        io.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        io.xSectorSize = { _ in 4096 }
        io.xDeviceCharacteristics = { _ in 0 }
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        table.initialize(to: io)
        return UnsafePointer(table)
    }()
}
