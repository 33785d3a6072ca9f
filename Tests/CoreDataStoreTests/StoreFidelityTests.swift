import CSQLite
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import CoreDataStore

@Suite("Fidelity: real stores", .enabled(if: SharedStores.isPresent, "the shared stores are not here"))
struct StoreFidelityTests {
    /// Stores that were altered in place: what in-place migrations left in them, as many differences.
    private static let leftOver: [String: Int] = [
        "SampleModel_V2.sqlite": 1, "store2-40-0.wiredatabase": 12, "store2-45-0.wiredatabase": 1,
        "store2-53-0.wiredatabase": 13, "store2-57-0.wiredatabase": 1, "store2-59-0.wiredatabase": 1,
    ]

    /// Stores that their app altered in place, many times and by means of its own.
    private static let alteredInPlace: Set = ["Test-10.15.1.Photos.sqlite", "Test-10.15.4.Photos.sqlite"]

    @Test("Every real store is what its cached model predicts, but for what in-place migrations left")
    func realStores() throws {
        let folder = try TemporaryFolder()
        var equal = StoreFidelity.Equal()
        var stores = (equal: 0, different: 0)
        for url in SharedStores.paths(withExtensions: ["sqlite", "moody", "wiredatabase"]) {
            guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            let store = try SourceStore(
                path: try folder.copyStore(url), cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
            guard let model = try? store.cachedModel() else { continue }
            let fidelity = try StoreFidelity(of: store, model: model)
            let name = url.lastPathComponent
            if Self.alteredInPlace.contains(name) {
                #expect(!fidelity.isEqual)
            } else {
                #expect(fidelity.differences.count == Self.leftOver[name] ?? 0, "\(name): \(fidelity.differences)")
            }
            equal.tables += fidelity.equal.tables
            equal.joinTables += fidelity.equal.joinTables
            equal.indexes += fidelity.equal.indexes
            equal.triggers += fidelity.equal.triggers
            equal.versionHashes += fidelity.equal.versionHashes
            if fidelity.isEqual { stores.equal += 1 } else { stores.different += 1 }
        }
        print("stores: \(stores), equal: \(equal)")
        #expect(stores.equal >= 42)
    }

    @Test("Each kind of difference is found")
    func differences() throws {
        let url = try #require(
            SharedStores.paths(withExtensions: ["sqlite"]).first { $0.lastPathComponent == "SampleModel2_V1.sqlite" })
        let changes: [(sql: String, subject: StoreFidelity.Subject, name: String)] = [
            ("DROP INDEX ZPAGE_ZBOOK_INDEX", .index, "ZPAGE_ZBOOK_INDEX"),
            ("CREATE INDEX other ON ZPAGE (Z_OPT)", .index, "other"),
            ("CREATE TABLE other (a)", .table, "other"),
            ("ALTER TABLE ZPAGE ADD COLUMN ZMORE VARCHAR", .table, "ZPAGE"),
            (
                "DROP TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_DELETE", .trigger,
                "Z_DA_ZPAGE_Book_pagesCount_PARAMETER_DELETE"
            ),
            ("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Leaf' WHERE Z_NAME = 'Page'", .primaryKey, "Z_ENT 4"),
            ("UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Page'", .primaryKey, "Z_MAX of Page"),
            ("UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Author'", .primaryKey, "Z_MAX of Author"),
            ("UPDATE ZPAGE SET Z_ENT = 77 WHERE Z_PK = 1", .rows, "ZPAGE"),
            ("PRAGMA user_version = 4", .file, "user_version"),
            ("UPDATE Z_METADATA SET Z_UUID = 'none'", .metadata, "Z_UUID"),
            ("DELETE FROM Z_MODELCACHE", .rows, "Z_MODELCACHE"),
            ("UPDATE Z_MODELCACHE SET Z_CONTENT = x'0102'", .modelCache, "Z_MODELCACHE"),
        ]
        for change in changes {
            let folder = try TemporaryFolder()
            let path = try folder.copyStore(url)
            let model = try #require(
                try SourceStore(path: path, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
                    .cachedModel())
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
            if let handle = connection.handle {
                _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            }
            try connection.execute(change.sql)
            try connection.close()
            let store = try SourceStore(path: path, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
            let found = try StoreFidelity(of: store, model: model).differences
            #expect(
                found.contains { $0.subject == change.subject && $0.name == change.name }, "\(change.sql): \(found)")
        }
    }
}
