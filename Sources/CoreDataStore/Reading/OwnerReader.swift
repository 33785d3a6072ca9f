import CSQLite
import Diagnostics
import ManagedModel
import Rows

extension SourceStore {
    /// Reads the members of all owners of a to-many relationship, owner by owner in ascending order: see ``OwnerReader``.
    ///
    /// - Returns: nil for a relationship that is to-one or not stored.
    /// - Complexity: O(members) along the index of the owners' column; without an index a sort that spills into the temporary
    ///   directory, or stays in memory without one.
    package func membersByOwner(
        of relationship: RelationshipDescription, in layout: StoreLayout
    ) throws(MigrationError) -> OwnerReader? {
        switch layout.schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, let order), .toManyHidden(let table, let column, let order):
            let source = layout.tables[table]
            return try reader(
                source.name, owner: source.columns[column], member: "Z_PK",
                order: order.flatMap { relationship.isOrdered ? source.columns[$0] : nil })
        case .join(let table, let side):
            let join = layout.joinTables[table]
            let other = join.sides[1 - side]
            return try reader(
                join.name, owner: join.sides[side].column, member: other.column, order: other.orderColumn)
        case .toOne, .none: return nil
        }
    }

    private func reader(
        _ table: String, owner: String, member: String, order: String?
    ) throws(MigrationError) -> OwnerReader {
        let columns = [owner.quoted, member.quoted, order?.quoted ?? "NULL"]
        let sorted = [owner.quoted] + (order.map { [$0.quoted] } ?? []) + [member.quoted]
        let sql =
            "SELECT \(columns.joined(separator: ", ")) FROM \(table.quoted) WHERE \(owner.quoted) IS NOT NULL "
            + "ORDER BY \(sorted.joined(separator: ", "))"
        let statement = try query(sql)
        return OwnerReader(store: self, statement: statement, table: table)
    }
}

/// A reader of the members of a to-many relationship, streamed: ascending by owner, then by order if requested (NULL first),
/// then by key.
///
/// Its only slot holds the member's ordering key, or null. A batch's keys are those of the members; ``owners`` has an element
/// for each row.
package final class OwnerReader: RowReader {
    /// The owner of each row of the batch that was filled last.
    package private(set) var owners: [Int64] = []
    private var steps: RowSteps
    private let table: String
    private var lastOwner: Int64?

    init(store: SourceStore, statement: Statement, table: String) {
        steps = RowSteps(store: store, statement: statement, reading: "the members in \(table)")
        self.table = table
    }

    /// Reads the next members. Rows with a key that is not an integer are skipped, as a lookup by key skips them.
    ///
    /// - Precondition: the batch has one slot.
    package func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        owners.removeAll(keepingCapacity: true)
        precondition(batch.slots == 1)
        let handle = steps.statement.handle
        while !batch.isFull, try steps.next() {
            guard sqlite3_column_type(handle, 0) == SQLITE_INTEGER, sqlite3_column_type(handle, 1) == SQLITE_INTEGER
            else { continue }
            let owner = sqlite3_column_int64(handle, 0)
            if let lastOwner, owner < lastOwner {
                steps.abandon()
                throw steps.store.damaged("The table \(table) is not in the order of its index")
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
