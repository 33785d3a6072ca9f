import CSQLite
import Diagnostics
import Glibc
import Synchronization

/// A shim over SQLite's default VFS for the destination's connection: temporary files go into a given directory,
/// without a name, and all bytes written are counted.
///
/// One instance a directory; it must outlive its connections. Files with a name are the default VFS's own, with
/// locks, shared memory and syncs as usual.
package final class WorkVFS: @unchecked Sendable {
    private static let nextNumber = Atomic<Int>(1)

    /// The name to open a connection with.
    package let name: String
    package let temporaryDirectory: String
    /// Bytes written to database, -wal and journal files.
    package let written = WriteCounter()
    /// Bytes written to temporary files.
    package let spilled = WriteCounter()
    // Set once in the initialiser and read by SQLite; immutable afterwards.
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private let nameBytes: UnsafeMutablePointer<CChar>
    private let isRegistered: Atomic<Bool>

    /// Registers the VFS.
    ///
    /// - Parameter temporaryDirectory: an existing directory.
    package init(temporaryDirectory: String) {
        let number = WorkVFS.nextNumber.add(1, ordering: .relaxed).newValue
        name = "stagecoach-work-\(number)"
        self.temporaryDirectory = temporaryDirectory
        nameBytes = strdup(name)
        vfs = .allocate(capacity: 1)
        var table = DelegatingVFS.make()
        table.zName = UnsafePointer(nameBytes)
        table.szOsFile = Int32(
            max(DelegatingVFS.standardFileSize + MemoryLayout<CountedFile>.stride, TemporaryFile.structureSize))
        table.xOpen = { vfs, name, file, flags, outFlags in
            guard let data = vfs?.pointee.pAppData, let file else { return SQLITE_CANTOPEN }
            let this = Unmanaged<WorkVFS>.fromOpaque(data).takeUnretainedValue()
            file.pointee.pMethods = nil
            guard let name else {
                outFlags?.pointee = flags
                return TemporaryFile.open(file, directory: this.temporaryDirectory, counter: this.spilled)
            }
            guard let standard = DelegatingVFS.standard, let open = standard.pointee.xOpen else {
                return SQLITE_CANTOPEN
            }
            if flags & SQLITE_OPEN_CREATE != 0, flags & SQLITE_OPEN_EXCLUSIVE == 0, !WorkVFS.make(name) {
                return FailedCall.note(SQLITE_CANTOPEN)
            }
            var given: Int32 = 0
            let code = open(standard, name, file, flags, &given)
            outFlags?.pointee = given
            guard code == SQLITE_OK else { return FailedCall.note(code, number: WorkVFS.reason(name, flags)) }
            if flags & SQLITE_OPEN_READWRITE != 0, given & SQLITE_OPEN_READONLY != 0 {
                // What could not be opened for writing was opened for reading: nothing is gained by that.
                _ = file.pointee.pMethods?.pointee.xClose?(file)
                file.pointee.pMethods = nil
                return FailedCall.note(SQLITE_CANTOPEN, number: WorkVFS.reason(name, flags))
            }
            CountedFile.attach(to: file, counter: this.written)
            return SQLITE_OK
        }
        table.xDelete = { _, name, sync in
            guard let standard = DelegatingVFS.standard, let delete = standard.pointee.xDelete else {
                return ResultCode.deleteError
            }
            let code = delete(standard, name, sync)
            // A file that is not there is no failure.
            return code == ResultCode.deletesNothing ? code : FailedCall.note(code)
        }
        vfs.initialize(to: table)
        isRegistered = Atomic(true)
        vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_vfs_register(vfs, 0)
    }

    /// Makes a file that is not there; false where that fails, `errno` says why: the default VFS would try other ways and
    /// forget it. A file that is there is left alone: closing another descriptor of it would drop its locks.
    private static func make(_ name: UnsafePointer<CChar>) -> Bool {
        let owner = owner(name)
        let mode = owner.map { $0.st_mode & 0o777 } ?? 0o644
        let descriptor = SystemCall.uninterrupted {
            Glibc.open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        }
        guard descriptor >= 0 else { return errno == EEXIST }
        // As the default VFS does: who may use the store may use its files, and nobody else.
        if let owner {
            _ = fchmod(descriptor, mode)
            if geteuid() == 0 { _ = fchown(descriptor, owner.st_uid, owner.st_gid) }
        }
        Glibc.close(descriptor)
        return true
    }

    /// The database that a `-wal` or a `-journal` belongs to; nil for a file of its own.
    private static func owner(_ name: UnsafePointer<CChar>) -> stat? {
        let path = String(cString: name)
        for suffix in ["-wal", "-journal"] where path.hasSuffix(suffix) {
            var status = stat()
            return stat(String(path.dropLast(suffix.count)), &status) == 0 ? status : nil
        }
        return nil
    }

    /// Why a file could not be opened: the default VFS has tried other ways since, and `errno` is theirs.
    private static func reason(_ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
        let number = errno
        let mode = flags & SQLITE_OPEN_READWRITE != 0 ? O_RDWR : O_RDONLY
        let descriptor = SystemCall.uninterrupted { Glibc.open(name, mode | O_CLOEXEC) }
        if descriptor >= 0 {
            Glibc.close(descriptor)
            return EIO
        }
        // A file that was to be made is not there, which is no reason.
        return errno != ENOENT ? errno : flags & SQLITE_OPEN_CREATE != 0 && number == ENOENT ? EIO : number
    }

    deinit {
        close()
        vfs.deallocate()
        free(nameBytes)
    }

    /// Takes the VFS out of SQLite's list. No connection may use it any more.
    package func close() {
        if isRegistered.exchange(false, ordering: .relaxed) { sqlite3_vfs_unregister(vfs) }
    }
}

/// Stands behind the default VFS's file structure: its functions, of which ours are those that write, fail or close.
///
/// The file stays the default VFS's own and all other functions are called directly, so nothing of locks and shared
/// memory has to be passed on.
private struct CountedFile {
    private var methods: sqlite3_io_methods
    private var original: UnsafePointer<sqlite3_io_methods>
    private var counter: Unmanaged<WriteCounter>

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<CountedFile> {
        (UnsafeMutableRawPointer(file) + DelegatingVFS.standardFileSize).assumingMemoryBound(to: CountedFile.self)
    }

    static func attach(to file: UnsafeMutablePointer<sqlite3_file>, counter: WriteCounter) {
        guard let original = file.pointee.pMethods else { return }
        var methods = original.pointee
        methods.xWrite = { file, buffer, count, offset in
            guard let file else { return ResultCode.writeError }
            let this = CountedFile.of(file)
            guard let write = this.pointee.original.pointee.xWrite else { return ResultCode.writeError }
            this.pointee.counter._withUnsafeGuaranteedRef { $0.add(Int(count)) }
            return FailedCall.note(write(file, buffer, count, offset))
        }
        methods.xRead = { file, buffer, count, offset in
            guard let file, let read = CountedFile.of(file).pointee.original.pointee.xRead else {
                return ResultCode.readError
            }
            return FailedCall.note(read(file, buffer, count, offset))
        }
        methods.xTruncate = { file, size in
            guard let file, let truncate = CountedFile.of(file).pointee.original.pointee.xTruncate else {
                return ResultCode.truncateError
            }
            return FailedCall.note(truncate(file, size))
        }
        methods.xSync = { file, flags in
            guard let file, let sync = CountedFile.of(file).pointee.original.pointee.xSync else {
                return ResultCode.writeError
            }
            return FailedCall.note(sync(file, flags))
        }
        methods.xFileControl = { file, operation, argument in
            guard let file, let control = CountedFile.of(file).pointee.original.pointee.xFileControl else {
                return SQLITE_NOTFOUND
            }
            guard operation == SQLITE_FCNTL_HAS_MOVED, let argument else { return control(file, operation, argument) }
            errno = 0
            let code = control(file, operation, argument)
            // The default VFS takes a file that cannot be looked up for one that was moved.
            let isMoved = argument.assumingMemoryBound(to: Int32.self).pointee != 0
            guard code == SQLITE_OK, isMoved, errno != 0, errno != ENOENT else { return code }
            return FailedCall.note(ResultCode.statError)
        }
        methods.xClose = { file in
            guard let file else { return SQLITE_OK }
            let this = CountedFile.of(file)
            let original = this.pointee.original
            file.pointee.pMethods = original
            this.pointee.counter.release()
            this.deinitialize(count: 1)
            return original.pointee.xClose?(file) ?? SQLITE_OK
        }
        let place = (UnsafeMutableRawPointer(file) + DelegatingVFS.standardFileSize)
            .bindMemory(to: CountedFile.self, capacity: 1)
        place.initialize(
            to: CountedFile(methods: methods, original: original, counter: Unmanaged.passRetained(counter)))
        // The table is the structure's first member.
        file.pointee.pMethods = UnsafeRawPointer(place).assumingMemoryBound(to: sqlite3_io_methods.self)
    }
}
