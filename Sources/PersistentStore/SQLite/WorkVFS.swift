import CSQLite
import Diagnostics
import Glibc
import SpillStorage
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
    /// The sums of the databases that are open for writing.
    private let sums = OpenSums()
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
            let isWritten = given & SQLITE_OPEN_READWRITE != 0
            let sums = isWritten ? this.sums.open(String(cString: name), flags) : nil
            CountedFile.attach(
                to: file, counter: this.written, sums: sums, isJournal: flags & SQLITE_OPEN_MAIN_JOURNAL != 0)
            return SQLITE_OK
        }
        table.xDelete = { vfs, name, sync in
            if let name, let data = vfs?.pointee.pAppData {
                Unmanaged<WorkVFS>.fromOpaque(data).takeUnretainedValue().sums.willDelete(String(cString: name))
            }
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
        // Files of its own are work files.
        let mode = owner.map { $0.st_mode & 0o777 } ?? 0o600
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

/// The sums of databases that a later run may go on with, as long as connections have them open for writing.
private final class OpenSums: @unchecked Sendable {
    private struct Entry {
        weak var sums: FileSums?
    }

    // The lock guards the entries. The sums themselves belong to the thread of their connection.
    private let lock = Mutex(())
    private var entries: [String: Entry] = [:]
    private static let journal = "-journal"

    /// The sums of a database that is opened, or whose journal is; nil where it has none.
    func open(_ path: String, _ flags: Int32) -> FileSums? {
        if flags & SQLITE_OPEN_MAIN_DB != 0 {
            let sums = FileSums(of: path)
            lock.withLock { _ in entries[path] = sums.map(Entry.init) }
            return sums
        }
        guard flags & SQLITE_OPEN_MAIN_JOURNAL != 0 else { return nil }
        let sums = find(journal: path)
        sums?.beginTransaction()
        return sums
    }

    /// A journal is about to be deleted: the transaction has ended.
    func willDelete(_ path: String) { find(journal: path)?.endTransaction() }

    private func find(journal path: String) -> FileSums? {
        guard path.hasSuffix(Self.journal) else { return nil }
        let database = String(path.dropLast(Self.journal.count))
        return lock.withLock { _ in entries[database] }?.sums
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
    /// The sums of the database; nil where it has none.
    private var sums: Unmanaged<FileSums>?
    /// Whether the file is that database's rollback journal.
    private var isJournal: Bool

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<CountedFile> {
        (UnsafeMutableRawPointer(file) + DelegatingVFS.standardFileSize).assumingMemoryBound(to: CountedFile.self)
    }

    /// Reads a block of the file; zeros stand behind its end.
    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>, _ space: UnsafeMutableRawBufferPointer, _ place: Int
    ) -> Bool {
        let code = CountedFile.of(file).pointee.original.pointee.xRead?(
            file, space.baseAddress, Int32(space.count), sqlite3_int64(place))
        return code == SQLITE_OK || code == ResultCode.shortRead
    }

    static func attach(
        to file: UnsafeMutablePointer<sqlite3_file>, counter: WriteCounter, sums: FileSums?, isJournal: Bool
    ) {
        guard let original = file.pointee.pMethods else { return }
        var methods = original.pointee
        methods.xWrite = { file, buffer, count, offset in
            guard let file else { return ResultCode.writeError }
            let this = CountedFile.of(file)
            guard let write = this.pointee.original.pointee.xWrite else { return ResultCode.writeError }
            this.pointee.counter._withUnsafeGuaranteedRef { $0.add(Int(count)) }
            let code = write(file, buffer, count, offset)
            if code == SQLITE_OK, let sums = this.pointee.sums {
                let bytes = UnsafeRawBufferPointer(start: buffer, count: Int(count))
                let isJournal = this.pointee.isJournal
                sums._withUnsafeGuaranteedRef { sums in
                    if !isJournal {
                        sums.note(bytes, at: Int(offset)) { CountedFile.read(file, $0, $1) }
                    } else if offset == 0, bytes.first == 0 {
                        // A journal that is neither deleted nor cut off ends with zeros in its header.
                        sums.endTransaction()
                    }
                }
            }
            return FailedCall.note(code)
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
            let code = truncate(file, size)
            if code == SQLITE_OK, let sums = CountedFile.of(file).pointee.sums {
                let isJournal = CountedFile.of(file).pointee.isJournal
                let part = Int(size) % FileSums.block
                sums._withUnsafeGuaranteedRef { sums in
                    if isJournal {
                        if size == 0 { sums.endTransaction() }
                    } else if part > 0 {
                        sums.noteBlock(at: Int(size) - part) { CountedFile.read(file, $0, $1) }
                    }
                }
            }
            return FailedCall.note(code)
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
            this.pointee.sums?.release()
            this.deinitialize(count: 1)
            return original.pointee.xClose?(file) ?? SQLITE_OK
        }
        let place = (UnsafeMutableRawPointer(file) + DelegatingVFS.standardFileSize)
            .bindMemory(to: CountedFile.self, capacity: 1)
        place.initialize(
            to: CountedFile(
                methods: methods, original: original, counter: Unmanaged.passRetained(counter),
                sums: sums.map { Unmanaged.passRetained($0) }, isJournal: isJournal))
        // The table is the structure's first member.
        file.pointee.pMethods = UnsafeRawPointer(place).assumingMemoryBound(to: sqlite3_io_methods.self)
    }
}
