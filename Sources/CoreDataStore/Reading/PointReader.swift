import CSQLite
import Diagnostics
import Rows

extension SourceStore {
    /// Adds one row to a batch.
    ///
    /// - Parameter streamed: slots of own columns whose values become ``HugeValue``s if they are too large to read.
    /// - Returns: false if there is no row with the key.
    /// - Precondition: the batch has a slot for each column, and room for a row.
    package func row(
        table: Int, key: Int64, columns: [SelectedColumn], in layout: StoreLayout, streamed: Set<Int> = [],
        into batch: inout RowBatch
    ) throws(MigrationError) -> Bool {
        try PointReader(self, table: table, columns: columns, in: layout, streamed: streamed).fetch(key, into: &batch)
    }
}

/// Fetches rows of one table by key. On release it returns its statement to the store's pool.
package final class PointReader {
    private let store: SourceStore
    private let statement: Statement
    private let sql: String
    private let table: Int
    private let columns: [SelectedColumn]
    private let layout: StoreLayout
    private let streamed: Set<Int>

    /// Makes a reader for many fetches of the same columns.
    ///
    /// - Parameters:
    ///   - streamed: slots of own columns whose values become ``HugeValue``s if they are too large to read.
    ///   - inFile: true to read the file's rows, also if ``SourceChanges`` changed them since.
    package init(
        _ store: SourceStore, table: Int, columns: [SelectedColumn], in layout: StoreLayout,
        streamed: Set<Int> = [], inFile: Bool = false
    ) throws(MigrationError) {
        self.store = store
        self.table = table
        self.columns = columns
        self.layout = layout
        self.streamed = streamed
        let sql = try SelectionQuery(table: table, columns: columns, layout: layout)
            .sql(where: ["t.\"Z_PK\" = ?1"], ordered: false, inFile: inFile)
        self.sql = sql
        statement = try store.blamingData { () throws(MigrationError) in try store.pool.take(sql) }
    }

    deinit { store.pool.give(statement, sql: sql) }

    /// Adds the row of a key to a batch.
    ///
    /// - Returns: false if there is none; the batch is then unchanged.
    /// - Throws: `store.valueTooLarge`, `store.damaged`, `store.io`.
    /// - Precondition: the batch has a slot for each column, and room for a row.
    package func fetch(_ key: Int64, into batch: inout RowBatch) throws(MigrationError) -> Bool {
        precondition(batch.slots == columns.count)
        let handle = statement.handle
        sqlite3_reset(handle)
        sqlite3_bind_int64(handle, 1, key)
        // Reset after reading, because an idle statement holds no page.
        defer { sqlite3_reset(handle) }
        let code = sqlite3_step(handle)
        if code == SQLITE_DONE { return false }
        if code & 0xff == SQLITE_TOOBIG, !streamed.isEmpty,
            try store.rowWithHugeValues(
                key, table: table, columns: columns, streamed: streamed, in: layout, into: &batch)
        {
            return true
        }
        guard code == SQLITE_ROW else { throw failure(code, key) }
        let row = batch.appendRow(key: key)
        for slot in 0..<columns.count where !batch.read(handle, column: Int32(slot) + 1, row: row, slot: slot) {
            batch.removeLastRow()
            throw failure(SQLITE_NOMEM, key)
        }
        return true
    }

    private func failure(_ code: Int32, _ key: Int64) -> MigrationError {
        if code & 0xff == SQLITE_TOOBIG {
            let before = key == .min ? nil : key - 1
            return store.tooLarge(table: table, after: before, columns: columns, layout: layout)
        }
        return store.failure(code, reading: layout.tables[table].name).inside(store.context(table, key, layout))
    }
}
