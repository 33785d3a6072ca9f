import CSQLite
import ManagedModel
import TestSupport
import Testing

@testable import CoreDataStore

/// Fetch indexes of the rarer forms (Formats.md, "Indexes"): R-trees, partial, descending, over the object id.
@Suite("Schema: R-trees and other forms of fetch indexes")
struct StoreTreeTests {
    private typealias M = SchemaTestModel

    private static func element(_ name: String, expression: Bool = false, ascending: Bool = true) -> FetchIndexElement {
        var element = FetchIndexElement(propertyName: expression ? nil : name)
        if expression { element.expression = name }
        element.isAscending = ascending
        return element
    }

    private static func asset(_ change: (inout EntityDefinition) -> Void = { _ in }) throws -> StoreSchema {
        var entity = M.entity(
            "Asset", [M.attribute("latitude", .double), M.attribute("longitude", .double), M.attribute("name")])
        var tree = FetchIndexDefinition(name: "area")
        tree.elements = ["latitude", "longitude"].map { name in
            var element = element(name)
            element.isRTree = true
            return element
        }
        entity.indexes = [tree]
        change(&entity)
        return try M.schema(entity)
    }

    @Test("An R-tree is a virtual table with three triggers, word by word as in real stores")
    func statements() throws {
        let schema = try Self.asset()
        let list = "(Z_PK, ZLATITUDE_MIN, ZLATITUDE_MAX, ZLONGITUDE_MIN, ZLONGITUDE_MAX)"
        let values = "VALUES (NEW.Z_PK, NEW.ZLATITUDE ,NEW.ZLATITUDE, NEW.ZLONGITUDE, NEW.ZLONGITUDE) ;"
        #expect(
            schema.treeStatements() == [
                "CREATE VIRTUAL TABLE Z_RT_Asset_area USING RTREE (Z_PK INTEGER PRIMARY KEY, ZLATITUDE_MIN FLOAT, "
                    + "ZLATITUDE_MAX FLOAT, ZLONGITUDE_MIN FLOAT, ZLONGITUDE_MAX FLOAT)",
                "CREATE TRIGGER Z_RT_Asset_area_INSERT AFTER INSERT ON ZASSET FOR EACH ROW BEGIN INSERT OR REPLACE INTO "
                    + "Z_RT_Asset_area \(list) \(values) END",
                "CREATE TRIGGER Z_RT_Asset_area_UPDATE AFTER UPDATE ON ZASSET FOR EACH ROW BEGIN DELETE FROM "
                    + "Z_RT_Asset_area WHERE Z_PK = NEW.Z_PK ; INSERT INTO Z_RT_Asset_area \(list) \(values) END",
                "CREATE TRIGGER Z_RT_Asset_area_DELETE AFTER DELETE ON ZASSET FOR EACH ROW BEGIN DELETE FROM "
                    + "Z_RT_Asset_area WHERE Z_PK = OLD.Z_PK ; END",
            ])
        #expect(schema.notes.isEmpty && schema.leftOutIndexes.isEmpty)
    }

    @Test(
        "What cannot be an R-tree is left out and named",
        arguments: [
            ["latitude", "name"], ["latitude", "latitude"], ["gone"],
            ["latitude", "longitude", "latitude", "longitude", "latitude", "longitude"],
        ])
    func refused(names: [String]) throws {
        let schema = try Self.asset { entity in
            entity.indexes[0].elements = names.map { name in
                var element = Self.element(name)
                element.isRTree = true
                return element
            }
        }
        #expect(schema.treeStatements().isEmpty)
        #expect(schema.notes.count == 1 && schema.notes[0].contains("index area of Asset"))
    }

    @Test("An R-tree with a predicate, or mixed with other elements, is left out and named")
    func mixed() throws {
        let partial = try Self.asset { $0.indexes[0].partialIndexPredicate = "latitude > 0" }
        let mixed = try Self.asset { $0.indexes[0].elements[0].isRTree = false }
        for schema in [partial, mixed] { #expect(schema.treeStatements().isEmpty && schema.notes.count == 1) }
    }

    @Test("Elements may be the object id or the entity, descending, in a partial index")
    func elements() throws {
        let schema = try Self.asset { entity in
            var index = FetchIndexDefinition(name: "recent")
            index.elements = [
                Self.element("latitude", ascending: false), Self.element("self", expression: true),
                Self.element("entity", expression: true),
            ]
            index.partialIndexPredicate = "longitude != 0 AND name != nil"
            entity.indexes.append(index)
        }
        #expect(
            schema.indexStatements(forTable: 0) == [
                "CREATE INDEX Z_Asset_recent ON ZASSET (ZLATITUDE COLLATE BINARY DESC, Z_PK COLLATE BINARY ASC, "
                    + "Z_ENT COLLATE BINARY ASC) WHERE (ZLONGITUDE <> 0 AND ZNAME IS NOT NULL)"
            ])
    }

    @Test("A destination is given its R-tree, filled with every row, and SQLite finds by it")
    func filled() throws {
        let folder = try TemporaryFolder()
        let schema = try Self.asset()
        let store = try WritingTestStore.create(schema, folder.file("new.sqlite"))
        try store.connection.execute(
            "INSERT INTO ZASSET (Z_PK, Z_ENT, Z_OPT, ZLATITUDE, ZLONGITUDE) VALUES (1, 1, 1, 48.5, 9), (4, 1, 1, NULL, 7)"
        )
        for table in schema.tables.indices { try store.createIndexes(table: table) }
        try store.createTriggers()
        #expect(store.missing.isEmpty)
        try WritingTestStore.finish(store)
        let connection = try Connection(path: store.path, flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM Z_RT_Asset_area") == 2)
        #expect(try connection.integer("SELECT Z_PK FROM Z_RT_Asset_area WHERE ZLATITUDE_MIN > 40") == 1)
        let source = try SourceStore(
            path: store.path, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
        let fidelity = try StoreFidelity(of: source, model: schema.model)
        let schemaDifferences = fidelity.differences.filter { [.table, .index, .trigger].contains($0.subject) }
        #expect(schemaDifferences.isEmpty, "\(schemaDifferences)")
        #expect(fidelity.equal.triggers == 3)
        try source.close()
    }
}
