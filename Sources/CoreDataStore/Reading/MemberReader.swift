import CSQLite
import Diagnostics
import Rows

extension SourceStore {
    /// Tells whether a table has an index that begins with a column.
    func hasIndex(_ table: String, on column: String) throws(MigrationError) -> Bool {
        try connection.texts(
            "SELECT i.name FROM pragma_index_list(\(SQLName.literal(table))) AS l, pragma_index_info(l.name) AS i "
                + "WHERE i.seqno = 0"
        ).contains { $0.uppercased() == column.uppercased() }
    }
}

/// A reader of the members of a to-many relationship, owner by owner. Memory: one row beside the batch.
package final class MemberReader {
    /// The greatest number of owners in one query.
    package static let keysAtOnce = 256

    private var steps: RowSteps
    private let selection: MemberSelection
    private let layout: StoreLayout
    /// True if the statement is at a row that no batch has taken.
    private var hasRow = false
    private var last: (owner: Int64, member: Int64)?
    private var lastValue = Cell.null
    private var lastBytes: [UInt8] = []

    /// Makes a reader of the members of all owners, ascending by the owners' keys, in step with a scan of the owners.
    ///
    /// - Parameter isByKey: true to read those of up to ``keysAtOnce`` owners at a time, in any order.
    /// - Throws: `store.tooManyPaths`, `store.damaged`.
    /// - Complexity: one statement for the whole run, along the index of the owners' column, or with a sort that spills into
    ///   the temporary directory if the file has no index; by key one statement for the owners, with a search for each.
    package init(
        _ store: SourceStore, _ selection: MemberSelection, isByKey: Bool = false, in layout: StoreLayout
    ) throws(MigrationError) {
        self.selection = selection
        self.layout = layout
        let query = try MemberQuery(selection, layout: layout)
        let statement = try store.blamingData { () throws(MigrationError) in
            var lacksIndex = false
            for (table, column) in query.searched where try !store.hasIndex(table, on: column) { lacksIndex = true }
            // Without an index every member would need a scan of the next table, so SQLite makes one in a temporary file.
            if lacksIndex { try store.connection.execute("PRAGMA automatic_index=1") }
            defer { if lacksIndex { try? store.connection.execute("PRAGMA automatic_index=0") } }
            return try store.connection.prepare(query.sql(owners: isByKey ? Self.keysAtOnce : nil))
        }
        steps = RowSteps(store: store, statement: statement, reading: "the members of a relationship")
    }

    /// Starts again from the first owner.
    package func restart() {
        steps.restart()
        hasRow = false
        last = nil
        lastValue = .null
    }

    /// Starts the query for the members of some owners.
    ///
    /// - Precondition: 1 to ``keysAtOnce`` keys, and a reader by key.
    package func ask(for keys: ArraySlice<Int64>) {
        precondition(!keys.isEmpty && keys.count <= MemberReader.keysAtOnce)
        restart()
        for index in 0..<MemberReader.keysAtOnce {
            let position = min(keys.startIndex + index, keys.endIndex - 1)
            steps.statement.bind(keys[position], at: Int32(index + 1))
        }
    }

    /// Clears the batch and fills it with members of the owners from one key through another. Rows of earlier owners are
    /// skipped.
    ///
    /// - Returns: false if there was none.
    /// - Throws: `store.damaged`, `store.valueTooLarge`, `store.io`.
    /// - Precondition: the batch has a slot for each column.
    package func next(
        into batch: inout RowBatch, from first: Int64, through end: Int64
    ) throws(MigrationError) -> Bool {
        batch.removeAll()
        precondition(batch.slots == selection.columns.count)
        let (store, handle, selection, layout) = (steps.store, steps.statement.handle, selection, layout)
        func tooLarge() -> MigrationError {
            store.tooLarge(table: selection.path.table, after: nil, columns: selection.columns, layout: layout)
        }
        while !steps.isFinished, !batch.isFull {
            if !hasRow {
                hasRow = try steps.next(tooLarge: tooLarge)
                if !hasRow { break }
            }
            // Only an integer can be a key; Core Data writes no other values.
            guard sqlite3_column_type(handle, 0) == SQLITE_INTEGER else {
                hasRow = false
                continue
            }
            let owner = sqlite3_column_int64(handle, 0)
            if owner > end { break }
            hasRow = false
            if owner >= first { try append(owner, to: &batch) }
        }
        return !batch.isEmpty
    }

    private func append(_ owner: Int64, to batch: inout RowBatch) throws(MigrationError) {
        let handle = steps.statement.handle
        let member = sqlite3_column_int64(handle, 1)
        if selection.distinctColumn == nil, let last, last == (owner, member) { return }
        let row = batch.appendRow(key: member)
        for slot in 0..<batch.slots
        where !batch.read(handle, column: Int32(truncatingIfNeeded: slot) + 2, row: row, slot: slot) {
            throw MigrationError(
                "store.io", .io, "SQLite has no memory for a value",
                context: steps.store.context(selection.path.table, member, layout))
        }
        batch[row, selection.ownerSlot] = .integer(owner)
        if let column = selection.distinctColumn,
            let slot = selection.columns.firstIndex(of: .own(column)), isRepeated(owner, batch[row, slot], in: batch)
        {
            batch.removeLastRow()
        }
        last = (owner, member)
    }

    private static func number(_ cell: Cell) -> Double {
        cell.kind == .integer ? Double(cell.integerValue) : cell.realValue
    }

    /// Tells whether a value equals the owner's last one, and stores it as the last one.
    private func isRepeated(_ owner: Int64, _ value: Cell, in batch: borrowing RowBatch) -> Bool {
        let bytes = batch.bytes(value)
        let isSame: Bool
        switch (value.kind, lastValue.kind) {
        case (.integer, .integer) where selection.distinctsFloats:
            isSame = Float(value.integerValue) == Float(lastValue.integerValue)
        case (.integer, .integer): isSame = value.bits == lastValue.bits
        case (.integer, .real), (.real, .integer), (.real, .real):
            let (one, other) = (Self.number(value), Self.number(lastValue))
            isSame = selection.distinctsFloats ? Float(one) == Float(other) : one == other
        case (.text, .text), (.blob, .blob):
            isSame = lastBytes.count == bytes.count && lastBytes.withUnsafeBytes { $0.elementsEqual(bytes) }
        default: isSame = false
        }
        let isRepeated = isSame && last?.owner == owner
        lastValue = value
        if value.hasBytes, !isRepeated { lastBytes = Array(bytes) }
        return isRepeated
    }
}
