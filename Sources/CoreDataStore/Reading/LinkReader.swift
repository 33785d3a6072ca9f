import CSQLite
import DatabasePages
import Diagnostics
import Rows

extension SourceStore {
    /// Reads a join table's rows, ascending by one side's key, then the other's. They come from the pages of an index if
    /// ``readsPages`` is true and an index has this order.
    ///
    /// Slots: key of side 0, key of side 1, order of side 0 or null, order of side 1 or null.
    ///
    /// - Throws: `store.damaged`.
    /// - Complexity: O(links) along an index. If the file has none for the side (frameworks before 637), a sort that spills
    ///   into the temporary directory, or stays in memory without one.
    package func links(
        joinTable: Int, in layout: StoreLayout, orderedBySide side: Int
    ) throws(MigrationError) -> any RowReader {
        precondition(side == 0 || side == 1)
        let join = layout.joinTables[joinTable]
        guard let scan = try pairScan(join, side: side) else { return try sortedLinks(join, side: side) }
        let reader = PageReader(store: self, fill: scan.fill)
        guard comparesReaders else { return reader }
        return ComparedReader(
            reader, slots: 4,
            place: { batch, row in
                .init(first: batch[row, side].integerValue, second: batch[row, 1 - side].integerValue)
            },
            context: { [path] _, _, _ in ("a link of \(join.name)", MigrationError.Context(path: path)) },
            rows: { [self] after, last throws(MigrationError) in
                try sortedLinks(join, side: side, after: after, through: last)
            })
    }

    /// Reads a join table's rows through SQLite.
    private func sortedLinks(
        _ join: SourceJoinTable, side: Int, after: ComparedReader.RowPlace? = nil,
        through last: ComparedReader.RowPlace? = nil
    ) throws(MigrationError) -> LinkReader {
        let keys = join.sides.map(\.column.quoted)
        let orders = join.sides.map { $0.orderColumn?.quoted ?? "NULL" }
        var conditions: [String] = []
        let pair = "(\(keys[side]), \(keys[1 - side]))"
        if let after { conditions.append("\(pair) > (\(after.first), \(after.second))") }
        if let last { conditions.append("\(pair) <= (\(last.first), \(last.second))") }
        let sql =
            "SELECT \((keys + orders).joined(separator: ", ")) FROM \(join.name.quoted) "
            + (conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) ")
            + "ORDER BY \(keys[side]), \(keys[1 - side])"
        let statement = try query(sql)
        return LinkReader(store: self, statement: statement, side: side, table: join.name)
    }
}

/// A reader of the links of a many-to-many pair through SQLite, streamed. Rows with a NULL key are left out.
private final class LinkReader: RowReader {
    private var steps: RowSteps
    private let side: Int
    private let table: String
    private var last: (Int64, Int64)?

    init(store: SourceStore, statement: Statement, side: Int, table: String) {
        steps = RowSteps(store: store, statement: statement, reading: table)
        self.side = side
        self.table = table
    }

    /// Reads the next links. The keys of the batch are 0, because a link has none.
    ///
    /// - Precondition: the batch has four slots.
    func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        precondition(batch.slots == 4)
        let handle = steps.statement.handle
        while !batch.isFull, try steps.next() {
            let first = sqlite3_column_type(handle, 0)
            let second = sqlite3_column_type(handle, 1)
            if first == SQLITE_NULL || second == SQLITE_NULL { continue }
            guard first == SQLITE_INTEGER, second == SQLITE_INTEGER else {
                throw damaged("holds a key that is no integer")
            }
            let keys = (sqlite3_column_int64(handle, 0), sqlite3_column_int64(handle, 1))
            let ordered = side == 0 ? keys : (keys.1, keys.0)
            if let last, ordered < last { throw damaged("is not in the order of its index") }
            last = ordered
            let row = batch.appendRow(key: 0)
            batch[row, 0] = .integer(keys.0)
            batch[row, 1] = .integer(keys.1)
            for slot in 2..<4 where sqlite3_column_type(handle, Int32(slot)) == SQLITE_INTEGER {
                batch[row, slot] = .integer(sqlite3_column_int64(handle, Int32(slot)))
            }
        }
        return !batch.isEmpty
    }

    private func damaged(_ what: String) -> MigrationError {
        steps.abandon()
        return steps.store.damaged("The join table \(table) \(what)")
    }
}
