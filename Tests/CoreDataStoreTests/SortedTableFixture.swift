import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

@testable import CoreDataStore

/// A table of objects or of links, with indexes whose entries are sorted: the same rows each time.
struct SortedTableFixture {
    private typealias M = SchemaTestModel

    /// A store as a killed process leaves it, and a work directory with what lay in files.
    struct Killed {
        let store: String
        let work: String
        let fill: [UInt8]
        let knowledge: DestinationStore.Knowledge
    }

    static let batchRows = 700
    static let batches = 220

    private let isJoin: Bool
    private let schema: StoreSchema
    private let table: Int
    private let expectedKeys: [Int64]?
    private let columns: Int
    private let parent: Int
    private let list: Int

    /// - Parameters:
    ///   - isJoin: whether links are loaded, else objects.
    ///   - isPacked: whether the highest keys are known, so that a link's entry is one word.
    init(isJoin: Bool, isPacked: Bool) throws {
        let schema = try M.schema(
            M.entity(
                "Item", [M.attribute("number", .integer64), M.attribute("name", .string)],
                [
                    M.toOne("parent", "Item", inverse: "children"), M.toMany("children", "Item", inverse: "parent"),
                    M.toOne("list", "List", inverse: "items"), M.toMany("tags", "Tag", inverse: "items"),
                ]), M.entity("List", [], [M.toMany("items", "Item", inverse: "list")]),
            M.entity("Tag", [], [M.toMany("items", "Item", inverse: "tags")]))
        let table = try #require(schema.tables.firstIndex { $0.name == "ZITEM" })
        func column(_ name: String) throws -> Int {
            try #require(schema.tables[table].columns.firstIndex { $0.name == name })
        }
        (self.isJoin, self.schema, self.table) = (isJoin, schema, table)
        expectedKeys = isPacked ? schema.tables.map { $0.name == "ZITEM" ? 60_000 : 1_500_000 } : nil
        columns = isJoin ? 2 : schema.tables[table].columns.count
        (parent, list) = isJoin ? (0, 1) : (try column("ZPARENT"), try column("ZLIST"))
    }

    /// Rows of the table, by the number of their batch.
    func batch(_ number: Int) -> RowBatch {
        var generator = SeededGenerator(seed: UInt64(number))
        var batch = RowBatch(slots: columns, rowCapacity: Self.batchRows, byteTarget: 1 << 20)
        for place in 0..<Self.batchRows {
            let key = Int64(number * Self.batchRows + place + 1)
            let row = batch.appendRow(key: isJoin ? key : key * 3)
            if isJoin {
                batch[row, 0] = .integer(key / 3)
                batch[row, 1] = .integer(key % 3 * 500_000 + Int64(generator.below(400_000)))
            } else {
                batch[row, EntityTable.entityColumn] = .integer(1)
                batch[row, EntityTable.lockColumn] = .integer(1)
                if !generator.chance(9) { batch[row, parent] = .integer(Int64(generator.below(500_000))) }
                if !generator.chance(9) { batch[row, list] = .integer(Int64(generator.below(70))) }
            }
        }
        return batch
    }

    /// A fresh store.
    func create(_ path: String, _ sorts: IndexSorts) throws -> DestinationStore {
        prepared(try WritingTestStore.create(schema, path), sorts)
    }

    /// A store that a killed process has left.
    func resume(_ killed: Killed, _ sorts: IndexSorts) throws -> DestinationStore {
        #expect(try DestinationStore.recover(killed.store, vfs: nil) == 0)
        return prepared(
            try DestinationStore(
                resuming: killed.store, schema: schema, knowledge: killed.knowledge, stamp: 0, cacheBytes: 1 << 20,
                vfs: nil), sorts)
    }

    private func prepared(_ store: DestinationStore, _ sorts: IndexSorts) -> DestinationStore {
        store.writesPages = true
        store.indexSorts = sorts
        store.expectedKeys = expectedKeys
        return store
    }

    func writer(_ store: DestinationStore, _ state: [UInt8]?) throws -> PageTableWriter {
        let writer =
            isJoin ? try store.joinWriter(0, resumingFrom: state) : try store.tableWriter(table, resumingFrom: state)
        return try #require(writer as? PageTableWriter)
    }

    func finish(_ writer: PageTableWriter, _ store: DestinationStore) throws {
        try writer.finish()
        if isJoin { try store.createIndexes(joinTable: 0) } else { try store.createIndexes(table: table) }
        try WritingTestStore.finish(store)
    }

    /// The rows of the table, after SQLite has found all indexes to be what they should be.
    func contents(_ path: String) throws -> [String] {
        let table = isJoin ? schema.joinTables[0].name : schema.tables[table].name
        let connection = try WritingTestStore.open(path)
        let check = try connection.prepare("PRAGMA integrity_check")
        #expect(try check.step() && check.text(0) == "ok")
        let names = try connection.prepare("SELECT name FROM pragma_table_info('\(table)') ORDER BY cid")
        var columns: [String] = []
        while try names.step() { columns.append(names.text(0) ?? "") }
        let list = columns.map { "ifnull(\"\($0)\", '-')" }.joined(separator: " || ' ' || ")
        let rows = try connection.prepare("SELECT \(list) FROM \"\(table)\" ORDER BY rowid")
        var found: [String] = []
        while try rows.step() { found.append(rows.text(0) ?? "") }
        return found
    }
}
