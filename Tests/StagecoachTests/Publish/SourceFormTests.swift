import Archives
import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Forms of indexes and constraints that a source of an older framework has.
@Suite("Forms of a source's schema in its copy")
struct SourceFormTests {
    /// Two attributes that are unique, one alone and two together, and what old models declare as indexed.
    private static func version(unique: [[String]] = [["hash"], ["a", "b"]]) throws -> ManagedObjectModel {
        var note = entity(
            "Note",
            [
                attribute("a", .integer32), attribute("b", .integer32), attribute("hash", .string),
                attribute("rank", .integer32) { $0.isIndexed = true },
            ], [toMany("tags", "Tag", inverse: "notes")], unique: unique)
        note.compoundIndexes = [["a", "rank"]]
        return try model(note, entity("Tag", [], [toMany("notes", "Note", inverse: "tags")]))
    }

    private static let column =
        "CREATE TABLE ZNOTE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZA INTEGER, ZB INTEGER, "
        + "ZRANK INTEGER, ZHASH VARCHAR UNIQUE )"
    private static let both =
        "CREATE TABLE ZNOTE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZA INTEGER, ZB INTEGER, "
        + "ZRANK INTEGER, ZHASH VARCHAR UNIQUE, CONSTRAINT ZA_ZB UNIQUE (ZA, ZB))"

    /// Makes a store of three notes whose table of notes has a statement of its own.
    private static func source(
        _ model: ManagedObjectModel, _ folder: TemporaryFolder, table: String, framework: Int64, _ sql: [String] = []
    ) throws {
        try ReferenceStore(model: model).write(path: folder.file("old.sqlite"))
        let connection = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        var statements = ["DROP TABLE ZNOTE", table]
        for key in 1...3 {
            statements.append(
                "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZA, ZB, ZRANK, ZHASH) "
                    + "VALUES (\(key), 1, 1, \(key), 0, \(9 - key), 'h\(4 - key)')")
        }
        statements.append("UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Note'")
        for statement in statements + sql { try connection.execute(statement) }
        try write(framework: framework, connection)
        try connection.close()
    }

    private static func write(framework: Int64, _ connection: Connection) throws {
        let row = try connection.prepare("SELECT Z_PLIST FROM Z_METADATA")
        _ = try row.step()
        guard case .dictionary(let list) = try BinaryPropertyList.decode(row.blob(0) ?? []) else {
            Issue.record("the metadata are no dictionary")
            return
        }
        row.reset()
        var properties = list.byKey
        properties["NSPersistenceFrameworkVersion"] = .integer(framework)
        let update = try connection.prepare("UPDATE Z_METADATA SET Z_PLIST = ?")
        update.bind(try BinaryPropertyList.encode(.dictionary(PropertyListDictionary(properties))), at: 1)
        try update.run()
    }

    /// The rows of a query of two texts.
    private static func texts(_ sql: String, _ path: String) throws -> [String: String] {
        let rows = try Connection(path: path, flags: SQLITE_OPEN_READONLY).prepare(sql)
        var found: [String: String] = [:]
        while try rows.step() { found[rows.text(0) ?? ""] = rows.text(1) }
        return found
    }

    private struct Copy {
        /// The statements by name, of source and copy; an index without a statement has an empty one.
        let source: [String: String]
        let copy: [String: String]
        let notes: [String]
        let isSound: Bool
        let differences: [StoreFidelity.Difference]
    }

    private static func copy(
        _ folder: TemporaryFolder, _ old: ManagedObjectModel, to new: ManagedObjectModel? = nil
    ) throws -> Copy {
        let migration = Migration(
            from: folder.file("old.sqlite"), model: old, mapping: try .inferred(from: old, to: new ?? old),
            to: folder.file("new.sqlite"), model: new ?? old)
        let notes = try migration.run().notes
        let verified = try StoreVerification(migration).run()
        #expect(verified.differences.isEmpty, "\(verified.differences)")
        let statements = "SELECT name, ifnull(sql, '') FROM sqlite_master"
        let check = try Self.texts("SELECT integrity_check, '' FROM pragma_integrity_check", folder.file("new.sqlite"))
        func open(_ name: String) throws -> SourceStore {
            try SourceStore(
                path: folder.file(name), cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
        }
        let (source, made) = (try open("old.sqlite"), try open("new.sqlite"))
        let witness = try StoreFidelity.Witness(
            for: StoreSchema(model: new ?? old), source: source, layout: source.layout(for: old))
        let fidelity = try StoreFidelity(of: made, model: new ?? old, witness: witness)
        try source.close()
        try made.close()
        return Copy(
            source: try Self.texts(statements, folder.file("old.sqlite")),
            copy: try Self.texts(statements, folder.file("new.sqlite")), notes: notes, isSound: check == ["ok": ""],
            differences: fidelity.differences)
    }

    @Test(
        "A uniqueness constraint in a column or in the table stays there, and keeps equal values out",
        arguments: [true, false])
    func clauses(isColumn: Bool) throws {
        let folder = try TemporaryFolder()
        let old = try Self.version(unique: isColumn ? [["hash"]] : [["hash"], ["a", "b"]])
        try Self.source(
            old, folder, table: isColumn ? Self.column : Self.both, framework: 851,
            [
                "CREATE INDEX Z_Note_rank ON ZNOTE (ZRANK COLLATE BINARY ASC)",
                "CREATE INDEX Z_Note_a_rank ON ZNOTE (ZA COLLATE BINARY ASC, ZRANK COLLATE BINARY ASC)",
            ])
        let result = try Self.copy(folder, old)
        #expect(result.copy == result.source)
        #expect(result.copy["ZNOTE"] == (isColumn ? Self.column : Self.both))
        #expect(result.copy["sqlite_autoindex_ZNOTE_1"] == "")
        #expect((result.copy["sqlite_autoindex_ZNOTE_2"] == nil) == isColumn)
        #expect(result.notes.isEmpty && result.differences.isEmpty, "\(result.notes) \(result.differences)")
        #expect(result.isSound)
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
        #expect(try connection.integer("SELECT Z_PK FROM ZNOTE WHERE ZHASH = 'h1'") == 3)
        #expect(throws: (any Error).self) {
            try connection.execute("INSERT INTO ZNOTE (Z_PK, ZHASH) VALUES (9, 'h1')")
        }
        try connection.close()
    }

    @Test("A constraint over a column that is another in the new version, or that is new, has an index")
    func changedConstraint() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version(unique: [["hash"]])
        try Self.source(old, folder, table: Self.column, framework: 851)
        var definition = old.definition
        definition.entities[0].attributes.removeAll { $0.name == "hash" }
        definition.entities[0].attributes.append(
            attribute("hash", .string) { $0.renamingIdentifier = "another" })
        let result = try Self.copy(folder, old, to: ManagedObjectModel(definition))
        #expect(result.copy["ZNOTE"]?.contains("UNIQUE") == false)
        #expect(result.copy["Z_Note_UNIQUE_hash"]?.hasPrefix("CREATE UNIQUE INDEX") == true)
        #expect(result.isSound && result.differences.isEmpty, "\(result.differences)")
    }

    @Test("Columns that a source numbers in its own way are read and written by its numbers")
    func numbers() throws {
        let folder = try TemporaryFolder()
        let old = try model(
            entity("A"), entity("B", parent: "A", [attribute("name", .string)]),
            entity("C", parent: "A", [], [toOne("name", "T")]), entity("T", [attribute("x", .string)]))
        var store = ReferenceStore(model: old)
        store.insert("B", 1, ["name": .text("one")])
        store.insert("C", 2, [:], toOne: ["name": 7])
        store.insert("T", 7, ["x": .text("seven")])
        try store.write(path: folder.file("old.sqlite"))
        let source = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        for sql in [
            "ALTER TABLE ZA RENAME COLUMN ZNAME TO X", "ALTER TABLE ZA RENAME COLUMN ZNAME1 TO ZNAME",
            "ALTER TABLE ZA RENAME COLUMN X TO ZNAME1", "DROP INDEX ZA_ZNAME1_INDEX",
            "CREATE INDEX ZA_ZNAME_INDEX ON ZA (ZNAME)",
        ] {
            try source.execute(sql)
        }
        try source.close()
        let result = try Self.copy(folder, old)
        #expect(result.copy == result.source)
        #expect(
            result.notes == [
                "The columns ZNAME1, ZNAME of ZA are numbered as in the source; a rule would say ZNAME, ZNAME1"
            ]
        )
        #expect(result.isSound && result.differences.isEmpty, "\(result.differences)")
        let rows = "SELECT Z_PK, quote(ZNAME) || quote(ZNAME1) FROM ZA"
        #expect(try Self.texts(rows, folder.file("new.sqlite")) == ["1": "NULL'one'", "2": "7NULL"])
    }

    @Test("Indexes in the form of a framework before 800 get today's, and are named")
    func oldIndexes() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version(unique: [])
        let table = Self.column.replacingOccurrences(of: " UNIQUE", with: "")
        try Self.source(
            old, folder, table: table, framework: 754,
            ["CREATE INDEX ZNOTE_ZRANK_INDEX ON ZNOTE (ZRANK)", "CREATE INDEX ZNOTE_ZA_ZRANK ON ZNOTE (ZA, ZRANK)"])
        let result = try Self.copy(folder, old)
        #expect(Set(result.copy.keys).subtracting(result.source.keys) == ["Z_Note_rank", "Z_Note_a_rank"])
        #expect(
            result.notes == [
                "Indexes have the form and the name that Core Data gives them today, and those of framework 754 in the source: "
                    + "ZNOTE_ZA_ZRANK, ZNOTE_ZRANK_INDEX"
            ])
        #expect(result.isSound)
    }

    @Test("Another order of columns, an old name of an entity and what a framework of 2014 lacks are named")
    func named() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version(unique: [])
        let table =
            "CREATE TABLE ZNOTE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZRANK INTEGER, ZA INTEGER, "
            + "ZHASH VARCHAR , ZB INTEGER)"
        try Self.source(
            old, folder, table: table, framework: 519,
            [
                "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Word' WHERE Z_NAME = 'Tag'", "DROP INDEX Z_1TAGS_Z_2TAGS_INDEX",
                "DROP TABLE Z_MODELCACHE",
            ])
        let notes = try Self.copy(folder, old).notes
        #expect(
            notes.contains(
                "Columns stand in the order of a new store, and in another in the source, which was altered in place: ZNOTE"
            ),
            "\(notes)")
        #expect(
            notes.contains(
                "The source's Z_PRIMARYKEY has old names of entities, the destination those of its model: Word for Tag"),
            "\(notes)")
        #expect(
            notes.contains(
                "The source, of framework 519, has no cached model and no indexes of join tables: the destination has them"
            ),
            "\(notes)")
    }
}
