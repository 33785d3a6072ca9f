import CSQLite
import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Triggers, views, indexes and virtual tables that a store has beside its model.
@Suite("Objects of the source's schema beside its model")
struct CarriedObjectTests {
    private static func version(_ change: (inout EntityDefinition) -> Void = { _ in }) throws -> ManagedObjectModel {
        var note = entity(
            "Note",
            [attribute("text", .string), attribute("rank", .integer32), attribute("seen", .integer32)],
            [toOne("folder", "Folder", inverse: "notes")])
        change(&note)
        return try model(
            note, entity("Folder", [attribute("name", .string)], [toMany("notes", "Note", inverse: "folder")]))
    }

    /// A store of three notes, changed by SQL.
    private static func source(
        _ model: ManagedObjectModel, _ folder: TemporaryFolder, _ sql: [String]
    ) throws -> String {
        var store = ReferenceStore(model: model)
        store.insert("Folder", 2, ["name": .text("inbox")])
        store.insert("Note", 1, ["text": .text("red apples"), "rank": .integer(1)], toOne: ["folder": 2])
        store.insert("Note", 5, ["text": .text("green apples"), "rank": .integer(2)])
        store.insert("Note", 9, ["text": .text("a pear"), "rank": .integer(2)])
        try store.write(path: folder.file("old.sqlite"))
        let connection = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        for statement in sql { try connection.execute(statement) }
        try connection.close()
        return folder.file("old.sqlite")
    }

    private struct Result {
        let report: MigrationReport
        let plan: MigrationPlan
        /// SQL of what the copy has beside tables, by name.
        let made: [String: String]
        let connection: Connection
        let verified: VerificationReport
    }

    private static func migrate(
        _ folder: TemporaryFolder, to new: ManagedObjectModel? = nil, mapping: MappingModel? = nil, _ sql: [String]
    ) throws -> Result {
        let old = try version()
        let migration = Migration(
            from: try source(old, folder, sql), model: old,
            mapping: try mapping ?? .inferred(from: old, to: new ?? old), to: folder.file("new.sqlite"),
            model: new ?? old)
        let plan = try migration.plan()
        let report = try migration.run()
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        let list = try connection.prepare("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        var made: [String: String] = [:]
        while try list.step() { made[list.text(0) ?? ""] = list.text(1) }
        list.reset()
        return Result(
            report: report, plan: plan, made: made, connection: connection,
            verified: try StoreVerification(migration).run())
    }

    private static let index = "CREATE INDEX RADAR_1_INDEX ON ZNOTE (ZRANK, ZTEXT)"
    private static let view = "CREATE VIEW ranked AS SELECT ZTEXT, ZRANK FROM ZNOTE WHERE ZRANK > 1"
    private static let trigger =
        "CREATE TRIGGER ZT_SEEN AFTER UPDATE OF ZTEXT ON ZNOTE FOR EACH ROW BEGIN UPDATE ZNOTE SET ZSEEN = 0 WHERE Z_PK = "
        + "NEW.Z_PK; SELECT NSCoreDataTriggerUpdateAffectedObjectValue('ZNOTE', Z_ENT, Z_PK, 'ZSEEN', ZSEEN) FROM ZNOTE "
        + "WHERE Z_PK = NEW.Z_PK; END"

    @Test("Indexes, views and triggers of an unchanged entity are copied unchanged; plan and report say so")
    func unchanged() throws {
        let folder = try TemporaryFolder()
        let result = try Self.migrate(folder, [Self.index, Self.view, Self.trigger])
        #expect(result.made["RADAR_1_INDEX"] == Self.index)
        #expect(result.made["ranked"] == Self.view)
        #expect(result.made["ZT_SEEN"] == Self.trigger)
        let notes = [
            "Taken over from the source as it stands, the trigger: ZT_SEEN",
            "Taken over from the source as it stands, the view: ranked",
            "Taken over from the source as it stands, the index: RADAR_1_INDEX",
        ]
        #expect(result.report.notes == notes)
        #expect(result.plan.layout == notes)
        #expect(result.verified.differences.isEmpty, "\(result.verified.differences)")
        #expect(try result.connection.integer("SELECT count(*) FROM ranked") == 2)
        // Nothing fired while rows came.
        #expect(try result.connection.integer("SELECT count(*) FROM ZNOTE WHERE ZSEEN IS NOT NULL") == 0)
    }

    @Test("An index beside that of one to-one relationship, which Core Data does not make, does not come along")
    func relationshipIndex() throws {
        let folder = try TemporaryFolder()
        let both = try Self.version { note in
            var index = FetchIndexDefinition(name: "byFolder")
            index.elements = [FetchIndexElement(propertyName: "folder")]
            note.indexes = [index]
        }
        let path = try Self.source(
            both, folder, ["CREATE INDEX Z_Note_byFolder ON ZNOTE (ZFOLDER COLLATE BINARY ASC)"])
        let migration = Migration(
            from: path, model: both, mapping: try .inferred(from: both, to: both), to: folder.file("new.sqlite"),
            model: both)
        #expect(try migration.run().notes == [])
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'Z_Note_byFolder'") == 0)
        #expect(try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ZNOTE_ZFOLDER_INDEX'") == 1)
        try connection.close()
        #expect(try StoreVerification(migration).run().differences.isEmpty)
    }

    @Test("The index of a join table's other name is taken over; without it the copy differs from its source")
    func otherNameOfJoinTable() throws {
        let folder = try TemporaryFolder()
        let people = try model(
            entity(
                "Person", [attribute("name", .string)],
                [toMany("alpha", "Person", inverse: "zeta"), toMany("zeta", "Person", inverse: "alpha")]))
        try ReferenceStore(model: people).write(path: folder.file("old.sqlite"))
        // As an in-place migration leaves them: the table renamed, the index of its old name still there.
        let source = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        for sql in [
            "ALTER TABLE Z_1ZETA RENAME TO Z_1ALPHA",
            "CREATE INDEX Z_1ALPHA_Z_1ALPHA_INDEX ON Z_1ALPHA (Z_1ALPHA, Z_1ZETA)",
        ] {
            try source.execute(sql)
        }
        // SQLite puts the new name in quotes.
        let stale = "CREATE INDEX Z_1ZETA_Z_1ZETA_INDEX ON \"Z_1ALPHA\" (Z_1ZETA, Z_1ALPHA)"
        try source.close()
        let migration = Migration(
            from: folder.file("old.sqlite"), model: people, mapping: try .inferred(from: people, to: people),
            to: folder.file("new.sqlite"), model: people)
        let notes = try migration.run().notes
        #expect(notes.contains("Taken over from the source as it stands, the index: Z_1ZETA_Z_1ZETA_INDEX"), "\(notes)")
        #expect(try StoreVerification(migration).run().differences.isEmpty)
        let found = try StoreQuery.texts(
            "SELECT sql FROM sqlite_master WHERE tbl_name = 'Z_1ALPHA' AND sql LIKE 'CREATE INDEX%'",
            in: folder.file("new.sqlite"))
        #expect(Set(found) == [stale, "CREATE INDEX Z_1ALPHA_Z_1ALPHA_INDEX ON Z_1ALPHA (Z_1ALPHA, Z_1ZETA)"])
        #expect(try Self.differences(folder, people) == [])
        let copy = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
        try copy.execute("DROP INDEX Z_1ZETA_Z_1ZETA_INDEX")
        try copy.close()
        #expect(try Self.differences(folder, people) == ["Z_1ZETA_Z_1ZETA_INDEX"])
    }

    /// The names of the differences between a copy and what its source says about it.
    private static func differences(_ folder: TemporaryFolder, _ model: ManagedObjectModel) throws -> [String] {
        func open(_ name: String) throws -> SourceStore {
            try SourceStore(
                path: folder.file(name), cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
        }
        let (source, copy) = (try open("old.sqlite"), try open("new.sqlite"))
        let witness = try StoreFidelity.Witness(
            for: StoreSchema(model: model), source: source, layout: source.layout(for: model))
        let names = try StoreFidelity(of: copy, model: model, witness: witness).differences.map(\.name)
        try source.close()
        try copy.close()
        return names
    }

    @Test("Another attribute changes nothing; a column that is another now keeps what names it away, with the reason")
    func changed() throws {
        let grown = try TemporaryFolder()
        let more = try Self.migrate(
            grown, to: try Self.version { $0.attributes.append(attribute("more", .date)) },
            [
                Self.index, Self.view, Self.trigger,
            ])
        #expect(more.made["RADAR_1_INDEX"] == Self.index && more.made["ranked"] == Self.view)
        #expect(more.made["ZT_SEEN"] == Self.trigger)
        #expect(more.verified.differences.isEmpty, "\(more.verified.differences)")
        let folder = try TemporaryFolder()
        let renamed = try Self.version {
            $0.attributes[1].name = "place"
            $0.attributes[1].renamingIdentifier = "rank"
        }
        let result = try Self.migrate(folder, to: renamed, [Self.index, Self.view, Self.trigger])
        #expect(result.made["RADAR_1_INDEX"] == nil && result.made["ranked"] == nil)
        #expect(result.made["ZT_SEEN"] == Self.trigger)
        for (kind, name) in [("view", "ranked"), ("index", "RADAR_1_INDEX")] {
            #expect(
                result.report.notes.contains(
                    "Left behind, as the model does not ask for it and ZNOTE.ZRANK is not the same in the new version: "
                        + "the \(kind) \(name)"), "\(result.report.notes)")
        }
        #expect(result.verified.differences.isEmpty, "\(result.verified.differences)")
    }

    @Test("A name that means an attribute of another type, or another entity's table, is not the same")
    func retyped() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version()
        let new = try Self.version { $0.attributes[1].type = .string }
        let mapping = try MappingModel.inferred(from: old, to: old)
        for entity in mapping.entityMappings { entity.attributeMappings?.removeAll { $0.name == "rank" } }
        let result = try Self.migrate(folder, to: new, mapping: mapping, [Self.index])
        #expect(result.made["RADAR_1_INDEX"] == nil)
        #expect(result.report.notes.contains { $0.contains("ZNOTE.ZRANK is not the same in the new version") })
    }

    @Test("A trigger that names a table that is not there is named, not carried, and nothing fails")
    func missingTable() throws {
        let folder = try TemporaryFolder()
        let result = try Self.migrate(
            folder,
            [
                "CREATE TABLE gone (a)",
                "CREATE TRIGGER broken AFTER INSERT ON ZNOTE BEGIN INSERT INTO gone VALUES (NEW.Z_PK); END",
                "CREATE TRIGGER worse AFTER DELETE ON ZNOTE BEGIN DELETE FROM nowhere WHERE id = OLD.Z_PK; END",
                "CREATE VIEW odd AS SELECT a FROM gone", "DROP TABLE gone", Self.trigger,
            ])
        #expect(result.made["ZT_SEEN"] == Self.trigger)
        for name in ["broken", "worse", "odd"] { #expect(result.made[name] == nil) }
        for name in ["trigger broken", "trigger worse", "view odd"] {
            #expect(
                result.report.notes.contains { $0.contains("no such table") && $0.hasSuffix(name) },
                "\(result.report.notes)")
        }
        #expect(result.verified.differences.isEmpty, "\(result.verified.differences)")
    }

    @Test("A trigger of a table that is not there keeps nobody from reading the store, and is named")
    func brokenTrigger() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version()
        let path = try Self.source(old, folder, [Self.index])
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        if let handle = connection.handle { _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0) }
        try connection.execute(
            """
            PRAGMA writable_schema=ON; INSERT INTO sqlite_master VALUES ('trigger', 'orphan', 'gone', 0,
            'CREATE TRIGGER orphan AFTER INSERT ON gone BEGIN SELECT 1; END')
            """)
        try connection.close()
        let migration = Migration(
            from: path, model: old, mapping: try .inferred(from: old, to: old), to: folder.file("new.sqlite"),
            model: old)
        let report = try migration.run()
        #expect(report.counts.created == ["Folder": 1, "Note": 3])
        #expect(
            report.notes.contains { $0.contains("no such table: main.gone") && $0.hasSuffix("trigger orphan") },
            "\(report.notes)")
        let verified = try StoreVerification(migration).run()
        #expect(verified.differences.isEmpty, "\(verified.differences)")
    }

    @Test(
        "Full-text tables over a table of the model, or kept by a trigger, are filled; others are named with their rows"
    )
    func fullText() throws {
        let folder = try TemporaryFolder()
        let result = try Self.migrate(
            folder,
            [
                "CREATE VIRTUAL TABLE search USING fts5(ZTEXT, content='ZNOTE', content_rowid='Z_PK')",
                "INSERT INTO search(search) VALUES('rebuild')",
                "CREATE VIRTUAL TABLE words USING fts4(body)",
                "CREATE TRIGGER words_in AFTER INSERT ON ZNOTE BEGIN INSERT INTO words (docid, body) VALUES (NEW.Z_PK, NEW.ZTEXT); END",
                "CREATE VIRTUAL TABLE own USING fts5(line)", "INSERT INTO own VALUES ('x'), ('y')",
            ])
        #expect(result.made["search"] != nil && result.made["words"] != nil && result.made["words_in"] != nil)
        #expect(result.made["own"] == nil)
        #expect(
            try result.connection.integer("SELECT group_concat(rowid, '') FROM search WHERE search MATCH 'apples'")
                == 15)
        #expect(try result.connection.integer("SELECT docid FROM words WHERE words MATCH 'pear'") == 9)
        #expect(
            result.report.notes.contains(
                "Left behind, as the model does not ask for it and no trigger tells what rows it has, with 2 rows: "
                    + "the virtual table own"), "\(result.report.notes)")
        #expect(result.verified.differences.isEmpty, "\(result.verified.differences)")
    }

    @Test("A full-text table is filled with the objects under their new keys")
    func renumbered() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version()
        var options = MigrationOptions()
        options.keys = .sequential
        let path = try Self.source(
            old, folder, ["CREATE VIRTUAL TABLE search USING fts5(ZTEXT, content='ZNOTE', content_rowid='Z_PK')"])
        try Migration(
            from: path, model: old, mapping: .inferred(from: old, to: old), to: folder.file("new.sqlite"), model: old,
            options: options
        ).run()
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT rowid FROM search WHERE search MATCH 'pear'") == 3)
    }

    @Test("A unique index that the copy's rows break is named, and the run does not fail")
    func unique() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version()
        let mapping = try MappingModel.inferred(from: old, to: old)
        let note = try #require(mapping.entityMappings.first { $0.destinationEntityName == "Note" })
        note.attributeMappings?.first { $0.name == "text" }?.valueExpression = ValueExpression(format: "'same'")
        let result = try Self.migrate(
            folder, mapping: mapping,
            [
                "CREATE UNIQUE INDEX own_unique ON ZNOTE (ZTEXT COLLATE NOCASE) WHERE ZRANK > 1",
                "CREATE UNIQUE INDEX own_key ON ZNOTE (ZRANK, Z_PK)",
            ])
        #expect(result.made["own_unique"] == nil && result.made["own_key"] != nil)
        #expect(
            result.report.notes.contains(
                "The index own_unique of the source is left behind: rows of the copy share its values"),
            "\(result.report.notes)")
        #expect(result.verified.differences.isEmpty, "\(result.verified.differences)")
    }

    @Test("A view or trigger that compares numbers of entities comes along only if these are the same")
    func numbers() throws {
        let compares = "CREATE VIEW notes AS SELECT Z_PK FROM ZNOTE WHERE Z_ENT = 2"
        let same = try TemporaryFolder()
        #expect(try Self.migrate(same, [compares]).made["notes"] == compares)
        let folder = try TemporaryFolder()
        let old = try Self.version()
        let first = entity("Album", [attribute("name", .string)])
        let note = old.entity(named: "Note")?.definition
        let inbox = old.entity(named: "Folder")?.definition
        let new = try model(first, try #require(note), try #require(inbox))
        let result = try Self.migrate(folder, to: new, [compares, Self.trigger])
        #expect(result.made["notes"] == nil && result.made["ZT_SEEN"] == Self.trigger)
        #expect(result.report.notes.contains { $0.contains("it compares numbers of entities") })
    }

    @Test("A trigger that needs a function of the app comes along")
    func unknown() throws {
        let folder = try TemporaryFolder()
        let trigger = "CREATE TRIGGER own AFTER INSERT ON ZNOTE BEGIN SELECT app_changed(NEW.Z_PK, app_name()); END"
        let result = try Self.migrate(folder, [trigger])
        #expect(result.made["own"] == trigger)
        #expect(result.verified.differences.isEmpty, "\(result.verified.differences)")
    }

    @Test("An append leaves the destination's own as it is and names the source's")
    func appended() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version()
        let first = try Self.source(old, folder, [])
        let mapping = try MappingModel.inferred(from: old, to: old)
        try Migration(from: first, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: old).run()
        let other = try TemporaryFolder()
        let second = try Self.source(old, other, [Self.index])
        var options = MigrationOptions()
        options.appendsToExisting = true
        let report = try Migration(
            from: second, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: old, options: options
        ).run()
        #expect(
            report.notes.contains(
                "Left behind, as the model does not ask for it and the destination keeps its own schema: the index RADAR_1_INDEX"
            ), "\(report.notes)")
    }
}
