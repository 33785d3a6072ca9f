import Diagnostics
import Rows

/// The existing rows of the store that a mapping model changed. They are validated with its new rows. They are kept in a
/// temporary table of the store's connection and take no memory.
///
/// An object's row may be written although the object has not changed: a member's row, if its owner's relationship has no
/// inverse. Such a row is recorded, but not as that of a changed object.
package final class TouchedRows {
    /// The kind of change to a row. A later case includes the earlier ones.
    package enum Change: Int64, Comparable {
        /// Columns that do not belong to the object's properties.
        case row
        /// The object's relationships, compared with the last save.
        case links
        /// The object's own values, or links to deleted objects.
        case values

        package static func < (left: Change, right: Change) -> Bool { left.rawValue < right.rawValue }
    }

    private let store: DestinationStore
    private var insert: Statement?
    private var insertCell: Statement?
    /// True if no row is recorded.
    package private(set) var isEmpty = true

    /// - Parameter store: a store without recorded rows.
    package init(_ store: DestinationStore) { self.store = store }

    /// Records a row. If it is already recorded, the greater change is kept.
    package func note(_ key: Int64, table: Int, _ change: Change) throws(MigrationError) {
        let statement = try prepared(
            &insert, table: "touched (place INTEGER, key INTEGER, changed INTEGER, PRIMARY KEY (place, key))",
            """
            INSERT INTO temp.touched VALUES (?1, ?2, ?3)
            ON CONFLICT (place, key) DO UPDATE SET changed = max(changed, ?3)
            """)
        isEmpty = false
        statement.bind(Int64(table), key, change.rawValue)
        try statement.run()
    }

    /// Returns a statement that is prepared at its first use, with its table empty.
    private func prepared(
        _ statement: inout Statement?, table: String, _ sql: String
    ) throws(MigrationError) -> Statement {
        if let statement { return statement }
        let name = table.prefix { $0 != " " }
        try store.connection.execute("CREATE TEMP TABLE IF NOT EXISTS \(table) WITHOUT ROWID; DELETE FROM temp.\(name)")
        let made = try store.connection.prepare(sql)
        statement = made
        return made
    }

    /// Records that a cell gets another value. A cell that has its first value again in the end counts as unchanged.
    ///
    /// - Parameters:
    ///   - before: the batch with the present row.
    ///   - row: the index of the row in it.
    package func note(
        cell column: Int, of key: Int64, table: Int, before: borrowing RowBatch, row: Int
    ) throws(MigrationError) {
        try note(key, table: table, .row)
        let statement = try prepared(
            &insertCell,
            table: "touched_cells (place INTEGER, key INTEGER, slot INTEGER, before, PRIMARY KEY (place, key, slot))",
            "INSERT OR IGNORE INTO temp.touched_cells VALUES (?1, ?2, ?3, ?4)")
        statement.bind(Int64(table), key, Int64(column))
        statement.bind(before[row, column], of: before, at: 4)
        try statement.run()
    }

    /// Compares the recorded cells with their first values. The objects of cells that differ have changed.
    ///
    /// - Complexity: O(recorded cells), with a lookup of a row by key for each.
    package func compareCells() throws(MigrationError) {
        guard insertCell != nil else { return }
        insertCell = nil
        let columns = try store.connection.rows("SELECT DISTINCT place, slot FROM temp.touched_cells") { row in
            (Int(row.integer(0)), Int(row.integer(1)))
        }
        for (index, slot) in columns {
            let table = store.schema.tables[index]
            try store.connection.execute(
                """
                UPDATE temp.touched SET changed = \(Change.values.rawValue)
                WHERE place = \(index) AND key IN (
                    SELECT c.key FROM temp.touched_cells AS c JOIN \(SQLName.quoted(table.name)) AS r ON r.Z_PK = c.key
                    WHERE c.place = \(index) AND c.slot = \(slot)
                        AND r.\(SQLName.quoted(table.columns[slot].name)) IS NOT c.before)
                """)
        }
        try store.connection.execute("DELETE FROM temp.touched_cells")
    }

    /// Tells whether a row is recorded as that of a changed object, or had a cell changed, even if it has its first value
    /// again.
    package func isChanged(_ key: Int64, table: Int) throws(MigrationError) -> Bool {
        guard !isEmpty else { return false }
        let cells =
            insertCell == nil ? "" : " OR EXISTS (SELECT 1 FROM temp.touched_cells WHERE place = ?1 AND key = ?2)"
        let statement = try store.connection.prepare(
            "SELECT 1 FROM temp.touched WHERE place = ?1 AND key = ?2 AND (changed\(cells))")
        statement.bind(Int64(table), key)
        return try statement.step()
    }

    /// Returns an SQL condition that holds for the recorded rows of a table, or only for those whose objects changed, by their
    /// key.
    package func condition(table: Int, key: String, isChanged: Bool = false) -> String {
        let changed = isChanged ? " AND changed" : ""
        return isEmpty ? "0" : "\(key) IN (SELECT key FROM temp.touched WHERE place = \(table)\(changed))"
    }

    /// Passes the recorded rows of a table that still exist to a body, ascending.
    package func forEachKey(table: Int, _ body: (Int64) throws -> Void) throws {
        guard !isEmpty else { return }
        let name = SQLName.quoted(store.schema.tables[table].name)
        let select = try store.connection.prepare(
            "SELECT key FROM temp.touched AS t WHERE place = \(table) "
                + "AND EXISTS (SELECT 1 FROM \(name) AS r WHERE r.Z_PK = t.key)")
        while try select.step() { try body(select.integer(0)) }
    }

    /// Passes all recorded rows to a body: table, key, and kind of change.
    package func forEachNoted(_ body: (Int, Int64, Change) throws -> Void) throws {
        guard !isEmpty else { return }
        let select = try store.connection.prepare("SELECT place, key, changed FROM temp.touched")
        while try select.step() {
            try body(Int(select.integer(0)), select.integer(1), Change(rawValue: select.integer(2)) ?? .values)
        }
    }

    /// Releases the statements, before the store is finished.
    package func close() {
        insert = nil
        insertCell = nil
    }
}
