import CSQLite
import Diagnostics
import Rows

/// Single rows of one table of the store that is being written, which previous mapping models made or which were there before.
/// They are read, changed and deleted by key, within the store's transaction.
///
/// Memory: one prepared statement for each set of columns that is changed together. Release before the store is finished.
package final class ExistingRows {
    private let store: DestinationStore
    private let table: EntityTable
    private let tableIndex: Int
    private var select: Statement?
    private var updates: [[Int]: Statement] = [:]

    /// - Parameter table: the index in the schema's tables.
    package init(_ store: DestinationStore, table: Int) {
        self.store = store
        self.table = store.schema.tables[table]
        tableIndex = table
    }

    /// Adds the row of a key to a batch, with one slot for each column of the table.
    ///
    /// - Returns: false if there is none.
    package func fetch(_ key: Int64, into batch: inout RowBatch) throws(MigrationError) -> Bool {
        if select == nil {
            let names = table.columns.map { SQLName.quoted($0.name) }.joined(separator: ", ")
            select = try store.connection.prepare(
                "SELECT \(names) FROM \(SQLName.quoted(table.name)) WHERE Z_PK = ?1")
        }
        guard let statement = select else { return false }
        defer { statement.reset() }
        statement.bind(key, at: 1)
        guard try statement.step() else { return false }
        let row = batch.appendRow(key: key)
        for slot in table.columns.indices
        where !batch.read(statement.handle, column: Int32(slot), row: row, slot: slot) {
            batch.removeLastRow()
            throw SQLiteFailure.error(
                store.connection.handle, code: SQLITE_NOMEM, doing: "Reading \(table.name)", path: store.path)
        }
        return true
    }

    /// Sets the cells of a row to those of a batch's row, except cells that are absent there.
    ///
    /// - Throws: `store.constraint`, `store.full`, `store.io`.
    package func update(_ key: Int64, from batch: borrowing RowBatch, row: Int) throws(MigrationError) {
        var changed: [Int] = []
        for slot in 0..<batch.slots where batch[row, slot].kind != .absent { changed.append(slot) }
        guard !changed.isEmpty else { return }
        try store.beginTransaction()
        if changed.contains(where: { if case .attribute = table.columns[$0].role { true } else { false } }) {
            try store.prepareUpdates(table: tableIndex)
        }
        if updates[changed] == nil {
            let sets = changed.enumerated().map { "\(SQLName.quoted(table.columns[$1].name)) = ?\($0 + 2)" }
            updates[changed] = try store.connection.prepare(
                "UPDATE \(SQLName.quoted(table.name)) SET \(sets.joined(separator: ", ")) WHERE Z_PK = ?1")
        }
        guard let statement = updates[changed] else { return }
        statement.bind(key, at: 1)
        for (position, slot) in changed.enumerated() {
            statement.bind(batch[row, slot], of: batch, at: Int32(position + 2))
        }
        try statement.run()
    }

    /// Returns the rows between two keys, in order; see ``StoredRowScan``.
    package func scan(columns: [Int], from first: Int64, through last: Int64) throws(MigrationError) -> StoredRowScan {
        try StoredRowScan(store, table: tableIndex, columns: columns, from: first, through: last)
    }

    /// Returns the number of rows by Z_ENT, up to a key.
    ///
    /// - Complexity: O(rows).
    package func counts(through last: Int64) throws(MigrationError) -> [Int64: Int] {
        let statement = try store.connection.prepare(
            "SELECT Z_ENT, count(*) FROM \(SQLName.quoted(table.name)) WHERE Z_PK <= ?1 GROUP BY Z_ENT")
        statement.bind(last, at: 1)
        var counts: [Int64: Int] = [:]
        while try statement.step() { counts[statement.integer(0)] = Int(statement.integer(1)) }
        return counts
    }

    /// Increments Z_OPT of the rows recorded as changed, as a save does.
    ///
    /// - Complexity: O(recorded rows), with an update by key for each.
    package func raiseLocks(of touched: TouchedRows) throws(MigrationError) {
        guard !touched.isEmpty else { return }
        try store.beginTransaction()
        try store.connection.execute(
            "UPDATE \(SQLName.quoted(table.name)) SET Z_OPT = coalesce(Z_OPT, 0) + 1 "
                + "WHERE \(touched.condition(table: tableIndex, key: "Z_PK", isChanged: true))")
    }

    /// Deletes a row, if it exists.
    package func delete(_ key: Int64) throws(MigrationError) {
        try store.beginTransaction()
        let statement = try store.connection.prepare("DELETE FROM \(SQLName.quoted(table.name)) WHERE Z_PK = ?1")
        statement.bind(key, at: 1)
        try statement.run()
    }
}

extension Statement {
    /// Binds a copy of a cell's value; an absent cell as NULL.
    func bind(_ cell: Cell, of batch: borrowing RowBatch, at index: Int32) {
        switch cell.kind {
        case .null, .absent, .rawRecord: bindNull(at: index)
        case .integer, .reference: bind(cell.integerValue, at: index)
        case .real: bind(cell.realValue, at: index)
        case .text:
            let bytes = batch.bytes(cell)
            let base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            _ = sqlite3_bind_text64(
                handle, index, base?.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), Statement.transient,
                UInt8(SQLITE_UTF8))
        case .blob: bind(Array(batch.bytes(cell)), at: index)
        case .huge: preconditionFailure("a huge value is only copied")
        }
    }
}
