import CSQLite
import Diagnostics
import Glibc
import Synchronization

/// SQLite's default VFS, and a table of functions that delegates to it: the base of Stagecoach's own VFSs.
enum DelegatingVFS {
    /// The platform's VFS, which lives as long as the process.
    nonisolated(unsafe) static let standard: UnsafeMutablePointer<sqlite3_vfs>? = {
        sqlite3_initialize()
        return sqlite3_vfs_find("unix") ?? sqlite3_vfs_find(nil)
    }()

    /// The size of the default VFS's file structure, rounded up so that more fields can follow it.
    static let standardFileSize: Int = (Int(standard?.pointee.szOsFile ?? 0) + 15) & ~15

    /// Returns a VFS that behaves like the default one, for the caller to name and change. It neither opens nor deletes files.
    ///
    /// Version 2: it has the millisecond clock, and no replaceable table of system calls.
    static func make() -> sqlite3_vfs {
        var vfs = sqlite3_vfs()
        vfs.iVersion = 2
        vfs.szOsFile = Int32(standardFileSize)
        vfs.mxPathname = standard?.pointee.mxPathname ?? 1024
        vfs.xAccess = { _, name, flags, result in
            DelegatingVFS.standard.flatMap { $0.pointee.xAccess?($0, name, flags, result) } ?? SQLITE_IOERR
        }
        vfs.xFullPathname = { _, name, count, result in
            // The default VFS would follow the link to the folder's name, and open the file by that.
            if let name, let result, String(cString: name).hasPrefix(OpenFolders.prefix) {
                guard strlen(name) < count else { return SQLITE_CANTOPEN }
                strcpy(result, name)
                return SQLITE_OK
            }
            return DelegatingVFS.standard.flatMap { $0.pointee.xFullPathname?($0, name, count, result) }
                ?? SQLITE_CANTOPEN
        }
        // No extension is ever loaded.
        vfs.xDlOpen = { _, _ in nil }
        vfs.xDlError = { _, count, message in if count > 0 { message?.pointee = 0 } }
        vfs.xDlSym = { _, _, _ in nil }
        vfs.xDlClose = { _, _ in }
        vfs.xRandomness = { _, count, bytes in
            DelegatingVFS.standard.flatMap { $0.pointee.xRandomness?($0, count, bytes) } ?? 0
        }
        vfs.xSleep = { _, microseconds in
            DelegatingVFS.standard.flatMap { $0.pointee.xSleep?($0, microseconds) } ?? 0
        }
        vfs.xGetLastError = { _, count, message in
            DelegatingVFS.standard.flatMap { $0.pointee.xGetLastError?($0, count, message) } ?? 0
        }
        vfs.xCurrentTimeInt64 = { _, time in
            DelegatingVFS.standard.flatMap { $0.pointee.xCurrentTimeInt64?($0, time) } ?? SQLITE_ERROR
        }
        return vfs
    }
}

/// A VFS of Stagecoach, registered with SQLite until ``close()``. It must outlive its connections.
package class RegisteredVFS: @unchecked Sendable {
    private static let nextNumber = Atomic<Int>(1)

    /// The name under which the VFS is registered. A connection that is opened with this name uses it.
    package let name: String
    // Set once in the initialiser and read by SQLite; immutable afterwards.
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private let nameBytes: UnsafeMutablePointer<CChar>
    private let isRegistered = Atomic(true)

    /// Registers a table of functions, which find their VFS with ``of(_:)``.
    init(name: String, _ table: sqlite3_vfs) {
        self.name = name
        nameBytes = strdup(name)
        vfs = .allocate(capacity: 1)
        vfs.initialize(to: table)
        vfs.pointee.zName = UnsafePointer(nameBytes)
        vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_vfs_register(vfs, 0)
    }

    deinit {
        close()
        vfs.deallocate()
        free(nameBytes)
    }

    /// Unregisters the VFS. No connection may use it any more.
    package func close() {
        if isRegistered.exchange(false, ordering: .relaxed) { sqlite3_vfs_unregister(vfs) }
    }

    /// Returns a name that no other VFS has.
    static func freshName(_ prefix: String) -> String { "\(prefix)-\(nextNumber.add(1, ordering: .relaxed).oldValue)" }

    /// Returns the object of a table that SQLite calls.
    static func of(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> Self? {
        vfs?.pointee.pAppData.flatMap { Unmanaged<RegisteredVFS>.fromOpaque($0).takeUnretainedValue() as? Self }
    }
}
