import Diagnostics
import Foundation
import ManagedModel
import Rows
import TestSupport
import Testing

@testable import CoreDataStore

@Suite("A model's places are found in the file by name")
struct ReadingLayoutTests {
    /// All shared models in XML, with the hashes of their entities. Loaded once: there are hundreds.
    private static let models: [(hashes: [String: [UInt8]], model: ManagedObjectModel)] =
        SharedStores.paths(withExtensions: ["xcdatamodel"]).compactMap { path in
            guard let model = try? ModelLocator.load(path.path).model else { return nil }
            return (model.entityVersionHashesByName.mapValues { [UInt8]($0) }, model)
        }

    /// The model whose entities have the store's hashes.
    func matchingModel(for store: SourceStore) -> ManagedObjectModel? {
        Self.models.first { $0.hashes == store.metadata.versionHashes }?.model
    }

    /// Reads everything that the layout names, and compares it with counts of the whole file.
    private func check(_ store: SourceStore, _ layout: StoreLayout) throws {
        let schema = layout.schema
        for table in schema.tables.indices {
            let columns = schema.tables[table].columns.indices.map { SelectedColumn.own($0) }
            let reader = try store.rows(RowSelection(table: table, columns: columns), in: layout)
            var batch = RowBatch(slots: columns.count, rowCapacity: 100, byteTarget: 1 << 20)
            var rows: Int64 = 0
            var byEntity: [Int: Int64] = [:]
            var greatest: Int64 = 0
            while try reader.next(into: &batch) {
                rows += Int64(batch.count)
                for row in 0..<batch.count {
                    let number = Int(batch[row, EntityTable.entityColumn].integerValue)
                    let entity = try #require(layout.entity(inTable: table, forFileNumber: number))
                    byEntity[entity, default: 0] += 1
                    greatest = max(greatest, batch.key(row))
                }
            }
            #expect(try store.count(table: table, in: layout) == rows)
            #expect(try store.counts(table: table, in: layout) == TableCounts(byEntity: byEntity))
            #expect(layout.tables[table].maximumKey >= greatest)
            // Each entity alone gives its part.
            for entity in schema.tables[table].entities {
                let part = try store.rows(
                    RowSelection(table: table, columns: [.own(EntityTable.entityColumn)], entities: [entity]),
                    in: layout)
                let expected = byEntity[entity] ?? 0
                #expect(try lines(part, slots: 1, rowCapacity: 50).count == Int(expected))
            }
        }
        for join in schema.joinTables.indices {
            let (name, sides) = (layout.joinTables[join].name, layout.joinTables[join].sides)
            let total = try store.integer(
                "SELECT count(*) FROM \(name.quoted) WHERE \(sides[0].column.quoted) IS NOT NULL "
                    + "AND \(sides[1].column.quoted) IS NOT NULL")
            for side in 0..<2 {
                let reader = try store.links(joinTable: join, in: layout, orderedBySide: side)
                #expect(try lines(reader, slots: 4, rowCapacity: 50).count == Int(total ?? -1))
            }
        }
    }

    @Test(
        "A real store is laid out by its own model and read to the end",
        .enabled(if: SharedStores.isPresent, "the shared stores are absent"), arguments: ReadingVFSTests.stores)
    func realStore(url: URL) throws {
        let store = try SourceStore(testing: url.path)
        let cached = try store.cachedModel()
        let written = matchingModel(for: store)
        // Each way to a model must lead to the same places.
        for model in [cached, written].compactMap({ $0 }) {
            try check(store, try store.layout(for: model))
        }
        // Two stores of 2009 and 2012 have their models only in binary forms that are not read.
        let isUnreadable = ["Recipes.sqlite", "RKSeedDatabase.sqlite"].contains(url.lastPathComponent)
        #expect((cached == nil && written == nil) == isUnreadable)
    }

    @Test(
        "A stale name in Z_PRIMARYKEY leads to the computed number",
        .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
    func staleName() throws {
        let url = SharedStores.url.appendingPathComponent("coredataplus/stores/SampleModel_V2.sqlite")
        let store = try SourceStore(testing: url.path)
        #expect(store.primaryKeys.contains { $0.name == "ExpensiveSportCar" })
        let model = try #require(matchingModel(for: store))
        let luxury = try #require(model.entity(named: "LuxuryCar"))
        #expect(try store.layout(for: model).fileNumber(ofEntity: luxury.index) == 3)
    }

    @Test(
        "The join table of framework 641 is found under its other name",
        .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
    func otherName() throws {
        let url = SharedStores.url.appendingPathComponent("wire/stores/store1-27.wiredatabase")
        let store = try SourceStore(testing: url.path)
        let model = try #require(matchingModel(for: store))
        let layout = try store.layout(for: model)
        let index = try #require(layout.joinTables.firstIndex { $0.name == "Z_14TRUSTEDBYCLIENTS" })
        for (side, actual) in zip(layout.schema.joinTables[index].sides, layout.joinTables[index].sides) {
            #expect(side.column == actual.column)
        }
    }

    private func altered(_ statements: String...) throws -> (StoreLayout, SourceStore, TemporaryFolder) {
        let fixture = try ReadingFixture()
        let folder = try TemporaryFolder()
        let path = try fixture.store(in: folder)
        let stock = try ReadingFixture.stock(path)
        // Moves a name from the schema to the file by what alters a store in place.
        for statement in statements { try stock.execute(statement) }
        try stock.close()
        let store = try SourceStore(testing: path)
        return (try store.layout(for: fixture.model), store, folder)
    }

    @Test("Other column order, columns left over, other letters, older numbers, other join table names")
    func alterations() throws {
        let fixture = try ReadingFixture()
        let join = fixture.schema.joinTables[0]
        let people = try fixture.peopleSide()
        let person = try fixture.table("Person")

        let (moved, _, _) = try altered(
            "ALTER TABLE ZPERSON ADD COLUMN ZOLD VARCHAR", "ALTER TABLE ZPERSON RENAME COLUMN ZAGE TO ZX",
            "ALTER TABLE ZPERSON ADD COLUMN zAge INTEGER", "ALTER TABLE ZANIMAL RENAME TO \"zanimal2\"",
            "ALTER TABLE zanimal2 RENAME TO zAnimal")
        #expect(moved.tables[person].columns.contains("zAge"))
        #expect(moved.tables[try fixture.table("Animal")].name == "zAnimal")

        func rename(_ side: Int, to name: String) -> String {
            "ALTER TABLE \(join.name) RENAME COLUMN \(join.sides[side].column) TO \(name)"
        }
        // Numbers of an older generation in table and columns.
        let tagColumn = join.sides[1 - people].column
        let peopleColumn = join.sides[people].column
        let orderSide = join.sides[0].orderColumn == nil ? 1 : 0
        let order = try #require(join.sides[orderSide].orderColumn)
        let (older, store, folder) = try altered(
            rename(people, to: peopleColumn.replacing("Z_3", with: "Z_13")),
            rename(1 - people, to: tagColumn.replacing("Z_4", with: "Z_14")),
            "ALTER TABLE \(join.name) RENAME COLUMN \(order) TO \(order.replacing("Z_FOK_", with: "Z_FOK_1"))",
            "ALTER TABLE \(join.name) RENAME TO \"\(join.name.replacing("Z_", with: "Z_1"))\"")
        #expect(older.joinTables[0].name == join.name.replacing("Z_", with: "Z_1"))
        #expect(older.joinTables[0].sides[people].column == peopleColumn.replacing("Z_3", with: "Z_13"))
        #expect(older.joinTables[0].sides[orderSide].orderColumn == order.replacing("Z_FOK_", with: "Z_FOK_1"))
        #expect(
            try lines(try store.links(joinTable: 0, in: older, orderedBySide: people), slots: 4).count
                == ReadingFixture.links.count)
        _ = folder

        let (named, _, _) = try altered("ALTER TABLE \(join.name) RENAME TO Z_99WHATEVER")
        #expect(named.joinTables[0].name == "Z_99WHATEVER")
    }

    @Test("Rows carry the file's entity numbers, not the computed ones")
    func numbers() throws {
        let fixture = try ReadingFixture()
        let (layout, store, folder) = try altered(
            "UPDATE Z_PRIMARYKEY SET Z_ENT = Z_ENT + 20", "UPDATE ZANIMAL SET Z_ENT = Z_ENT + 20",
            "UPDATE ZPERSON SET Z_ENT = 23", "UPDATE Z_PRIMARYKEY SET Z_MAX = 77 WHERE Z_NAME = 'Person'")
        let dog = try #require(fixture.model.entity(named: "Dog"))
        #expect(layout.fileNumber(ofEntity: dog.index) == 22)
        #expect(layout.entity(forFileNumber: 22) == dog.index)
        #expect(layout.entity(forFileNumber: 2) == nil)
        #expect(layout.tables[try fixture.table("Person")].maximumKey == 77)
        #expect(layout.tables[try fixture.table("Animal")].maximumKey == 1000)
        let rows = try store.rows(
            RowSelection(table: try fixture.table("Animal"), columns: [], entities: [dog.index]), in: layout)
        #expect(try lines(rows, slots: 0) == ["2", "3"])
        _ = folder
    }

    @Test("A missing table or column is named by entity and property")
    func mismatches() throws {
        func error(_ statements: String...) throws -> MigrationError? {
            let fixture = try ReadingFixture()
            let folder = try TemporaryFolder()
            let path = try fixture.store(in: folder)
            let stock = try ReadingFixture.stock(path)
            for statement in statements { try stock.execute(statement) }
            try stock.close()
            let store = try SourceStore(testing: path)
            return failure { _ = try store.layout(for: fixture.model) }
        }
        let column = try #require(try error("ALTER TABLE ZANIMAL RENAME COLUMN ZBREED TO ZOTHER"))
        #expect(column.code == "store.schemaMismatch")
        #expect(column.category == .data)
        #expect(column.context.entity == "Dog")
        #expect(column.context.property == "breed")
        let relation = try #require(try error("ALTER TABLE ZPERSON RENAME COLUMN ZBOSS TO ZOTHER"))
        #expect(relation.context.property == "boss")
        let table = try #require(try error("ALTER TABLE ZTAG RENAME TO ZOTHER"))
        #expect(table.context.entity == "Tag")
        let join = try ReadingFixture().schema.joinTables[0].name
        let links = try #require(try error("DROP TABLE \(join)"))
        #expect(links.code == "store.schemaMismatch")
        #expect(["people", "tags"].contains(links.context.property))
        let keyless = try #require(
            try error("DROP TABLE ZTAG", "CREATE TABLE ZTAG (Z_PK, Z_ENT INTEGER, Z_OPT INTEGER, ZLABEL VARCHAR)"))
        #expect(keyless.context.entity == "Tag")
    }
}
