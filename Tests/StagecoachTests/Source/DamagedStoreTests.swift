import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Stores that lack a table or a column of the version that their metadata name.
@Suite("Damaged stores")
struct DamagedStoreTests {
    /// A kind of damage, with what the store is then read as.
    struct Damage: CustomTestStringConvertible {
        let sql: String
        /// The name in the refusal.
        let name: String
        /// A text in the notes.
        let note: String
        /// The sound store with the same rows as the damaged one is read with.
        let equal: String

        var testDescription: String { sql }
    }

    static let damages = [
        Damage(
            sql: "DROP TABLE ZTAG", name: "the table ZTAG is missing",
            note: "all objects of Tag are lost, 3 at the most",
            equal: "DELETE FROM ZTAG"),
        Damage(
            sql: "ALTER TABLE ZBOOK DROP COLUMN ZTITLE", name: "the column ZBOOK.ZTITLE is missing",
            note: "Book.title is read as nil, for 3 objects", equal: "UPDATE ZBOOK SET ZTITLE = NULL"),
        Damage(
            sql: "ALTER TABLE ZBOOK DROP COLUMN ZPAGES", name: "the column ZBOOK.ZPAGES is missing",
            note: "Comic.pages is read as nil, for 1 object", equal: "UPDATE ZBOOK SET ZPAGES = NULL"),
        Damage(
            sql: "ALTER TABLE ZBOOK DROP COLUMN Z_OPT", name: "the column ZBOOK.Z_OPT is missing",
            note: "is read as 1, for 3 objects", equal: "UPDATE ZBOOK SET Z_OPT = 1"),
        Damage(
            sql: "DROP INDEX ZBOOK_ZAUTHOR_INDEX; ALTER TABLE ZBOOK DROP COLUMN ZAUTHOR",
            name: "the column ZBOOK.ZAUTHOR is missing", note: "Book.author is read as nil, for 3 objects",
            equal: "UPDATE ZBOOK SET ZAUTHOR = NULL"),
        Damage(
            sql: "ALTER TABLE ZBOOK DROP COLUMN Z_FOK_AUTHOR", name: "the column ZBOOK.Z_FOK_AUTHOR is missing",
            note: "is read as nil, for 3 objects", equal: "UPDATE ZBOOK SET Z_FOK_AUTHOR = NULL"),
        Damage(
            sql: "DROP TABLE Z_2TAGS", name: "the join table Z_2TAGS is missing",
            note: "all links of Book.tags are lost", equal: "DELETE FROM Z_2TAGS"),
        Damage(
            sql: "DROP TABLE Z_PRIMARYKEY", name: "the table Z_PRIMARYKEY is missing",
            note: "4 entities have the numbers that their model gives them",
            equal: "UPDATE Z_PRIMARYKEY SET Z_MAX = 0"),
        Damage(
            sql: "DROP TABLE ZAUTHOR; ALTER TABLE ZBOOK DROP COLUMN ZPAGES; DROP TABLE Z_2TAGS",
            name: "the table ZAUTHOR is missing", note: "all objects of Author are lost, 9 at the most",
            equal: "DELETE FROM ZAUTHOR; UPDATE ZBOOK SET ZPAGES = NULL; DELETE FROM Z_2TAGS"),
    ]

    private static func version(_ more: AttributeDefinition...) throws -> ManagedObjectModel {
        try model(
            entity("Author", [attribute("name", .string)], [toMany("books", "Book", inverse: "author", ordered: true)]),
            entity(
                "Book", [attribute("title", .string)] + more,
                [toOne("author", "Author", inverse: "books"), toMany("tags", "Tag", inverse: "books")]),
            entity("Comic", parent: "Book", [attribute("pages", .integer32)]),
            entity("Tag", [attribute("label", .string)], [toMany("books", "Book", inverse: "tags")]))
    }

    private static func store(_ path: String, _ sql: String) throws {
        var store = ReferenceStore(model: try version())
        store.insert("Author", 9, ["name": .text("Zoë")])
        store.insert("Book", 1, lock: 5, ["title": .text("a")], toOne: ["author": 9])
        store.insert("Book", 2, lock: 3, ["title": .text("b")])
        store.insert("Comic", 4, ["title": .text("c"), "pages": .integer(12)])
        store.setMembers("Author", 9, "books", [4, 1])
        for key in [1, 2, 3] as [Int64] { store.insert("Tag", key, ["label": .text("t\(key)")]) }
        store.setMembers("Book", 1, "tags", [1, 3])
        store.setMembers("Comic", 4, "tags", [2])
        try store.write(path: path)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(sql)
        try connection.close()
    }

    private static func migration(
        _ source: String, _ destination: String, repairs: Bool, _ change: (inout MigrationOptions) -> Void = { _ in }
    ) throws -> Migration {
        let (old, new) = (try version(), try version(attribute("more", .string)))
        var options = MigrationOptions()
        options.memoryRoom = 64 << 20
        options.repairs = repairs
        change(&options)
        return Migration(
            from: source, model: old, mapping: try .inferred(from: old, to: new), to: destination, model: new,
            options: options)
    }

    @Test(
        "What is missing is refused by name, and on request read as empty or nil, named and counted", arguments: damages
    )
    func repaired(_ damage: Damage) throws {
        let folder = try TemporaryFolder()
        let (damaged, equal) = (folder.file("damaged.sqlite"), folder.file("equal.sqlite"))
        try Self.store(damaged, damage.sql)
        try Self.store(equal, damage.equal)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: damaged))
        let strict = try Self.migration(damaged, folder.file("none.sqlite"), repairs: false)
        for body in [{ _ = try strict.plan() }, { _ = try strict.check() }, { _ = try strict.run() }] {
            let error = try #require(throws: MigrationError.self) { try body() }
            #expect(error.code == "store.incomplete" && error.category == .data, "\(error)")
            #expect(error.message.contains(damage.name), "\(error)")
            #expect(error.remedy?.contains("--repair") == true)
        }
        let expected = folder.file("expected.sqlite")
        try Self.migration(equal, expected, repairs: false).run()
        let rows = try ReferenceStore.read(path: expected, model: Self.version(attribute("more", .string)))
        for (name, change) in [
            ("pages", { _ in }), ("sqlite", { $0.reader = .sqlite }),
            ("objects", { $0.usesStoreSpecificMigrationManager = false }), ("small", { $0.batchSize = 1 }),
        ] as [(String, (inout MigrationOptions) -> Void)] {
            let migration = try Self.migration(damaged, folder.file("\(name).sqlite"), repairs: true, change)
            let plan = try migration.plan()
            #expect(plan.repairs?.contains { $0.sentence.contains(damage.note) } == true, "\(plan.repairs ?? [])")
            #expect(try migration.check().repairs == plan.repairs)
            let report = try migration.run()
            #expect(report.repairs == plan.repairs)
            #expect(report.notes.contains { $0.contains(damage.note) }, "\(report.notes)")
            let found = try ReferenceStore.read(
                path: folder.file("\(name).sqlite"), model: Self.version(attribute("more", .string)))
            #expect(found.differences(from: rows) == [], "\(name)")
            let verified = try StoreVerification(migration).run()
            #expect(verified.differences.isEmpty, "\(name): \(verified.differences)")
            #expect(verified.notes.contains { $0.contains(damage.note) }, "\(verified.notes)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: damaged)) == bytes)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("damaged") }
                == ["damaged.sqlite"])
    }

    @Test(
        "What nothing can stand for is refused with and without the request",
        arguments: [
            "DROP INDEX ZBOOK_Z_ENT_INDEX; ALTER TABLE ZBOOK DROP COLUMN Z_ENT",
            "DROP TABLE ZTAG; CREATE TABLE ZTAG (Z_PK INTEGER, Z_ENT INTEGER, Z_OPT INTEGER, ZLABEL VARCHAR)",
            "UPDATE ZBOOK SET Z_ENT = Z_ENT + 20; DROP TABLE Z_PRIMARYKEY",
        ])
    func irreparable(_ sql: String) throws {
        let folder = try TemporaryFolder()
        try Self.store(folder.file("damaged.sqlite"), sql)
        let error = try #require(throws: MigrationError.self) {
            try Self.migration(folder.file("damaged.sqlite"), folder.file("new.sqlite"), repairs: true).run()
        }
        #expect(error.code == "store.incomplete" && error.category == .data, "\(error)")
        #expect(error.message.contains("cannot be repaired"), "\(error)")
        #expect(error.remedy?.contains("--repair") == false)
    }

    @Test("A store of a version that nothing names is not called damaged")
    func unknown() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try Self.store(
            path,
            """
            DROP TABLE ZTAG; UPDATE Z_METADATA SET Z_PLIST =
            X'62706c6973743030d0080000000000000101000000000000000100000000000000000000000000000009'
            """)
        let error = try #require(throws: MigrationError.self) {
            try Self.migration(path, folder.file("new.sqlite"), repairs: true) { $0.sourceIsKnownByTables = true }.run()
        }
        #expect(error.code == "store.schemaMismatch" && error.remedy?.contains("--from") == true, "\(error)")
    }

    @Test("Values on the way to what is missing are nil: expressions, filters, collections, and through policies' eyes")
    func expressions() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("damaged.sqlite")
        try Self.store(path, "ALTER TABLE ZAUTHOR DROP COLUMN ZNAME; DROP TABLE Z_2TAGS")
        let (old, new) = (try Self.version(), try Self.version(attribute("more", .string), attribute("n", .integer32)))
        let text = """
            {"formatVersion": 2, "entityMappings": [
              {"sourceEntity": "Book", "destinationEntity": "Book", "sourceFilter": "author.name == nil",
               "attributes": {"more": "$source.author.name", "n": "$source.tags.@count"}},
              {"sourceEntity": "Author", "destinationEntity": "Author"}]}
            """
        let mapping = try MappingModel.reading(
            json: Array(text.utf8), path: "m.json", source: old, destination: new)
        for isStaged in [false, true] {
            var options = MigrationOptions()
            options.memoryRoom = 64 << 20
            options.repairs = true
            options.usesStoreSpecificMigrationManager = !isStaged
            let migration = Migration(
                from: path, model: old, mapping: mapping, to: folder.file("\(isStaged).sqlite"), model: new,
                options: options)
            try migration.run()
            let store = try ReferenceStore.read(path: folder.file("\(isStaged).sqlite"), model: new)
            #expect(store.tables[1].count == 2)
            #expect(store.value("Book", 1, "more") == .null && store.value("Book", 1, "n") == .integer(0))
            #expect(try StoreVerification(migration).run().differences.isEmpty)
        }
    }
}
