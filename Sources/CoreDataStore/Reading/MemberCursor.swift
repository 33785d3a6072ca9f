import CSQLite
import Diagnostics
import ManagedModel

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
    /// Returns the members of a to-many relationship of all owners in a range of keys: ascending by owner, then in the
    /// relationship's order, if it has one, then by key.
    ///
    /// - Parameters:
    ///   - limit: the greatest number of members to return; nil: all.
    ///   - inFile: true to read the file's links, also if ``SourceChanges`` changed them since.
    ///   - readsEntities: false to leave out the members' Z_ENT, and with it the rows of the members.
    /// - Returns: nil for a relationship that is to-one or not stored.
    /// - Complexity: O(members) if the owners' column has an index, as in Core Data's stores; otherwise a scan of the table and
    ///   a sort, which may spill.
    package func members(
        of relationship: RelationshipDescription, owners: ClosedRange<Int64>, limit: Int? = nil,
        in layout: StoreLayout, inFile: Bool = false, readsEntities: Bool = true
    ) throws(MigrationError) -> MemberCursor? {
        switch layout.schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, let order), .toManyHidden(let table, let column, let order):
            try members(
                table: table, column: column, owners: owners, orderColumn: relationship.isOrdered ? order : nil,
                limit: limit, in: layout, inFile: inFile, readsEntities: readsEntities)
        case .join(let table, let side):
            try joined(
                joinTable: table, side: side, owners: owners, limit: limit, in: layout, inFile: inFile,
                readsEntities: readsEntities)
        case .toOne, .none: nil
        }
    }

    /// Returns the number of members that an owner has in a to-many relationship; nil for one that is to-one or not stored.
    ///
    /// - Complexity: O(members), along the index of the owners' column.
    package func memberCount(
        of relationship: RelationshipDescription, owner: Int64, in layout: StoreLayout
    ) throws(MigrationError) -> Int? {
        let (table, column): (String, String)
        switch layout.schema.storage(of: relationship) {
        case .toManyByInverse(let index, let place, _, _), .toManyHidden(let index, let place, _):
            (table, column) = (layout.tables[index].name, layout.tables[index].columns[place])
        case .join(let index, let side):
            (table, column) = (layout.joinTables[index].name, layout.joinTables[index].sides[side].column)
        case .toOne, .none: return nil
        }
        return Int(try integer("SELECT count(*) FROM \(table.quoted) WHERE \(column.quoted) = \(owner)") ?? 0)
    }

    /// Returns the rows whose key column points to owners.
    ///
    /// - Parameters:
    ///   - column: the index of the column with the owner's key.
    ///   - orderColumn: the index of the ordering column; nil for ascending keys.
    package func members(
        table: Int, column: Int, owners: ClosedRange<Int64>, orderColumn: Int?, limit: Int? = nil,
        in layout: StoreLayout, inFile: Bool = false, readsEntities: Bool = true
    ) throws(MigrationError) -> MemberCursor {
        let source = layout.tables[table]
        let entity = readsEntities ? "t.\(source.columns[EntityTable.entityColumn].quoted)" : "NULL"
        return try cursor(
            key: "t.\"Z_PK\"", entity: entity, order: orderColumn.map { "t.\(source.columns[$0].quoted)" },
            from: "\(Self.schema(inFile))\(source.name.quoted) AS t", owner: "t.\(source.columns[column].quoted)",
            owners, limit)
    }

    /// Returns the members that a join table links to objects of a side (0 or 1).
    package func joined(
        joinTable: Int, side: Int, owners: ClosedRange<Int64>, limit: Int? = nil, in layout: StoreLayout,
        inFile: Bool = false, readsEntities: Bool = true
    ) throws(MigrationError) -> MemberCursor {
        let join = layout.joinTables[joinTable]
        let other = join.sides[1 - side]
        let entity = layout.schema.joinTables[joinTable].sides[1 - side].relationship.entity
        let members = layout.tables[layout.schema.tableByEntity[entity]]
        let key = "j.\(other.column.quoted)"
        let rows = " LEFT JOIN \(Self.schema(inFile))\(members.name.quoted) AS m ON m.\"Z_PK\" = \(key)"
        return try cursor(
            key: key, entity: readsEntities ? "m.\(members.columns[EntityTable.entityColumn].quoted)" : "NULL",
            order: other.orderColumn.map { "j.\($0.quoted)" },
            from: "\(Self.schema(inFile))\(join.name.quoted) AS j" + (readsEntities ? rows : ""),
            owner: "j.\(join.sides[side].column.quoted)", owners, limit)
    }

    private static func schema(_ inFile: Bool) -> String { inFile ? "main." : "" }

    private func cursor(
        key: String, entity: String, order: String?, from tables: String, owner: String, _ owners: ClosedRange<Int64>,
        _ limit: Int?
    ) throws(MigrationError) -> MemberCursor {
        // One owner's members need no sort along an index of the owners.
        let isOne = owners.lowerBound == owners.upperBound
        let sql =
            "SELECT \(key), \(entity), \(order ?? "NULL"), \(owner) FROM \(tables) WHERE "
            + "\(owner) \(isOne ? "= ?1" : "BETWEEN ?1 AND ?2") ORDER BY \(owner), \(order.map { "\($0), " } ?? "")\(key)"
            + (limit.map { " LIMIT \($0)" } ?? "")
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
