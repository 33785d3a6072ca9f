import CSQLite
import Diagnostics

extension SourceStore {
    /// Returns the members of all owners in a range of keys, for a to-many relationship with a to-one inverse or without one.
    ///
    /// Ascending by owner, then in the order of ``members(table:column:owner:orderColumn:in:)``.
    /// - Complexity: O(members) if the column has an index; otherwise a scan of the table and a sort, which may spill.
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

    /// Returns the members that a join table links to all objects in a range of keys.
    ///
    /// Ascending by object, then in the order of ``joined(joinTable:side:key:in:)``.
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

/// A cursor over the members of many objects' to-many relationship, owner by owner. On release it returns its statement to the
/// store's pool.
package final class GroupedMemberCursor {
    private var steps: RowSteps
    private let sql: String

    init(store: SourceStore, statement: Statement, sql: String) {
        steps = RowSteps(store: store, statement: statement, doing: "Reading the members of a relationship")
        self.sql = sql
    }

    deinit { steps.store.pool.give(steps.statement, sql: sql) }

    /// Returns the next member with its owner; nil at the end. Rows without a key are skipped.
    package func next() throws(MigrationError) -> (owner: Int64, member: Member)? {
        let handle = steps.statement.handle
        while try steps.next() {
            guard sqlite3_column_type(handle, 3) == SQLITE_INTEGER, let member = Member(row: handle) else { continue }
            return (sqlite3_column_int64(handle, 3), member)
        }
        return nil
    }
}
