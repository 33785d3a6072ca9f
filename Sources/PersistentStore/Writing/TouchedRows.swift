import Diagnostics

/// The rows that were in the store already and that a mapping model changed: they are validated with its new ones. Kept
/// in a temporary table of the store's connection, in no memory.
package final class TouchedRows {
    private let store: DestinationStore
    private var insert: Statement?
    /// Whether any was noted.
    package private(set) var isEmpty = true

    /// - Parameter store: where nothing is noted yet.
    package init(_ store: DestinationStore) { self.store = store }

    /// Notes a row; one noted before stays so.
    package func note(_ key: Int64, table: Int) throws(MigrationError) {
        let statement: Statement
        if let insert {
            statement = insert
        } else {
            try store.connection.execute(
                "CREATE TEMP TABLE IF NOT EXISTS touched (place INTEGER, key INTEGER, PRIMARY KEY (place, key)) "
                    + "WITHOUT ROWID; DELETE FROM temp.touched")
            statement = try store.connection.prepare("INSERT OR IGNORE INTO temp.touched VALUES (?1, ?2)")
            insert = statement
            isEmpty = false
        }
        statement.bind(Int64(table), at: 1)
        statement.bind(key, at: 2)
        try statement.run()
    }

    /// An SQL condition that holds for the noted rows of a table, by their key.
    package func condition(table: Int, key: String) -> String {
        isEmpty ? "0" : "\(key) IN (SELECT key FROM temp.touched WHERE place = \(table))"
    }

    /// Shows the noted rows of a table that still exist, ascending.
    package func forEachKey(table: Int, _ body: (Int64) throws -> Void) throws {
        guard !isEmpty else { return }
        let name = SQLName.quoted(store.schema.tables[table].name)
        let select = try store.connection.prepare(
            "SELECT key FROM temp.touched AS t WHERE place = \(table) "
                + "AND EXISTS (SELECT 1 FROM \(name) AS r WHERE r.Z_PK = t.key)")
        while try select.step() { try body(select.integer(0)) }
    }

    /// Shows all noted rows: table and key.
    package func forEachNoted(_ body: (Int, Int64) throws -> Void) throws {
        guard !isEmpty else { return }
        let select = try store.connection.prepare("SELECT place, key FROM temp.touched")
        while try select.step() { try body(Int(select.integer(0)), select.integer(1)) }
    }

    /// Gives the statement back, before the store is finished.
    package func close() { insert = nil }
}
