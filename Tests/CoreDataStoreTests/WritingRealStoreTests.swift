import CSQLite
import Rows
import TestSupport
import Testing

@testable import CoreDataStore

/// Every real store's rows, written into a fresh store of the same model.
@Suite("Writing: real stores", .enabled(if: SharedStores.isPresent, "the shared stores are not here"))
struct WritingRealStoreTests {
    @Test("A store written anew has the same rows, passes SQLite's check and keeps its entity numbers")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        var rows = 0
        for (number, store) in try SchemaRealStore.all().enumerated() {
            guard let model = store.model else { continue }
            let path = try folder.copyStore(store.url)
            let schema = try named(StoreSchema(model: model), asIn: path)
            let source = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
            let destination = try WritingTestStore.create(schema, folder.file("\(number)-new.sqlite"))
            var maximumKeys: [Int64] = []
            for (index, table) in schema.tables.enumerated() {
                let columns = table.columns.map(\.name)
                let writer = try destination.tableWriter(index)
                rows += try copy(
                    source, "SELECT Z_PK, \(columns.joined(separator: ", ")) FROM \(table.name) ORDER BY Z_PK",
                    slots: columns.count, isKeyed: true, to: writer)
                try destination.createIndexes(table: index)
                maximumKeys.append(try source.integer("SELECT max(Z_PK) FROM \(table.name)") ?? 0)
            }
            for (index, join) in schema.joinTables.enumerated() {
                let writer = try destination.joinWriter(index)
                let keys = join.sides.map(\.column).joined(separator: ", ")
                rows += try copy(
                    source,
                    "SELECT \(join.columnNames.joined(separator: ", ")) FROM \(name(join, store)) ORDER BY \(keys)",
                    slots: join.columnNames.count, isKeyed: false, to: writer)
                try destination.createIndexes(joinTable: index)
            }
            try destination.createTriggers()
            try WritingTestStore.finish(destination, properties: store.plist, maximumKeys: maximumKeys)

            let written = try Connection(path: destination.path, flags: SQLITE_OPEN_READONLY)
            #expect(try written.prepare("PRAGMA integrity_check").firstText() == "ok", "\(store.name)")
            for table in schema.tables {
                let columns = (["Z_PK"] + table.columns.map(\.name)).map { "quote(\($0))" }.joined(
                    separator: " || ',' || ")
                let select = "SELECT \(columns) FROM \(table.name) ORDER BY Z_PK"
                #expect(try source.texts(select) == written.texts(select), "\(store.name) \(table.name)")
            }
            for join in schema.joinTables {
                let columns = join.columnNames.map { "quote(\($0))" }.joined(separator: " || ',' || ")
                let before = try source.texts("SELECT \(columns) FROM \(name(join, store)) ORDER BY 1")
                #expect(try before == written.texts("SELECT \(columns) FROM \(join.name) ORDER BY 1"), "\(store.name)")
            }
        }
        print("rows copied: \(rows)")
        #expect(rows > 10_000)
    }

    /// The schema with the names that the store has for the same things.
    private func named(_ schema: StoreSchema, asIn path: String) throws -> StoreSchema {
        let store = try SourceStore(path: path, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
        let taken = try store.namesTakenOver(by: schema, from: store.layout(for: schema.model))
        try store.close()
        return taken
    }

    /// The name under which a real store has the join table.
    private func name(_ join: JoinTable, _ store: SchemaRealStore) -> String {
        store.tables[join.name] == nil ? join.alternativeName ?? join.name : join.name
    }

    /// Copies a query's rows through small batches and returns their count.
    private func copy(
        _ source: Connection, _ sql: String, slots: Int, isKeyed: Bool, to writer: any TableWriter
    ) throws -> Int {
        let select = try source.prepare(sql)
        var batch = RowBatch(slots: slots, rowCapacity: 73, byteTarget: 1 << 16)
        var count = 0
        while try select.step() {
            let row = batch.appendRow(key: isKeyed ? select.integer(0) : 0)
            for slot in 0..<slots {
                let column = Int32(isKeyed ? slot + 1 : slot)
                switch select.type(column) {
                case SQLITE_INTEGER: batch[row, slot] = .integer(select.integer(column))
                case SQLITE_FLOAT: batch[row, slot] = .real(select.double(column))
                case SQLITE_TEXT: batch.set(select.text(column) ?? "", row: row, slot: slot)
                case SQLITE_BLOB: batch.set(select.blob(column) ?? [], row: row, slot: slot)
                default: break
                }
            }
            count += 1
            if batch.isFull {
                try writer.append(batch)
                batch.removeAll()
            }
        }
        try writer.append(batch)
        try writer.finish()
        return count
    }
}
