import CSQLite
import Diagnostics
import Glibc
import SpillStorage
import Synchronization

/// A shim over SQLite's default VFS for the destination's connection. Temporary files go into a given directory, without names,
/// and all written bytes are counted.
///
/// There is one instance for each directory, and it must outlive its connections. Named files are those of the default VFS,
/// with the usual locks, shared memory and syncs.
package final class WorkVFS: RegisteredVFS, @unchecked Sendable {
    package let temporaryDirectory: String
    /// The number of bytes written to database, -wal and journal files.
    package let written = WriteCounter()
    /// The number of bytes written to temporary files.
    package let spilled = WriteCounter()

    /// Registers the VFS.
    ///
    /// - Parameter temporaryDirectory: an existing directory.
    package init(temporaryDirectory: String) {
        self.temporaryDirectory = temporaryDirectory
        var table = DelegatingVFS.make()
        table.szOsFile = Int32(CountedFile.structureSize)
        table.xOpen = { vfs, name, file, flags, outFlags in
            guard let this = WorkVFS.of(vfs), let file else { return SQLITE_CANTOPEN }
            file.pointee.pMethods = nil
            guard let name else {
                outFlags?.pointee = flags
                return CountedFile.openTemporary(file, in: this.temporaryDirectory, flags, counter: this.spilled)
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
                // A file that cannot be opened for writing was opened for reading, which is of no use here.
                _ = file.pointee.pMethods?.pointee.xClose?(file)
                file.pointee.pMethods = nil
                return FailedCall.note(SQLITE_CANTOPEN, number: WorkVFS.reason(name, flags))
            }
            CountedFile.attach(to: file, counter: this.written)
            return SQLITE_OK
        }
        table.xDelete = { vfs, name, sync in
            guard let standard = DelegatingVFS.standard, let delete = standard.pointee.xDelete else {
                return ResultCode.deleteError
            }
            let code = delete(standard, name, sync)
            // Deleting a missing file is not a failure.
            return code == ResultCode.deletesNothing ? code : FailedCall.note(code)
        }
        super.init(name: Self.freshName("stagecoach-work"), table)
    }

    /// Makes a missing file. Returns false on failure, with the reason in `errno`; the default VFS would try other ways and
    /// lose the reason. An existing file is not opened, because closing another descriptor of it would drop its locks.
    fileprivate static func make(_ name: UnsafePointer<CChar>) -> Bool {
        let owner = owner(name)
        // Files of their own are work files.
        let mode = owner.map { $0.st_mode & 0o777 } ?? 0o600
        let descriptor = SystemCall.uninterrupted {
            Glibc.open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        }
        guard descriptor >= 0 else { return errno == EEXIST }
        // Like the default VFS: the users of the store, and nobody else, may use its files.
        if let owner {
            _ = fchmod(descriptor, mode)
            if geteuid() == 0 { _ = fchown(descriptor, owner.st_uid, owner.st_gid) }
        }
        Glibc.close(descriptor)
        return true
    }

    /// Returns the status of the database to which a `-wal` or `-journal` belongs; nil for a file of its own.
    private static func owner(_ name: UnsafePointer<CChar>) -> stat? {
        let path = String(cString: name)
        for suffix in ["-wal", "-journal"] where path.hasSuffix(suffix) {
            var status = stat()
            return stat(String(path.dropLast(suffix.count)), &status) == 0 ? status : nil
        }
        return nil
    }

    /// Returns the error number of a failed open. It opens the file again, because the default VFS has tried other ways since
    /// and overwritten `errno`.
    private static func reason(_ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
        let number = errno
        let mode = flags & SQLITE_OPEN_READWRITE != 0 ? O_RDWR : O_RDONLY
        let descriptor = SystemCall.uninterrupted { Glibc.open(name, mode | O_CLOEXEC) }
        if descriptor >= 0 {
            Glibc.close(descriptor)
            return EIO
        }
        // The absence of a file that should be created is not the reason.
        return errno != ENOENT ? errno : flags & SQLITE_OPEN_CREATE != 0 && number == ENOENT ? EIO : number
    }
}

/// A file structure placed after that of the default VFS. Its functions replace those that write, fail or close.
///
/// The file stays that of the default VFS, and all other functions are called directly, so locks and shared memory need no
/// delegation.
struct CountedFile {
    /// The size in bytes of the structure that SQLite allocates for each file (`szOsFile`): that of the default VFS, then this one.
    static var structureSize: Int { DelegatingVFS.standardFileSize + MemoryLayout<CountedFile>.stride }

    private var methods: sqlite3_io_methods
    private var original: UnsafePointer<sqlite3_io_methods>
    private var counter: Unmanaged<WriteCounter>

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<CountedFile> {
        (UnsafeMutableRawPointer(file) + DelegatingVFS.standardFileSize).assumingMemoryBound(to: CountedFile.self)
    }

    /// Opens a file for SQLite's sorts. The default VFS unlinks it at once; a crash before that leaves an empty spill file, which
    /// the next run removes.
    ///
    /// - Parameter flags: those of SQLite, SQLITE_OPEN_DELETEONCLOSE among them.
    /// - Returns: an SQLite result code.
    static func openTemporary(
        _ file: UnsafeMutablePointer<sqlite3_file>, in directory: String, _ flags: Int32, counter: WriteCounter
    ) -> Int32 {
        let name = "\(directory)/sort-\(String(UInt64.random(in: 0 ... .max), radix: 36)).spill"
        guard WorkVFS.make(name) else { return FailedCall.note(SQLITE_CANTOPEN) }
        let flags = flags & ~SQLITE_OPEN_EXCLUSIVE
        let code = DelegatingVFS.standard.flatMap { $0.pointee.xOpen?($0, name, file, flags, nil) } ?? SQLITE_CANTOPEN
        guard code == SQLITE_OK else { return FailedCall.note(code) }
        attach(to: file, counter: counter)
        // Version 1: of a file of a later one, SQLite asks for space in advance, and some file systems write it for that.
        of(file).pointee.methods.iVersion = 1
        return SQLITE_OK
    }

    fileprivate static func attach(to file: UnsafeMutablePointer<sqlite3_file>, counter: WriteCounter) {
        guard let original = file.pointee.pMethods else { return }
        var methods = original.pointee
        countWrites(&methods)
        noteFailures(&methods)
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
            to: CountedFile(
                methods: methods, original: original, counter: Unmanaged.passRetained(counter)))
        // The table is the first member of the structure.
        file.pointee.pMethods = UnsafeRawPointer(place).assumingMemoryBound(to: sqlite3_io_methods.self)
    }

    /// Replaces the functions that change a file: writes are counted, and the reasons of failures noted.
    private static func countWrites(_ methods: inout sqlite3_io_methods) {
        methods.xWrite = { file, buffer, count, offset in
            guard let file else { return ResultCode.writeError }
            let this = CountedFile.of(file)
            guard let write = this.pointee.original.pointee.xWrite else { return ResultCode.writeError }
            this.pointee.counter._withUnsafeGuaranteedRef { $0.add(Int(count)) }
            return FailedCall.note(write(file, buffer, count, offset))
        }
        methods.xTruncate = { file, size in
            guard let file, let truncate = CountedFile.of(file).pointee.original.pointee.xTruncate else {
                return ResultCode.truncateError
            }
            return FailedCall.note(truncate(file, size))
        }
    }

    /// Replaces functions by those that note the reason of a failure.
    private static func noteFailures(_ methods: inout sqlite3_io_methods) {
        methods.xRead = { file, buffer, count, offset in
            guard let file, let read = CountedFile.of(file).pointee.original.pointee.xRead else {
                return ResultCode.readError
            }
            return FailedCall.note(read(file, buffer, count, offset))
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
            // The default VFS takes a file whose status cannot be read for a moved one.
            let isMoved = argument.assumingMemoryBound(to: Int32.self).pointee != 0
            guard code == SQLITE_OK, isMoved, errno != 0, errno != ENOENT else { return code }
            return FailedCall.note(ResultCode.statError)
        }
    }
}

/// Counts the bytes written through a VFS of Stagecoach. SQLite's thread counts, and any thread may read.
package final class WriteCounter: Sendable {
    private let total = Atomic<Int64>(0)

    package init() {}

    /// The number of bytes so far.
    package var bytes: Int64 { total.load(ordering: .relaxed) }

    func add(_ count: Int) { total.add(Int64(count), ordering: .relaxed) }
}
