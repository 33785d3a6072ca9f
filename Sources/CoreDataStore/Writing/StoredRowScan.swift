import CSQLite
import Diagnostics
import Rows

/// A scan of one table of the store that is being written, in ascending key order. It serves fetches of rows that earlier
/// mapping models made or that were there before.
///
/// Between two batches no statement is at a row, so rows may be changed then, and later batches see the changes. Memory: one
/// prepared statement. Release before the store is finished.
package final class StoredRowScan {
    private let statement: Statement
    private let columns: [Int]
    private let last: Int64
    private let table: String
    private let store: DestinationStore
    private var nextKey: Int64?

    /// - Parameters:
    ///   - table: the index in the schema's tables.
    ///   - columns: the columns to read; the slots of other columns are NULL.
    ///   - first: the least key.
    ///   - last: the greatest key.
    package init(
        _ store: DestinationStore, table: Int, columns: [Int], from first: Int64, through last: Int64
    ) throws(MigrationError) {
        let description = store.schema.tables[table]
        let names = ["Z_PK"] + columns.map { SQLName.quoted(description.columns[$0].name) }
        statement = try store.connection.prepare(
            "SELECT \(names.joined(separator: ", ")) FROM \(SQLName.quoted(description.name)) "
                + "WHERE Z_PK BETWEEN ?1 AND ?2 ORDER BY Z_PK")
        self.store = store
        self.columns = columns
        self.last = last
        self.table = description.name
        nextKey = first
    }

    /// Adds the next rows to a batch with a slot for each column of the table, until it is full. At the end it adds none.
    ///
    /// - Complexity: a search by key, then O(rows of the batch).
    package func next(into batch: inout RowBatch) throws(MigrationError) {
        guard let first = nextKey, first <= last else { return }
        defer { statement.reset() }
        statement.bind(first, last)
        while !batch.isFull {
            guard try statement.step() else {
                nextKey = nil
                return
            }
            let key = statement.integer(0)
            let row = batch.appendRow(key: key)
            for (position, slot) in columns.enumerated()
            where !batch.read(statement.handle, column: Int32(position + 1), row: row, slot: slot) {
                batch.removeLastRow()
                throw SQLiteFailure.error(
                    store.connection.handle, code: SQLITE_NOMEM, doing: "Reading \(table)", path: store.path)
            }
            nextKey = key == .max ? nil : key + 1
        }
    }
}
