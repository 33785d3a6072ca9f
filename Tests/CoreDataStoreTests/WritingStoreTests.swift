import Archives
import Diagnostics
import Foundation
import ManagedModel
import Rows
import TestSupport
import Testing

@testable import CoreDataStore

/// A fresh store from creation to the finished file.
@Suite("Writing: the store")
struct WritingStoreTests {
    private typealias M = SchemaTestModel
    private typealias W = WritingTestStore

    @Test("A destination that exists is refused and left alone")
    func exists() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let schema = try M.schema(M.entity("A"))
        let error = #expect(throws: MigrationError.self) { _ = try W.create(schema, path) }
        #expect(error?.code == "destination.exists" && error?.category == .cannotCreate)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }

    @Test("A destination in a folder that is missing cannot be created")
    func missingFolder() throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A"))
        let error = #expect(throws: MigrationError.self) { _ = try W.create(schema, folder.file("no/a.sqlite")) }
        #expect(error?.code == "destination.cannotCreate" && error?.category == .cannotCreate)
    }

    @Test("A destination in a folder that may not be written is a matter of permission", .enabled(if: getuid() != 0))
    func permission() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path)
        let schema = try M.schema(M.entity("A"))
        let error = #expect(throws: MigrationError.self) { _ = try W.create(schema, folder.file("a.sqlite")) }
        #expect(error?.code == "destination.permission" && error?.category == .permission)
    }

    @Test("A model with attributes of unknown storage is refused")
    func unstorable() throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A", [M.attribute("id", .objectID)]))
        let error = #expect(throws: MigrationError.self) { _ = try W.create(schema, folder.file("a.sqlite")) }
        #expect(error?.code == "model.unstorableAttribute" && error?.category == .configuration)
        #expect(error?.context.entity == "A" && error?.context.property == "id")
        #expect(try folder.names().isEmpty)
    }

    @Test("An empty store has Core Data's container settings and tables, and nothing beside it")
    func container() throws {
        let folder = try TemporaryFolder()
        let schema = try W.everyType()
        let store = try W.create(schema, folder.file("a.sqlite"))
        #expect(try store.connection.prepare("PRAGMA journal_mode").firstText() == "off")
        #expect(try store.connection.prepare("PRAGMA locking_mode").firstText() == "exclusive")
        #expect(try store.connection.integer("PRAGMA synchronous") == 0)
        for table in schema.tables.indices { try store.createIndexes(table: table) }
        for join in schema.joinTables.indices { try store.createIndexes(joinTable: join) }
        try W.finish(store, maximumKeys: [41, 7], modelCache: [1, 2, 3])
        #expect(try folder.names() == ["a.sqlite"])

        let connection = try W.open(store.path)
        #expect(try connection.integer("PRAGMA page_size") == 4096)
        #expect(try connection.integer("PRAGMA auto_vacuum") == 2)
        #expect(try connection.integer("PRAGMA user_version") == 0)
        #expect(try connection.prepare("PRAGMA encoding").firstText() == "UTF-8")
        #expect(try connection.prepare("PRAGMA integrity_check").firstText() == "ok")
        let statements = try connection.firstColumn(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        #expect(
            statements == schema.tableStatements() + schema.fixedTableStatements() + schema.allIndexStatements)

        let rows = try connection.firstColumn(
            "SELECT Z_ENT || '|' || Z_NAME || '|' || Z_SUPER || '|' || Z_MAX FROM Z_PRIMARYKEY")
        #expect(rows == ["1|Item|0|41", "2|Special|1|0", "3|Tag|0|7"])
        let cache = try connection.prepare("SELECT Z_CONTENT FROM Z_MODELCACHE")
        #expect(try cache.step())
        #expect(cache.blob(0) == [1, 2, 3])
    }

    @Test("Metadata carries the source's keys, the new hashes and recomputed sums")
    func metadata() throws {
        let folder = try TemporaryFolder()
        let schema = try W.everyType()
        let source: [String: PropertyListValue] = [
            "NSPersistenceFrameworkVersion": .integer(1526), "NSPersistenceMaximumFrameworkVersion": .integer(1526),
            "NSStoreModelVersionHashesDigest": .string("old"), "NSStoreModelVersionChecksumKey": .string("old"),
            "NSStoreModelVersionHashes": .dictionary(["Gone": .data([1])]), "NSStoreType": .string("XML"),
            "NSStoreUUID": .string("old"),
            "MyKey": .array([.integer(1), .boolean(true), .date(12.5), .string("ü")]),
        ]
        let store = try W.create(schema, folder.file("a.sqlite"))
        try W.finish(store, properties: source)

        let connection = try W.open(store.path)
        let row = try connection.prepare("SELECT Z_VERSION, Z_UUID, Z_PLIST FROM Z_METADATA")
        #expect(try row.step())
        #expect(row.integer(0) == 1 && row.text(1) == W.uuid)
        let bytes = try #require(row.blob(2))
        guard case .dictionary(let plist) = try BinaryPropertyList.decode(bytes) else {
            Issue.record("no dictionary")
            return
        }
        let hashes = W.metadata(schema.model).versionHashes
        #expect(plist["NSStoreType"] == .string("SQLite"))
        #expect(
            plist["NSStoreModelVersionHashes"] == .dictionary(PropertyListDictionary(hashes.mapValues { .data($0) })))
        #expect(plist["NSStoreModelVersionHashesVersion"] == .integer(3))
        #expect(plist["NSStoreModelVersionIdentifiers"] == .array([.string("2.0")]))
        #expect(plist["_NSAutoVacuumLevel"] == .string("2"))
        #expect(plist["NSPersistenceFrameworkVersion"] == .integer(1526))
        #expect(plist["NSPersistenceMaximumFrameworkVersion"] == .integer(1526))
        #expect(plist["NSStoreModelVersionHashesDigest"] == .string(VersionHash.digest(of: hashes)))
        #expect(plist["NSStoreModelVersionChecksumKey"] == .string(VersionHash.checksum(of: hashes)))
        #expect(plist["MyKey"] == source["MyKey"])
        #expect(plist["NSStoreUUID"] == .string(W.uuid))
        #expect(plist.count == 11)
        #expect(try connection.integer("SELECT count(*) FROM Z_MODELCACHE") == 0)
    }

    @Test("The values of a source's metadata are carried over under the given identifier")
    func carryingOver() throws {
        let model = try M.model(M.entity("A"))
        let source = StoreMetadata(
            uuid: "old", propertyList: ["MyKey": .integer(7), "NSPersistenceFrameworkVersion": .integer(849)])
        let metadata = DestinationMetadata(
            uuid: "new", sourceProperties: source.propertyList, versionHashes: W.metadata(model).versionHashes,
            versionIdentifiers: ["a", "b"])
        guard case .dictionary(let plist) = try metadata.propertyList(for: model) else {
            Issue.record("no dictionary")
            return
        }
        #expect(metadata.uuid == "new")
        #expect(plist["MyKey"] == .integer(7) && plist["NSPersistenceFrameworkVersion"] == .integer(849))
        #expect(plist["NSStoreModelVersionIdentifiers"] == .array([.string("a"), .string("b")]))
    }

    @Test("Without a source there are no sums, and a framework version")
    func freshMetadata() throws {
        let model = try M.model(M.entity("A"))
        guard case .dictionary(let plist) = try W.metadata(model).propertyList(for: model) else {
            Issue.record("no dictionary")
            return
        }
        #expect(plist["NSPersistenceFrameworkVersion"] == .integer(1044))
        #expect(plist["NSStoreModelVersionHashesDigest"] == nil && plist["NSStoreModelVersionChecksumKey"] == nil)
    }

    @Test("A hash that is missing or short is refused, not invented; hashes of other entities are left out")
    func missingHash() throws {
        let model = try M.model(M.entity("A"), M.entity("B"))
        var metadata = W.metadata(model)
        metadata.versionHashes["C"] = [UInt8](repeating: 0, count: 32)
        guard case .dictionary(let plist) = try metadata.propertyList(for: model),
            case .dictionary(let hashes) = plist["NSStoreModelVersionHashes"]
        else {
            Issue.record("no hashes")
            return
        }
        #expect(hashes.keys.sorted() == ["A", "B"])
        metadata.versionHashes["B"] = [1]
        let error = #expect(throws: MigrationError.self) { _ = try metadata.propertyList(for: model) }
        #expect(error?.code == "metadata.missingHash" && error?.context.entity == "B")
    }

    @Test("Rows that break a uniqueness constraint are reported with attributes, values and keys")
    func uniqueness() throws {
        let folder = try TemporaryFolder()
        var base = M.entity("Person", [M.attribute("first"), M.attribute("last"), M.attribute("n", .integer16)])
        base.uniquenessConstraints = [["n"], ["first", "last"]]
        let schema = try M.schema(base)
        let store = try W.create(schema, folder.file("a.sqlite"))
        let writer = try store.tableWriter(0)
        let slots = schema.tables[0].columns.map(\.name)
        #expect(slots == ["Z_ENT", "Z_OPT", "ZN", "ZFIRST", "ZLAST"])
        try writer.append(
            W.batch(slots: 5, keys: (1...1000).map { Int64($0) }) { batch, row in
                batch[row, 2] = row < 10 ? .null : .integer(Int64(row))
                if row != 5, row != 6 { batch.set("Ada", row: row, slot: 3) }
                // Rows 1000, 20, 30, 40 and 50 share one name; rows 6 and 7 have half a name only.
                let shared = [19, 29, 39, 49, 999].contains(row)
                batch.set(shared ? "O'Neil" : "L\(row == 5 || row == 6 ? 0 : row)", row: row, slot: 4)
            })
        try writer.finish()
        let error = #expect(throws: MigrationError.self) { try store.createIndexes(table: 0) }
        #expect(error?.code == "validation.uniqueness" && error?.category == .data)
        #expect(error?.context.entity == "Person" && error?.context.property == "first, last")
        #expect(error?.context.objectID == "Person/p30")
        #expect(
            error?.message
                == "5 objects have the same first = 'Ada', last = 'O''Neil', which must be unique: "
                + "Person/p20, Person/p30, Person/p40 and more")
        store.abandon()
        #expect(try folder.names().isEmpty)
    }

    @Test("Rows with a NULL in the constraint never conflict")
    func nullsAreUnique() throws {
        let folder = try TemporaryFolder()
        var base = M.entity("Person", [M.attribute("n", .integer16)])
        base.uniquenessConstraints = [["n"]]
        let store = try W.create(try M.schema(base), folder.file("a.sqlite"))
        let writer = try store.tableWriter(0)
        try writer.append(W.batch(slots: 3, keys: [1, 2, 3]) { _, _ in })
        try writer.finish()
        try store.createIndexes(table: 0)
        let indexes = "SELECT count(*) FROM sqlite_master WHERE name = 'Z_Person_UNIQUE_n'"
        #expect(try store.connection.integer(indexes) == 1)
        #expect(try store.connection.integer("SELECT count(*) FROM ZPERSON WHERE ZN IS NULL") == 3)
        try W.finish(store)
    }

    @Test("The finished store has the triggers of derived attributes")
    func triggers() throws {
        let folder = try TemporaryFolder()
        var count = M.attribute("pagesCount", .integer64)
        count.derivationExpression = "pages.@count"
        let schema = try M.schema(
            M.entity("Book", [count], [M.toMany("pages", "Page", inverse: "book")]),
            M.entity("Page", [], [M.toOne("book", "Book", inverse: "pages")]))
        let store = try W.create(schema, folder.file("a.sqlite"))
        try store.createTriggers()
        try W.finish(store)
        let connection = try W.open(store.path)
        let statements = try connection.firstColumn(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid")
        #expect(statements == schema.triggerStatements && statements.count == 5)
    }
}

extension TemporaryFolder {
    /// Names of the files in the folder, sorted.
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
}
