import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite(
    "Persistent history", .serialized, .enabled(if: SharedStores.isPresent, "the shared stores are not here"))
struct HistoryTests {
    /// SampleModel2_V1 with an entity `Appendix` before its own, which renumbers all of them, and with `Feedback` gone.
    private static func run(
        _ history: PersistentHistory, keys: KeyChoice = .auto
    ) throws -> (folder: TemporaryFolder, source: String, path: String, report: MigrationReport) {
        let folder = try TemporaryFolder()
        let url = try #require(
            SharedStores.paths(withExtensions: ["sqlite"]).first { $0.lastPathComponent == "SampleModel2_V1.sqlite" })
        let source = try folder.copyStore(url)
        let model = try #require(
            try SourceStore(path: source, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
                .cachedModel())
        var definition = model.definition
        var added = EntityDefinition(name: "Appendix")
        added.attributes = [attribute("text", .string)]
        definition.entities.append(added)
        definition.entities.removeAll { $0.name == "Page" || $0.name == "Feedback" }
        definition.configurations = [:]
        definition.fetchRequests = []
        for index in definition.entities.indices {
            definition.entities[index].relationships.removeAll {
                $0.destinationEntityName == "Page" || $0.destinationEntityName == "Feedback"
            }
            definition.entities[index].attributes.removeAll { $0.derivationExpression != nil }
            definition.entities[index].fetchedProperties = []
        }
        let destination = try ManagedObjectModel(definition)
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.history = history
        options.keys = keys
        let path = folder.file("new.sqlite")
        let report = try Migration(
            from: source, model: model, mapping: try MappingModel.inferred(from: model, to: destination), to: path,
            model: destination, options: options
        ).run()
        return (folder, source, path, report)
    }

    @Test("Kept: transactions as they were, changes under the new entity numbers, those of removed entities gone")
    func kept() throws {
        let run = try Self.run(.keep)
        for table in ["ATRANSACTION", "ATRANSACTIONSTRING"] {
            let all = "SELECT group_concat(quote(t), '|') FROM (SELECT Z_PK || Z_ENT || Z_OPT AS t FROM \(table))"
            #expect(try StoreQuery.texts(all, in: run.path) == StoreQuery.texts(all, in: run.source))
        }
        func changes(_ path: String) throws -> [String] {
            try StoreQuery.texts(
                """
                SELECT c.Z_PK || ' ' || k.Z_NAME || ' ' || c.ZENTITYPK || ' ' || c.ZCHANGETYPE FROM ACHANGE c
                JOIN Z_PRIMARYKEY k ON k.Z_ENT = c.ZENTITY WHERE k.Z_NAME NOT IN ('Page', 'Feedback') ORDER BY 1
                """, in: path)
        }
        #expect(try changes(run.path) == changes(run.source))
        #expect(try !changes(run.path).isEmpty)
        let count = "SELECT count(*) FROM ACHANGE"
        #expect(try StoreQuery.texts(count, in: run.path) == ["\(try changes(run.path).count)"])
        let numbers = "SELECT Z_ENT || Z_NAME || Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT > 16000 ORDER BY 1"
        #expect(try StoreQuery.texts(numbers, in: run.path) == StoreQuery.texts(numbers, in: run.source))
        let schema = """
            SELECT sql FROM sqlite_master WHERE tbl_name IN ('ACHANGE', 'ATRANSACTION', 'ATRANSACTIONSTRING')
            AND sql IS NOT NULL ORDER BY name
            """
        let carried = try StoreQuery.texts(schema, in: run.path)
        #expect(try carried == StoreQuery.texts(schema, in: run.source))
        #expect(!run.report.notes.contains { $0.contains("history") })
    }

    @Test("History is dropped on request, with new keys, and by default with new entity numbers: its tables are empty")
    func dropped() throws {
        #expect(MigrationOptions().history == .auto)
        for run in [try Self.run(.drop), try Self.run(.keep, keys: .sequential), try Self.run(.auto)] {
            let objects = "SELECT sql FROM sqlite_master WHERE tbl_name GLOB 'A[CT]*' AND sql IS NOT NULL ORDER BY name"
            #expect(try StoreQuery.texts(objects, in: run.path) == StoreQuery.texts(objects, in: run.source))
            for table in ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"] {
                #expect(try StoreQuery.texts("SELECT count(*) FROM \(table)", in: run.path) == ["0"])
            }
            let numbers = "SELECT Z_ENT || Z_NAME || Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT > 16000 ORDER BY 1"
            #expect(try StoreQuery.texts(numbers, in: run.path) == StoreQuery.texts(numbers, in: run.source))
            #expect(run.report.notes.contains { $0.contains("persistent history, one transaction, was not carried") })
        }
        #expect(try Self.run(.auto).report.notes.contains { $0.contains("entities have other numbers (") })
    }
}

@Suite("Persistent history: its place in the schema")
struct HistoryPlaceTests {
    @Test("The tables of history come before triggers, which are carried over or made for derived attributes")
    func order() throws {
        let folder = try TemporaryFolder()
        var count = attribute("noteCount", .integer64)
        count.derivationExpression = "notes.@count"
        let old = try model(
            entity("Note", [attribute("text", .string)], [toOne("folder", "Folder", inverse: "notes")]),
            entity("Folder", [count], [toMany("notes", "Note", inverse: "folder")]))
        var store = ReferenceStore(model: old)
        store.insert("Note", 1, ["text": .text("one")])
        try store.write(path: folder.file("old.sqlite"))
        let source = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        for sql in [
            "CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER )",
            "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZENTITY INTEGER )",
            "CREATE INDEX ATRANSACTION_ZAUTHORTS_INDEX ON ATRANSACTION (ZAUTHORTS)",
            "INSERT INTO ATRANSACTION VALUES (1, 16002, 1, NULL)",
            "CREATE TRIGGER own AFTER DELETE ON ZNOTE BEGIN UPDATE ZNOTE SET ZTEXT = '' WHERE Z_PK = OLD.Z_PK; END",
        ] {
            try source.execute(sql)
        }
        try source.close()
        try Migration(
            from: folder.file("old.sqlite"), model: old, mapping: .inferred(from: old, to: old),
            to: folder.file("new.sqlite"), model: old
        ).run()
        let found = try StoreQuery.texts(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' OR tbl_name IN ('ATRANSACTION', 'ACHANGE') ORDER BY rowid",
            in: folder.file("new.sqlite"))
        #expect(found.prefix(3) == ["ACHANGE", "ATRANSACTION", "ATRANSACTION_ZAUTHORTS_INDEX"])
        #expect(found.count == 9 && found.last == "own")
        #expect(try StoreQuery.texts("SELECT count(*) FROM ATRANSACTION", in: folder.file("new.sqlite")) == ["1"])
    }
}
