import Archives
import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import TestSupport
import Testing

@Suite("Stores open with what they say of themselves, or with a clear error")
struct ReadingStoreTests {
    let fixture = Result { try ReadingFixture() }

    @Test("Metadata, entity rows and facts of the file")
    func metadata() throws {
        let folder = try TemporaryFolder()
        let store = try SourceStore(testing: try fixture.get().store(in: folder))
        #expect(store.metadata.uuid == "6F9619FF-8B86-D011-B42D-00CF4FC964FF")
        #expect(store.metadata.versionHashes == ["Person": [1, 2, 3]])
        #expect(store.metadata.versionHashesVersion == 3)
        #expect(store.metadata.versionIdentifiers == ["v1"])
        #expect(store.metadata.frameworkVersion == 1526)
        #expect(store.metadata.versionChecksum == nil)
        #expect(store.metadata.applicationValues.map(\.key) == ["appKey"])
        #expect(store.metadata.applicationValues.map(\.value) == [.string("kept")])
        #expect(store.primaryKeys.map(\.name) == ["Animal", "Dog", "Person", "Tag"])
        #expect(store.primaryKeys.map(\.parent) == [0, 1, 0, 0])
        #expect(store.primaryKeys.map(\.maximum) == [1000, 0, 1000, 1000])
        #expect(store.file.pageSize == 4096)
        #expect(store.file.journalMode == .rollback)
        #expect(store.file.walSize == nil)
        #expect(store.isUTF8)
        try store.close()
    }

    @Test(
        "Every real store opens, its digest key where it has one",
        .enabled(if: SharedStores.isPresent, "the shared stores are absent"), arguments: ReadingVFSTests.stores)
    func realStore(url: URL) throws {
        let store = try SourceStore(testing: url.path)
        #expect(store.metadata.uuid.count == 36)
        #expect(store.metadata.storeType == "SQLite")
        #expect(store.metadata.versionHashes.values.allSatisfy { $0.count == 32 })
        #expect(!store.primaryKeys.isEmpty)
        try store.checkUnchanged()
        try store.close()
    }

    @Test("Each kind of file that is no store has its own error")
    func badInputs() throws {
        let folder = try TemporaryFolder()
        let good = try fixture.get().store(in: folder)
        let bytes = try #require(FileManager.default.contents(atPath: good))
        func error(_ content: Data?, name: String = "bad.sqlite") throws -> MigrationError? {
            let path = folder.file(name)
            try? FileManager.default.removeItem(atPath: path)
            try content?.write(to: URL(fileURLWithPath: path))
            return failure { _ = try SourceStore(testing: path) }
        }
        func expect(
            _ error: MigrationError?, _ code: MigrationError.Code, _ category: MigrationError.Category,
            location: SourceLocation = #_sourceLocation
        ) {
            #expect(error?.code == code, sourceLocation: location)
            #expect(error?.category == category, sourceLocation: location)
            #expect(error?.context.path != nil, sourceLocation: location)
        }
        expect(try error(nil), "store.notFound", .noInput)
        expect(failure { _ = try SourceStore(testing: "") }, "store.notFound", .noInput)
        expect(failure { _ = try SourceStore(testing: good + "/below") }, "store.notFound", .noInput)
        expect(failure { _ = try SourceStore(testing: folder.path) }, "store.isDirectory", .noInput)
        expect(failure { _ = try SourceStore(testing: "/dev/null") }, "store.notAFile", .noInput)
        expect(try error(Data()), "store.empty", .data)
        expect(try error(Data("hello".utf8)), "store.notADatabase", .data)
        expect(try error(Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 73) })), "store.notADatabase", .data)
        expect(try error(bytes.prefix(60)), "store.truncated", .data)
        expect(try error(bytes.prefix(bytes.count - 4096)), "store.truncated", .data)
        expect(try error(bytes.prefix(4096)), "store.truncated", .data)
        var page = bytes
        page[16] = 3
        expect(try error(page), "store.damaged", .data)
        var version = bytes
        version[19] = 9
        expect(try error(version), "store.damaged", .data)
        // Encrypted from page 1 on, but for the plain header that some leave.
        var random = SeededGenerator(seed: 5)
        var garbage = bytes
        for index in 100..<garbage.count { garbage[index] = UInt8(truncatingIfNeeded: random.next()) }
        #expect(try error(garbage)?.category == .data)

        let plain = folder.file("plain.sqlite")
        let stock = try ReadingFixture.stock(plain)
        try stock.execute("CREATE TABLE t (a)")
        try stock.close()
        expect(failure { _ = try SourceStore(testing: plain) }, "store.notCoreData", .data)

        let damaged = folder.file("metadata.sqlite")
        let other = try fixture.get().make(damaged)
        try other.execute("UPDATE Z_METADATA SET Z_PLIST = x'62706c6973743030ff'")
        try other.close()
        expect(failure { _ = try SourceStore(testing: damaged) }, "store.metadata", .data)
    }

    @Test("A symbolic link leads to the store and its -wal")
    func link() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        let writer = try fixture.get().make(path, mode: "WAL")
        try writer.execute("INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (1, 4, 1)")
        let other = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: other.file("link"), withDestinationPath: path)
        let store = try SourceStore(testing: other.file("link"))
        let layout = try store.layout(for: try fixture.get().model)
        #expect(try store.count(table: try fixture.get().table("Tag"), in: layout) == 1)
        #expect(store.file.walSize ?? 0 > 0)
        #expect(store.file.journalMode == .wal)
    }

    @Test("A hot journal is refused, a stale or foreign one is not")
    func hotJournal() throws {
        let folder = try TemporaryFolder()
        let path = try fixture.get().store(in: folder)
        // A transaction in flight, its pages written into the file, copied as a crash would leave it.
        let writer = try ReadingFixture.stock(path)
        try writer.execute("PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN IMMEDIATE")
        try writer.execute(
            "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
                + "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZLABEL) SELECT i, 4, 1, hex(randomblob(50)) FROM n")
        let crash = try TemporaryFolder()
        let copy = crash.file("store.sqlite")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try FileManager.default.copyItem(atPath: path + "-journal", toPath: copy + "-journal")
        try writer.execute("ROLLBACK")
        let before = try state(of: crash.url)
        let error = failure { _ = try SourceStore(testing: copy) }
        #expect(error?.code == "store.hotJournal")
        #expect(error?.category == .data)
        #expect(error?.remedy != nil)
        #expect(try state(of: crash.url) == before)

        for content in [Data(), Data(repeating: 0, count: 512), Data("notes".utf8), Data(repeating: 7, count: 600)] {
            let other = try TemporaryFolder()
            let path = try fixture.get().store(in: other)
            try content.write(to: URL(fileURLWithPath: path + "-journal"))
            let store = try SourceStore(testing: path)
            try store.checkUnchanged()
        }
    }

    @Test("A writer at work is noticed, in WAL mode and in rollback mode, and a replaced file too")
    func moved() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        let writer = try fixture.get().make(path, mode: "WAL")
        try fixture.get().insertRows(writer)
        let store = try SourceStore(testing: path)
        let layout = try store.layout(for: try fixture.get().model)
        let tag = try fixture.get().table("Tag")
        try store.checkUnchanged()
        try writer.execute("INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (50, 4, 1)")
        // The snapshot stays; the fingerprint tells.
        #expect(try store.count(table: tag, in: layout) == 3)
        let error = failure { try store.checkUnchanged() }
        #expect(error?.code == "store.moved")
        #expect(error?.category == .temporary)

        let second = try SourceStore(testing: path)
        try second.checkUnchanged()
        _ = try writer.prepare("PRAGMA wal_checkpoint(RESTART)").step()
        try writer.execute("UPDATE ZTAG SET Z_OPT = 2 WHERE Z_PK = 50")
        #expect(failure { try second.checkUnchanged() }?.code == "store.moved")

        let other = try TemporaryFolder()
        let plain = try fixture.get().store(in: other)
        let third = try SourceStore(testing: plain)
        let bytes = try #require(FileManager.default.contents(atPath: plain))
        try FileManager.default.moveItem(atPath: plain, toPath: plain + ".old")
        #expect(failure { try third.checkUnchanged() }?.code == "store.moved")
        try bytes.write(to: URL(fileURLWithPath: plain))
        #expect(failure { try third.checkUnchanged() }?.code == "store.moved")
        // The new file is a store of its own, unlocked: writing there changes its header.
        let fourth = try StoreFingerprint.take(path: plain)
        let stock = try ReadingFixture.stock(plain)
        try stock.execute("UPDATE ZTAG SET Z_OPT = 2 WHERE Z_PK = 1")
        try stock.close()
        #expect(try StoreFingerprint.take(path: plain) != fourth)
    }

    @Test("A fingerprint survives its encoding, and is the same for the same state")
    func fingerprint() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        let writer = try fixture.get().make(path, mode: "WAL")
        let first = try StoreFingerprint.take(path: path)
        #expect(try StoreFingerprint.take(path: path) == first)
        #expect(first.lastCommitFrame > 0)
        #expect(first.walSalts != 0)
        let decoded = try JSONDecoder().decode(StoreFingerprint.self, from: try JSONEncoder().encode(first))
        #expect(decoded == first)
        try writer.execute("INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (50, 4, 1)")
        #expect(try StoreFingerprint.take(path: path).lastCommitFrame > first.lastCommitFrame)
    }

    @Test("A store cannot be closed under a reader, and can after it")
    func closing() throws {
        let folder = try TemporaryFolder()
        let fixture = try fixture.get()
        let store = try SourceStore(testing: try fixture.store(in: folder))
        let layout = try store.layout(for: fixture.model)
        var reader: (any RowReader)? = try store.rows(
            RowSelection(table: try fixture.table("Tag"), columns: [.own(2)]), in: layout)
        #expect(failure { try store.close() }?.code == "store.busy")
        #expect(try lines(#require(reader), slots: 1).count == 3)
        reader = nil
        try store.close()
    }
}
