import CSQLite
import Diagnostics
import Rows

/// A column of a source table whose values are read in parts with SQLite's incremental I/O, which walks the overflow pages of a
/// value and never holds the whole value.
///
/// Memory: 256 KiB while a value is read, and four bytes for each of its pages, which SQLite keeps: 1 MB for 1 GB.
final class HugeColumn: HugeValueSource {
    private static let part = 256 << 10

    /// Unowned, because the store owns its columns.
    private unowned let store: SourceStore
    private let layout: StoreLayout
    private let table: Int
    private let column: Int

    init(store: SourceStore, layout: StoreLayout, table: Int, column: Int) {
        self.store = store
        self.layout = layout
        self.table = table
        self.column = column
    }

    /// Returns the text or blob of a row without reading its bytes; nil for another kind, and for text that is not UTF-8.
    func value(key: Int64) throws(MigrationError) -> HugeValue? {
        let (table, column) = (layout.tables[table].name.quoted, layout.tables[table].columns[column].quoted)
        let kind = try store.connection.prepare("SELECT typeof(\(column)) FROM \(table) WHERE \"Z_PK\" = ?1")
        kind.bind(key, at: 1)
        guard try kind.step(), let name = kind.text(0), name == "text" || name == "blob" else { return nil }
        kind.reset()
        guard name == "blob" || store.isUTF8 else { return nil }
        let blob = try open(key)
        defer { sqlite3_blob_close(blob) }
        return HugeValue(source: self, key: key, count: Int(sqlite3_blob_bytes(blob)), isText: name == "text")
    }

    func read(
        _ value: HugeValue, _ body: (UnsafeRawBufferPointer) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let blob = try open(value.key)
        defer { sqlite3_blob_close(blob) }
        guard Int(sqlite3_blob_bytes(blob)) == value.count else {
            throw failure(SQLITE_CORRUPT, key: value.key)
        }
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: min(Self.part, max(1, value.count)), alignment: 16)
        defer { buffer.deallocate() }
        var done = 0
        while done < value.count {
            let count = min(Self.part, value.count - done)
            let code = sqlite3_blob_read(
                blob, buffer, Int32(truncatingIfNeeded: count), Int32(truncatingIfNeeded: done))
            guard code == SQLITE_OK else { throw failure(code, key: value.key) }
            try body(UnsafeRawBufferPointer(start: buffer, count: count))
            done += count
        }
    }

    func refusal(_ value: HugeValue, for use: String) -> MigrationError {
        store.tooLarge(table: table, key: value.key, column: column, bytes: value.count, layout: layout, use: use)
    }

    func refusal(key: Int64, bytes: Int) -> MigrationError {
        store.tooLarge(table: table, key: key, column: column, bytes: bytes, layout: layout)
    }

    private func open(_ key: Int64) throws(MigrationError) -> OpaquePointer? {
        var blob: OpaquePointer?
        let source = layout.tables[table]
        let code = sqlite3_blob_open(
            store.connection.handle, "main", source.name, source.columns[column], key, 0, &blob)
        guard code == SQLITE_OK else {
            sqlite3_blob_close(blob)
            throw failure(code, key: key)
        }
        return blob
    }

    private func failure(_ code: Int32, key: Int64) -> MigrationError {
        store.failure(code, reading: layout.tables[table].name).inside(store.context(table, key, layout))
    }
}
