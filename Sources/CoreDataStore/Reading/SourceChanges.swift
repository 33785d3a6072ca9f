import CSQLite
import Diagnostics
import Rows

/// Rows and links of a source that are changed or deleted for the readers of this process, apart from the file.
///
/// Before the first change of a table, it is copied to a temporary table of the source's connection, in a file without a name in
/// the temporary directory. Queries find the copy before the file's table, and readers of pages leave it to SQLite. So every
/// reader made later sees the changes, and nothing is written to the store or beside it.
///
/// Complexity: the first change of a table copies its pages; every other change is a statement by key.
package final class SourceChanges {
    private static let reason = "its rows were changed by a policy"
    private let store: SourceStore
    private let layout: StoreLayout

    package init(_ store: SourceStore, in layout: StoreLayout) {
        self.store = store
        self.layout = layout
    }

    /// Tells whether rows of a table were changed or deleted.
    package func hasChanged(table: Int) -> Bool { hasChanged(layout.tables[table].name) }

    /// Tells whether links of a join table were changed or deleted.
    package func hasChanged(joinTable: Int) -> Bool { hasChanged(layout.joinTables[joinTable].name) }

    private func hasChanged(_ name: String) -> Bool { store.replaced[name.uppercased()] == Self.reason }

    /// Returns the entity that a row has in the file, also if it was deleted since; nil if it has none.
    package func entityInFile(of key: Int64, table: Int) throws(MigrationError) -> Int? {
        try store.entity(ofKey: key, table: table, in: layout, inFile: true)
    }

    // MARK: - Rows

    /// Sets a cell of a row to a cell of a batch.
    ///
    /// - Throws: `store.full`, `store.io` (74); so do all changes.
    package func set(
        _ key: Int64, table: Int, column: Int, to cell: Cell, of batch: borrowing RowBatch
    ) throws(MigrationError) {
        let source = layout.tables[table]
        try beginChanges(of: source.name, indexes: foreignKeys(of: table))
        let sql = "UPDATE temp.\(source.name.quoted) SET \(source.columns[column].quoted) = ?2 WHERE Z_PK = ?1"
        let statement = try store.pool.take(sql)
        defer { store.pool.give(statement, sql: sql) }
        statement.bind(key, at: 1)
        statement.bind(cell, of: batch, at: 2)
        try run(statement)
    }

    /// Deletes a row, if it exists.
    package func delete(_ key: Int64, table: Int) throws(MigrationError) {
        let name = layout.tables[table].name
        try beginChanges(of: name, indexes: foreignKeys(of: table))
        try run("DELETE FROM temp.\(name.quoted) WHERE Z_PK = ?1", key)
    }

    /// Sets columns to NULL in the rows whose key column refers to an object.
    ///
    /// - Parameters:
    ///   - others: further columns to set to NULL.
    ///   - body: called with the key of each of these rows before.
    package func clearReferences(
        to key: Int64, table: Int, column: Int, _ others: [Int], _ body: (Int64) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let source = layout.tables[table]
        try beginChanges(of: source.name, indexes: foreignKeys(of: table))
        let condition = "WHERE \(source.columns[column].quoted) = ?1"
        let sql = "SELECT Z_PK FROM \(source.name.quoted) \(condition)"
        let statement = try store.pool.take(sql)
        statement.bind(key, at: 1)
        while try store.stepping(statement) { try body(statement.integer(0)) }
        store.pool.give(statement, sql: sql)
        let sets = ([column] + others).map { "\(source.columns[$0].quoted) = NULL" }.joined(separator: ", ")
        try run("UPDATE temp.\(source.name.quoted) SET \(sets) \(condition)", key)
    }

    /// Returns the greatest integer in a column of the rows whose key column refers to an object; nil if there is none.
    package func greatest(_ column: Int, table: Int, where reference: Int, is key: Int64) throws(MigrationError)
        -> Int64?
    {
        let source = layout.tables[table]
        return try greatest(
            source.columns[column], source.name, where: "\(source.columns[reference].quoted) = ?1", key)
    }

    // MARK: - Links of join tables

    /// Adds a link to the changed copy of a join table. If the link is there already, its places are replaced.
    ///
    /// - Parameters:
    ///   - keys: the keys of the two linked objects, in the order of the join table's sides.
    ///   - places: the position of each object in the ordered relationship of the other. It is ignored for a side whose position
    ///     has no column in the source's join table.
    package func link(
        _ keys: (Int64, Int64), places: (Int64?, Int64?), joinTable: Int
    ) throws(MigrationError) {
        let join = layout.joinTables[joinTable]
        try unlink(keys, joinTable: joinTable)
        let columns = join.sides.map(\.column) + join.sides.compactMap(\.orderColumn)
        var values: [Int64?] = [keys.0, keys.1]
        for (side, place) in zip(join.sides, [places.0, places.1]) where side.orderColumn != nil {
            values.append(place)
        }
        let marks = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let names = columns.map(\.quoted).joined(separator: ", ")
        try run("INSERT INTO temp.\(join.name.quoted) (\(names)) VALUES (\(marks))", values)
    }

    /// Changes the places of a link that is there.
    ///
    /// - Parameter places: the new places of both sides' objects; nil for one that stays.
    package func setPlaces(
        _ keys: (Int64, Int64), _ places: (Int64?, Int64?), joinTable: Int
    ) throws(MigrationError) {
        let join = try beginChanges(ofJoin: joinTable)
        for (side, place) in zip(join.sides, [places.0, places.1]) {
            guard let place, let order = side.orderColumn else { continue }
            try run(
                "UPDATE temp.\(join.name.quoted) SET \(order.quoted) = ?3 WHERE \(join.sides[0].column.quoted) = ?1 "
                    + "AND \(join.sides[1].column.quoted) = ?2", [keys.0, keys.1, place])
        }
    }

    /// Removes a link, if it is there.
    package func unlink(_ keys: (Int64, Int64), joinTable: Int) throws(MigrationError) {
        let join = try beginChanges(ofJoin: joinTable)
        try run(
            "DELETE FROM temp.\(join.name.quoted) WHERE \(join.sides[0].column.quoted) = ?1 "
                + "AND \(join.sides[1].column.quoted) = ?2", [keys.0, keys.1])
    }

    /// Removes all links of an object on a side (0 or 1).
    package func unlinkAll(_ key: Int64, joinTable: Int, side: Int) throws(MigrationError) {
        let join = try beginChanges(ofJoin: joinTable)
        try run("DELETE FROM temp.\(join.name.quoted) WHERE \(join.sides[side].column.quoted) = ?1", key)
    }

    /// Returns the greatest place among the objects that an object on a side is linked to; nil if there is none. Links to rows
    /// that do not exist are no members.
    ///
    /// - Parameter table: the table of the objects that it is linked to.
    package func greatestPlace(
        of key: Int64, joinTable: Int, side: Int, to table: Int
    ) throws(MigrationError) -> Int64? {
        let join = layout.joinTables[joinTable]
        guard let order = join.sides[1 - side].orderColumn else { return nil }
        let (own, other) = (join.sides[side].column.quoted, join.sides[1 - side].column.quoted)
        return try greatest(
            order, join.name,
            where:
                "\(own) = ?1 AND EXISTS (SELECT 1 FROM \(layout.tables[table].name.quoted) AS t WHERE t.Z_PK = \(other))",
            key)
    }

    // MARK: - Copies

    private func beginChanges(ofJoin joinTable: Int) throws(MigrationError) -> SourceJoinTable {
        let join = layout.joinTables[joinTable]
        let columns = join.sides.map(\.column)
        try beginChanges(of: join.name, indexes: [columns, columns.reversed()])
        return join
    }

    /// The columns of a table by which rows are found from others.
    private func foreignKeys(of table: Int) -> [[String]] {
        zip(layout.tables[table].columns, layout.schema.tables[table].columns).compactMap { name, column in
            switch column.role {
            case .toOne, .hiddenOwner: [name]
            default: nil
            }
        }
    }

    /// Copies a table, if it has not been copied yet.
    ///
    /// - Parameter indexes: the columns of each index that the copy gets.
    private func beginChanges(of name: String, indexes: [[String]]) throws(MigrationError) {
        guard !hasChanged(name) else { return }
        guard store.replaced[name.uppercased()] == nil,
            let sql = try store.connection.text(
                "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = \(SQLName.literal(name)) COLLATE NOCASE"
            )
        else {
            throw MigrationError(
                "store.incomplete", .data, "Objects of the table \(name) cannot be changed, because it is damaged",
                remedy: "Use an undamaged copy of the store", context: .init(path: store.path))
        }
        // Statements of the same text refer to the file's table.
        store.pool.drain()
        try store.writingTemporary { () throws(MigrationError) in
            // The form of the file's own statement lets SQLite copy whole records, whatever the size of their values.
            try store.connection.execute("CREATE TEMP TABLE" + sql.dropFirst("CREATE TABLE".count))
            try store.connection.execute("INSERT INTO temp.\(name.quoted) SELECT * FROM main.\(name.quoted)")
            for (number, columns) in indexes.enumerated() {
                try store.connection.execute(
                    "CREATE INDEX temp.\("\(name)~\(number)".quoted) ON \(name.quoted) "
                        + "(\(columns.map(\.quoted).joined(separator: ", ")))")
            }
        }
        // All further changes are of temporary tables; the file itself is open for reading only.
        try store.connection.execute("PRAGMA query_only=0")
        store.replaced[name.uppercased()] = Self.reason
    }

    private func greatest(
        _ column: String, _ table: String, where condition: String, _ key: Int64
    ) throws(MigrationError) -> Int64? {
        let sql = "SELECT max(\(column.quoted)) FROM \(table.quoted) WHERE \(condition)"
        let statement = try store.pool.take(sql)
        defer { store.pool.give(statement, sql: sql) }
        statement.bind(key, at: 1)
        return try store.stepping(statement) && !statement.isNull(0) ? statement.integer(0) : nil
    }

    private func run(_ sql: String, _ key: Int64) throws(MigrationError) { try run(sql, [key]) }

    private func run(_ sql: String, _ values: [Int64?]) throws(MigrationError) {
        let statement = try store.pool.take(sql)
        defer { store.pool.give(statement, sql: sql) }
        for (position, value) in values.enumerated() {
            if let value {
                statement.bind(value, at: Int32(position + 1))
            } else {
                statement.bindNull(at: Int32(position + 1))
            }
        }
        try run(statement)
    }

    private func run(_ statement: Statement) throws(MigrationError) {
        try store.blamingData { () throws(MigrationError) in try statement.run() }
    }
}
