import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Rows

/// `pages [--rows 1000000] [--folder FOLDER]`: writes one table of a fresh store by pages and through SQLite, and reads it
/// again both ways; prints nanoseconds of processor time a row and megabytes of file a second.
enum PagesCommand {
    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["rows", "folder"])
        let rows = try arguments.number("rows") ?? 1_000_000
        let folder = arguments.text("folder") ?? "pages-\(getpid()).bench"
        try BenchmarkFolder.make(folder)
        defer { rmdir(folder) }
        let model = try Catalogue().source
        print("way                      rows     ns a row   MB a second")
        for writesPages in [true, false] {
            let path = "\(folder)/pages.sqlite"
            defer { unlink(path) }
            let bytes = try write(rows, to: path, model, writesPages: writesPages)
            for readsPages in [true, false] { try read(path, model, readsPages: readsPages, bytes: bytes) }
        }
    }

    private static func write(
        _ rows: Int, to path: String, _ model: ManagedObjectModel, writesPages: Bool
    ) throws -> Int {
        let schema = StoreSchema(model: model)
        let store = try DestinationStore(creating: path, schema: schema, cacheBytes: 2 << 20, vfs: nil)
        store.filling.writesPages = writesPages
        guard let entity = model.entity(named: "Book") else { throw Arguments.usage("The model has no Book") }
        let table = schema.tableIndex(of: entity)
        var batch = filled(schema.tables[table].columns)
        let writer = try store.tableWriter(table, isWhole: false)
        let start = seconds()
        var key: Int64 = 0
        while key < rows {
            for row in 0..<batch.count { batch.setKey(key + Int64(row) + 1, row: row) }
            try writer.append(batch)
            key += Int64(batch.count)
        }
        try writer.finish()
        let spent = seconds() - start
        var highest = [Int64](repeating: 0, count: schema.tables.count)
        highest[table] = key
        try store.finish(
            metadata: DestinationMetadata(
                uuid: "51A6EC0A-0000-4000-8000-000000000001", sourceProperties: [:],
                versionHashes: model.entityVersionHashesByName.mapValues { Array($0) },
                versionIdentifiers: model.definition.versionIdentifiers),
            maximumKeys: highest, modelCache: nil)
        var status = stat()
        let bytes = stat(path, &status) == 0 ? Int(status.st_size) : 0
        line(writesPages ? "encode pages" : "insert by SQLite", Int(key), spent, bytes)
        return bytes
    }

    private static func read(_ path: String, _ model: ManagedObjectModel, readsPages: Bool, bytes: Int) throws {
        let store = try SourceStore(path: path, cacheBytes: 2 << 20, valueLimit: 8 << 20, temporaryDirectory: nil)
        store.readsPages = readsPages
        let layout = try store.layout(for: model)
        guard let entity = model.entity(named: "Book") else { return }
        let table = layout.schema.tableIndex(of: entity)
        let columns = layout.tables[table].columns.indices.map { SelectedColumn.own($0) }
        let start = seconds()
        let rows = try rows(store, RowSelection(table: table, columns: columns), layout)
        line(readsPages ? "  decode pages" : "  read by SQLite", rows, seconds() - start, bytes)
        try store.close()
    }

    /// Reads all rows of a selection; the reader is gone afterwards.
    private static func rows(_ store: SourceStore, _ selection: RowSelection, _ layout: StoreLayout) throws -> Int {
        let reader = try store.rows(selection, in: layout)
        var batch = RowBatch(slots: selection.columns.count, rowCapacity: 500, byteTarget: 1 << 20)
        var count = 0
        while try reader.next(into: &batch) { count += batch.count }
        return count
    }

    /// Rows like those of a library's books: numbers of all widths, and texts of 10 to 200 bytes.
    private static func filled(_ columns: [StoreColumn]) -> RowBatch {
        var generator = BenchmarkGenerator(seed: 1)
        var text = RandomText(&generator)
        var batch = RowBatch(slots: columns.count, rowCapacity: 500, byteTarget: 1 << 20)
        while !batch.isFull {
            let row = batch.appendRow(key: Int64(batch.count))
            for (slot, column) in columns.enumerated() {
                switch column.type {
                case "VARCHAR":
                    text.make(10...(column.name == "ZSUMMARY" ? 200 : 60), &generator)
                    text.bytes.withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: slot) }
                case "INTEGER": batch[row, slot] = .integer(Int64(generator.below(1 << (8 * (slot % 4 + 1) - 1))))
                default: batch[row, slot] = .real(generator.unit() * 1e6)
                }
            }
        }
        return batch
    }

    private static func line(_ way: String, _ rows: Int, _ spent: Double, _ bytes: Int) {
        func padded(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(1, width - text.count)) + text
        }
        print(
            way.padding(toLength: 19, withPad: " ", startingAt: 0) + padded("\(rows)", 10)
                + padded(String(format: "%.0f", spent * 1e9 / Double(max(1, rows))), 13)
                + padded(String(format: "%.0f", Double(bytes) / max(spent, 1e-9) / 1e6), 14))
    }

    /// Processor time of the process.
    private static func seconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
