import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import TestSupport
import Testing

@Suite("Sources are read without changing a byte")
struct ReadingVFSTests {
    /// All real stores.
    static let stores = SharedStores.paths(withExtensions: ["sqlite", "wiredatabase", "moody"])

    /// Every row of every table as text, by table.
    static func dump(_ connection: Connection) throws -> [String: [String]] {
        var result: [String: [String]] = [:]
        let tables = try connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        while try tables.step() {
            guard let name = tables.text(0) else { continue }
            let statement = try connection.prepare("SELECT rowid, * FROM \"\(name)\"")
            var rows: [String] = []
            while try statement.step() {
                rows.append(
                    (0..<sqlite3_column_count(statement.handle)).map { column in
                        let bytes = statement.blob(column)?.description ?? "nil"
                        return "\(statement.type(column)):\(bytes)"
                    }.joined(separator: ","))
            }
            result[name] = rows
        }
        return result
    }

    @Test(
        "A real store gives what stock SQLite gives, and stays as it is",
        .enabled(if: SharedStores.isPresent, "the shared stores are absent"), arguments: stores)
    func realStore(url: URL) throws {
        let folder = try TemporaryFolder()
        let path = try folder.copyStore(url)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) { chmod(folder.file(name), 0o444) }
        chmod(folder.path, 0o555)
        defer { chmod(folder.path, 0o755) }
        let before = try state(of: folder.url)
        let connection = try Connection.openSource(path: path, vfs: .standard)
        let read = try Self.dump(connection)
        try connection.close()
        #expect(try state(of: folder.url) == before)

        let other = try TemporaryFolder()
        let stock = try ReadingFixture.stock(try other.copyStore(url))
        #expect(try Self.dump(stock) == read)
        #expect(read.values.contains { !$0.isEmpty })
    }

    @Test(
        "Rows that are only in the -wal are read", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
    func rowsOfTheLog() throws {
        let url = SharedStores.url.appendingPathComponent("ddg-bookmarks/stores/Bookmarks_V1.sqlite")
        let folder = try TemporaryFolder()
        let path = try folder.copyStore(url)
        func count() throws -> Int64? {
            let connection = try Connection.openSource(path: path, vfs: .standard)
            return try connection.integer("SELECT count(*) FROM ZBOOKMARKENTITY")
        }
        let with = try #require(try count())
        try FileManager.default.removeItem(atPath: path + "-wal")
        #expect(try count() == 0)
        #expect(with > 0)
    }

    @Test("A store in WAL mode is read with its -wal, without it, and with a torn tail, whether there is a -shm or not")
    func logs() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("log.sqlite")
        let writer = try ReadingFixture.stock(path)
        _ = try writer.prepare("PRAGMA journal_mode=WAL").step()
        try writer.execute("PRAGMA wal_autocheckpoint=0")
        try writer.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b)")
        try writer.execute("INSERT INTO t VALUES (1, 'one')")
        _ = try writer.prepare("PRAGMA wal_checkpoint(TRUNCATE)").step()
        try writer.execute("INSERT INTO t VALUES (2, 'two')")
        let committed = try #require(FileManager.default.contents(atPath: path + "-wal"))
        try writer.execute("INSERT INTO t VALUES (3, 'three')")
        let main = try #require(FileManager.default.contents(atPath: path))
        let log = try #require(FileManager.default.contents(atPath: path + "-wal"))
        #expect(log.count > committed.count)

        func count(wal: Data?, shm: Bool) throws -> Int64? {
            let copy = try TemporaryFolder()
            try main.write(to: copy.url.appendingPathComponent("a.sqlite"))
            try wal?.write(to: copy.url.appendingPathComponent("a.sqlite-wal"))
            if shm {
                // Of another life of the store: it must not be believed.
                try Data(repeating: 0xa5, count: 32768).write(to: copy.url.appendingPathComponent("a.sqlite-shm"))
            }
            let before = try state(of: copy.url)
            let connection = try Connection.openSource(path: copy.file("a.sqlite"), vfs: .standard)
            let count = try connection.integer("SELECT count(*) FROM t")
            try connection.close()
            #expect(try state(of: copy.url) == before)
            return count
        }
        for shm in [false, true] {
            #expect(try count(wal: log, shm: shm) == 3)
            #expect(try count(wal: nil, shm: shm) == 1)
            #expect(try count(wal: Data(), shm: shm) == 1)
            // The last transaction is cut, or damaged: the one before it is the state.
            #expect(try count(wal: log.dropLast(100), shm: shm) == 2)
            var damaged = log
            damaged[damaged.count - 1] ^= 1
            damaged[damaged.count - 2000] ^= 1
            #expect(try count(wal: damaged, shm: shm) == 2)
            #expect(try count(wal: Data(repeating: 7, count: 5000), shm: shm) == 1)
        }
    }

    @Test("Nothing can be written through the VFS")
    func writes() throws {
        _ = SourceVFS.standard
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        let stock = try ReadingFixture.stock(path)
        try stock.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (1, 2)")
        try stock.close()
        let before = try state(of: folder.url)
        for flags in [SQLITE_OPEN_READONLY, SQLITE_OPEN_READWRITE, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE] {
            let connection = try Connection(path: path, flags: flags, vfs: SourceVFS.fixedName)
            try connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            for sql in [
                "INSERT INTO t VALUES (2, 3)", "DELETE FROM t", "DROP TABLE t", "CREATE TABLE u (a)", "VACUUM",
                "PRAGMA user_version=3", "CREATE INDEX i ON t (b)",
            ] {
                #expect(failure { try connection.execute(sql) } != nil, "\(sql)")
            }
            _ = try? connection.prepare("PRAGMA journal_mode=WAL").step()
            #expect(try connection.integer("SELECT count(*) FROM t") == 1)
        }
        #expect(try state(of: folder.url) == before)
        #expect(
            failure {
                _ = try Connection(
                    path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                    vfs: SourceVFS.fixedName)
            } != nil)
        #expect(try state(of: folder.url) == before)
    }

    @Test("The functions of a file refuse writing, truncating and deleting")
    func functions() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        let stock = try ReadingFixture.stock(path)
        try stock.execute("CREATE TABLE t (a)")
        try stock.close()
        let before = try state(of: folder.url)
        let connection = try Connection.openSource(path: path, vfs: .standard)
        _ = try connection.integer("SELECT count(*) FROM t")
        var file: UnsafeMutablePointer<sqlite3_file>?
        #expect(sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK)
        let methods = try #require(file?.pointee.pMethods).pointee
        #expect(methods.iVersion == 1)
        var bytes: [UInt8] = [1, 2, 3]
        #expect(methods.xWrite(file, &bytes, 3, 0) & 0xff == SQLITE_IOERR)
        #expect(methods.xTruncate(file, 0) & 0xff == SQLITE_IOERR)
        let vfs = try #require(sqlite3_vfs_find(SourceVFS.fixedName))
        #expect(vfs.pointee.xDelete(vfs, path, 0) & 0xff == SQLITE_IOERR)
        // A read past the end is filled with zeros.
        var space = [UInt8](repeating: 9, count: 64)
        let end = Int64(try #require(FileManager.default.contents(atPath: path)).count)
        #expect(methods.xRead(file, &space, 64, end - 10) == SQLITE_IOERR | (2 << 8))
        #expect(space[10...].allSatisfy { $0 == 0 })
        #expect(try state(of: folder.url) == before)
    }

    @Test("A reader holds off a rollback writer, and is held off by one")
    func locks() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        let stock = try ReadingFixture.stock(path)
        try stock.execute("CREATE TABLE t (a)")
        let reader = try Connection.openSource(path: path, vfs: .standard)
        try reader.execute("BEGIN")
        #expect(try reader.integer("SELECT count(*) FROM t") == 0)
        let busy = failure { try stock.execute("INSERT INTO t VALUES (1)") }
        #expect(busy?.code == "store.busy")
        try reader.execute("COMMIT")
        try reader.close()
        try stock.execute("INSERT INTO t VALUES (1)")

        try stock.execute("BEGIN EXCLUSIVE")
        let late = try Connection.openSource(path: path, vfs: .standard)
        sqlite3_busy_timeout(late.handle, 0)
        #expect(failure { _ = try late.integer("SELECT count(*) FROM t") }?.code == "store.busy")
        try stock.execute("COMMIT")
        #expect(try late.integer("SELECT count(*) FROM t") == 1)
    }

    @Test("Sorts spill into the given directory, and leave nothing there")
    func temporaryFiles() throws {
        let folder = try TemporaryFolder()
        let work = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        let stock = try ReadingFixture.stock(path)
        try stock.execute(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                + "WHERE i < 30000) INSERT INTO t SELECT i, hex(randomblob(100)) FROM n")
        try stock.close()
        let vfs = SourceVFS(temporaryDirectory: work.path)
        let connection = try Connection.openSource(path: path, vfs: vfs)
        try connection.execute("PRAGMA temp_store=FILE; PRAGMA cache_size=-64")
        let statement = try connection.prepare("SELECT b FROM t ORDER BY b")
        var last = ""
        var rows = 0
        while try statement.step() {
            let text = statement.text(0) ?? ""
            #expect(text >= last)
            last = text
            rows += 1
            if rows == 1 { #expect(try FileManager.default.contentsOfDirectory(atPath: work.path).isEmpty) }
        }
        #expect(rows == 30000)
        #expect(vfs.written.bytes > 1_000_000)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.sqlite"])
    }

    @Test("The destination's VFS spills without names, counts, and else behaves as SQLite's own")
    func workVFS() throws {
        let folder = try TemporaryFolder()
        let work = try TemporaryFolder()
        let vfs = WorkVFS(temporaryDirectory: work.path)
        let path = folder.file("a.sqlite")
        let connection = try Connection(
            path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs: vfs.name, keeping: vfs)
        _ = try connection.prepare("PRAGMA journal_mode=WAL").step()
        try connection.execute("PRAGMA temp_store=FILE; PRAGMA cache_size=-64")
        try connection.execute(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                + "WHERE i < 30000) INSERT INTO t SELECT i, hex(randomblob(100)) FROM n; CREATE INDEX i ON t (b)")
        #expect(vfs.spilled.bytes > 1_000_000)
        #expect(vfs.written.bytes > 6_000_000)
        #expect(try FileManager.default.contentsOfDirectory(atPath: work.path).isEmpty)
        try connection.close()
        vfs.close()
        #expect(sqlite3_vfs_find(vfs.name) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.sqlite"])
        let stock = try ReadingFixture.stock(path)
        let check = try stock.prepare("PRAGMA integrity_check")
        #expect(try check.step())
        #expect(check.text(0) == "ok")
        #expect(try stock.integer("SELECT count(*) FROM t") == 30000)
    }

    /// A file that cannot be looked up ended the run as one without permission.
    @Test("A destination that is moved or cannot be looked up meanwhile is an I/O error", arguments: [true, false])
    func moved(isFolderGone: Bool) throws {
        let folder = try TemporaryFolder()
        let work = try TemporaryFolder()
        let vfs = WorkVFS(temporaryDirectory: work.path)
        let inner = folder.file("inner")
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        let connection = try Connection(
            path: inner + "/a.sqlite", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs: vfs.name, keeping: vfs)
        try connection.execute("CREATE TABLE t (a)")
        try FileManager.default.moveItem(atPath: inner, toPath: folder.file("elsewhere"))
        if isFolderGone {
            try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        } else {
            // A lookup below what is no folder fails with another number than that of a file that is not there.
            try Data("a".utf8).write(to: URL(fileURLWithPath: inner))
        }
        let error = #expect(throws: MigrationError.self) { try connection.execute("INSERT INTO t VALUES (1)") }
        #expect(error?.category == .io)
        #expect(error?.code == (isFolderGone ? "store.moved" : "store.io"))
        #expect(
            error?.message.contains(isFolderGone ? "moved or removed" : "Not a directory") == true,
            "\(error?.message ?? "")")
        try connection.close()
        vfs.close()
    }
}
