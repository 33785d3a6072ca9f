import CSQLite
import Diagnostics

extension SourceStore {
    /// The members of all owners in a range of keys: those of a to-many with a to-one inverse, or without one.
    ///
    /// Ascending by owner, then as ``members(table:column:owner:orderColumn:in:)`` has them.
    /// - Complexity: O(members) where the column has an index; a pass over the table and a sort, which may spill, where it
    ///   has none.
    package func members(
        table: Int, column: Int, owners: ClosedRange<Int64>, orderColumn: Int?, in layout: StoreLayout
    ) throws(MigrationError) -> GroupedMemberCursor {
        let source = layout.tables[table]
        let owner = "t.\(source.columns[column].quoted)"
        let place = orderColumn.map { "t.\(source.columns[$0].quoted)" }
        let sql =
            "SELECT t.\"Z_PK\", t.\(source.columns[EntityTable.entityColumn].quoted), \(place ?? "NULL"), \(owner) "
            + "FROM \(source.name.quoted) AS t WHERE \(owner) BETWEEN ?1 AND ?2 "
            + "ORDER BY \(owner), \(place.map { "\($0), " } ?? "")t.\"Z_PK\""
        return try cursor(sql, owners)
    }

    /// The members that a join table gives all objects in a range of keys.
    ///
    /// Ascending by object, then as ``joined(joinTable:side:key:in:)`` has them.
    package func joined(
        joinTable: Int, side: Int, owners: ClosedRange<Int64>, in layout: StoreLayout
    ) throws(MigrationError) -> GroupedMemberCursor {
        precondition(side == 0 || side == 1)
        let join = layout.joinTables[joinTable]
        let other = join.sides[1 - side]
        let entity = layout.schema.joinTables[joinTable].sides[1 - side].relationship.entity
        let members = layout.tables[layout.schema.tableByEntity[entity]]
        let place = other.orderColumn.map { "j.\($0.quoted)" }
        let owner = "j.\(join.sides[side].column.quoted)"
        let sql =
            "SELECT j.\(other.column.quoted), m.\(members.columns[EntityTable.entityColumn].quoted), "
            + "\(place ?? "NULL"), \(owner) FROM \(join.name.quoted) AS j LEFT JOIN \(members.name.quoted) AS m "
            + "ON m.\"Z_PK\" = j.\(other.column.quoted) WHERE \(owner) BETWEEN ?1 AND ?2 "
            + "ORDER BY \(owner), \(place.map { "\($0), " } ?? "")j.\(other.column.quoted)"
        return try cursor(sql, owners)
    }

    private func cursor(_ sql: String, _ owners: ClosedRange<Int64>) throws(MigrationError) -> GroupedMemberCursor {
        let statement = try blamingData { () throws(MigrationError) in try pool.take(sql) }
        statement.bind(owners.lowerBound, at: 1)
        statement.bind(owners.upperBound, at: 2)
        return GroupedMemberCursor(store: self, statement: statement, sql: sql)
    }
}

/// The members of many objects' to-many relationship, owner by owner. Gives its statement back to the store's pool when
/// released.
package final class GroupedMemberCursor {
    private let store: SourceStore
    private let statement: Statement
    private let sql: String
    private var isFinished = false

    init(store: SourceStore, statement: Statement, sql: String) {
        self.store = store
        self.statement = statement
        self.sql = sql
    }

    deinit { store.pool.give(statement, sql: sql) }

    /// The next member with its owner; nil at the end. Rows without a key are passed over.
    package func next() throws(MigrationError) -> (owner: Int64, member: Member)? {
        let handle = statement.handle
        while !isFinished {
            let code = sqlite3_step(handle)
            guard code == SQLITE_ROW else {
                isFinished = true
                if code == SQLITE_DONE { return nil }
                throw SourceStore.blamingData(
                    SQLiteFailure.error(
                        store.connection.handle, code: code, doing: "Reading the members of a relationship",
                        path: store.path))
            }
            guard sqlite3_column_type(handle, 0) == SQLITE_INTEGER, sqlite3_column_type(handle, 3) == SQLITE_INTEGER
            else { continue }
            let member = Member(
                key: sqlite3_column_int64(handle, 0), fileNumber: Int(sqlite3_column_int64(handle, 1)),
                order: sqlite3_column_type(handle, 2) == SQLITE_INTEGER ? sqlite3_column_int64(handle, 2) : nil)
            return (sqlite3_column_int64(handle, 3), member)
        }
        return nil
    }
}
