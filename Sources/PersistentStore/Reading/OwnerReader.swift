import CSQLite
import Diagnostics
import Rows

extension SourceStore {
    /// Reads the members of all owners of a to-many relationship whose members' table has a key column for it, owner by
    /// owner in ascending order: see ``OwnerReader``.
    ///
    /// - Parameters:
    ///   - table: table index of the members.
    ///   - column: index of the column with the owner's key.
    ///   - orderColumn: index of the ordering column; nil for keys in ascending order.
    /// - Complexity: O(members) along the column's index; without one a sort that spills into the temporary directory,
    ///   or stays in memory where there is none.
    package func membersByOwner(
        table: Int, column: Int, orderColumn: Int?, in layout: StoreLayout
    ) throws(MigrationError) -> OwnerReader {
        let source = layout.tables[table]
        return try reader(
            source.name, owner: source.columns[column], member: "Z_PK", order: orderColumn.map { source.columns[$0] })
    }

    /// Reads the members that a join table gives all objects of a side, owner by owner in ascending order: see
    /// ``OwnerReader``.
    ///
    /// - Parameters:
    ///   - joinTable: index of the join table.
    ///   - side: the side (0 or 1) of the owners.
    ///   - isOrdered: whether the members' order is asked for.
    package func membersByOwner(
        joinTable: Int, side: Int, isOrdered: Bool, in layout: StoreLayout
    ) throws(MigrationError) -> OwnerReader {
        precondition(side == 0 || side == 1)
        let join = layout.joinTables[joinTable]
        let other = join.sides[1 - side]
        return try reader(
            join.name, owner: join.sides[side].column, member: other.column, order: isOrdered ? other.orderColumn : nil)
    }

    private func reader(
        _ table: String, owner: String, member: String, order: String?
    ) throws(MigrationError) -> OwnerReader {
        let columns = [owner.quoted, member.quoted, order?.quoted ?? "NULL"]
        let sorted = [owner.quoted] + (order.map { [$0.quoted] } ?? []) + [member.quoted]
        let sql =
            "SELECT \(columns.joined(separator: ", ")) FROM \(table.quoted) WHERE \(owner.quoted) IS NOT NULL "
            + "ORDER BY \(sorted.joined(separator: ", "))"
        let statement = try blamingData { () throws(MigrationError) in try connection.prepare(sql) }
        return OwnerReader(store: self, statement: statement, table: table)
    }
}

/// The members of a to-many relationship, streamed: ascending by owner; those of an owner ascending by order, where it
/// was asked for (NULL first), then key.
///
/// Slots: the member's ordering key, or null. A batch's keys are the members'; ``owners`` are in step with its rows.
package final class OwnerReader: RowReader {
    /// The owner of each row of the batch filled last.
    package private(set) var owners: [Int64] = []
    private let store: SourceStore
    private let statement: Statement
    private let table: String
    private var isFinished = false
    private var lastOwner: Int64?

    init(store: SourceStore, statement: Statement, table: String) {
        self.store = store
        self.statement = statement
        self.table = table
    }

    /// Rows with a key that is no integer are passed over, as a lookup by key passes them over.
    ///
    /// - Precondition: the batch has one slot.
    package func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        owners.removeAll(keepingCapacity: true)
        precondition(batch.slots == 1)
        let handle = statement.handle
        while !isFinished, !batch.isFull {
            let code = sqlite3_step(handle)
            if code == SQLITE_DONE {
                isFinished = true
                statement.reset()
                break
            }
            guard code == SQLITE_ROW else {
                isFinished = true
                throw SourceStore.blamingData(
                    SQLiteFailure.error(
                        store.connection.handle, code: code, doing: "Reading the members in \(table)",
                        path: store.path))
            }
            guard sqlite3_column_type(handle, 0) == SQLITE_INTEGER, sqlite3_column_type(handle, 1) == SQLITE_INTEGER
            else { continue }
            let owner = sqlite3_column_int64(handle, 0)
            if let lastOwner, owner < lastOwner {
                isFinished = true
                throw MigrationError(
                    "store.damaged", .data, "The table \(table) is not in the order of its index",
                    remedy: "Run PRAGMA integrity_check on a copy", context: .init(path: store.path))
            }
            lastOwner = owner
            owners.append(owner)
            let row = batch.appendRow(key: sqlite3_column_int64(handle, 1))
            if sqlite3_column_type(handle, 2) == SQLITE_INTEGER {
                batch[row, 0] = .integer(sqlite3_column_int64(handle, 2))
            }
        }
        return !batch.isEmpty
    }
}
