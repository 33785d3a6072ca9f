import CSQLite
import Diagnostics

/// A member of a to-many relationship.
package struct Member: Equatable, Sendable {
    /// The key, Z_PK.
    package var key: Int64
    /// The Z_ENT of the row in the file; 0 if there is no such row.
    package var fileNumber: Int
    /// The ordering key; nil if the relationship is not ordered or the member has none.
    package var order: Int64?

    package init(key: Int64, fileNumber: Int, order: Int64? = nil) {
        self.key = key
        self.fileNumber = fileNumber
        self.order = order
    }
}

extension SourceStore {
    /// Returns the rows whose key column points to an owner: the members of a to-many relationship with a to-one inverse or
    /// without one.
    ///
    /// - Parameters:
    ///   - table: the table index of the members.
    ///   - column: the index of the column with the owner's key.
    ///   - owner: the owner's key.
    ///   - orderColumn: the index of the ordering column; nil for ascending keys.
    /// - Complexity: O(members) if the column has an index, as in Core Data's stores.
    package func members(
        table: Int, column: Int, owner: Int64, orderColumn: Int?, in layout: StoreLayout
    ) throws(MigrationError) -> MemberCursor {
        try members(table: table, column: column, owners: owner...owner, orderColumn: orderColumn, in: layout)
    }

    /// Returns the members of all owners in a range of keys.
    ///
    /// Ascending by owner, then in the order of ``members(table:column:owner:orderColumn:in:)``.
    /// - Complexity: O(members) if the column has an index; otherwise a scan of the table and a sort, which may spill.
    package func members(
        table: Int, column: Int, owners: ClosedRange<Int64>, orderColumn: Int?, in layout: StoreLayout
    ) throws(MigrationError) -> MemberCursor {
        let source = layout.tables[table]
        let entity = source.columns[EntityTable.entityColumn].quoted
        return try cursor(
            key: "t.\"Z_PK\"", entity: "t.\(entity)", order: orderColumn.map { "t.\(source.columns[$0].quoted)" },
            from: "\(source.name.quoted) AS t", owner: "t.\(source.columns[column].quoted)", owners)
    }

    /// Returns the members that a join table links to an object, ascending by order, if there is one, then by key.
    ///
    /// - Parameters:
    ///   - joinTable: the index of the join table.
    ///   - side: the side (0 or 1) of the object whose members are returned.
    ///   - key: the key of that object.
    package func joined(
        joinTable: Int, side: Int, key: Int64, in layout: StoreLayout
    ) throws(MigrationError) -> MemberCursor {
        try joined(joinTable: joinTable, side: side, owners: key...key, in: layout)
    }

    /// Returns the members that a join table links to all objects in a range of keys.
    ///
    /// Ascending by object, then in the order of ``joined(joinTable:side:key:in:)``.
    package func joined(
        joinTable: Int, side: Int, owners: ClosedRange<Int64>, in layout: StoreLayout
    ) throws(MigrationError) -> MemberCursor {
        precondition(side == 0 || side == 1)
        let join = layout.joinTables[joinTable]
        let other = join.sides[1 - side]
        let entity = layout.schema.joinTables[joinTable].sides[1 - side].relationship.entity
        let members = layout.tables[layout.schema.tableByEntity[entity]]
        let key = "j.\(other.column.quoted)"
        return try cursor(
            key: key, entity: "m.\(members.columns[EntityTable.entityColumn].quoted)",
            order: other.orderColumn.map { "j.\($0.quoted)" },
            from: "\(join.name.quoted) AS j LEFT JOIN \(members.name.quoted) AS m ON m.\"Z_PK\" = \(key)",
            owner: "j.\(join.sides[side].column.quoted)", owners)
    }

    private func cursor(
        key: String, entity: String, order: String?, from tables: String, owner: String, _ owners: ClosedRange<Int64>
    ) throws(MigrationError) -> MemberCursor {
        // One owner's members need no sort along an index of the owners.
        let isOne = owners.lowerBound == owners.upperBound
        let sql =
            "SELECT \(key), \(entity), \(order ?? "NULL"), \(owner) FROM \(tables) WHERE "
            + "\(owner) \(isOne ? "= ?1" : "BETWEEN ?1 AND ?2") ORDER BY \(owner), \(order.map { "\($0), " } ?? "")\(key)"
        let statement = try blamingData { () throws(MigrationError) in try pool.take(sql) }
        statement.bind(owners.lowerBound, at: 1)
        if !isOne { statement.bind(owners.upperBound, at: 2) }
        return MemberCursor(store: self, statement: statement, sql: sql)
    }
}

/// A cursor over the members of to-many relationships, owner by owner. On release it returns its statement to the store's pool.
package final class MemberCursor {
    private var steps: RowSteps
    private let sql: String

    init(store: SourceStore, statement: Statement, sql: String) {
        steps = RowSteps(store: store, statement: statement, reading: "the members of a relationship")
        self.sql = sql
    }

    deinit { steps.store.pool.give(steps.statement, sql: sql) }

    /// Returns the next member; nil at the end. Rows without a key are skipped.
    package func next() throws(MigrationError) -> Member? { try nextOfOwner()?.member }

    /// Returns the next member with its owner; nil at the end. Rows without a key are skipped.
    package func nextOfOwner() throws(MigrationError) -> (owner: Int64, member: Member)? {
        let handle = steps.statement.handle
        while try steps.next() {
            guard sqlite3_column_type(handle, 3) == SQLITE_INTEGER, let member = Member(row: handle) else { continue }
            return (sqlite3_column_int64(handle, 3), member)
        }
        return nil
    }
}

extension Member {
    /// Makes a member from a row of key, Z_ENT and order; nil if the key is not an integer.
    init?(row handle: OpaquePointer?) {
        guard sqlite3_column_type(handle, 0) == SQLITE_INTEGER else { return nil }
        self.init(
            key: sqlite3_column_int64(handle, 0), fileNumber: Int(sqlite3_column_int64(handle, 1)),
            order: sqlite3_column_type(handle, 2) == SQLITE_INTEGER ? sqlite3_column_int64(handle, 2) : nil)
    }
}
