import DatabasePages
import Diagnostics
import Rows

extension SourceStore {
    /// Reads the entries of an index of a table over one or two columns of integers from its pages, in order.
    ///
    /// The keys of the rows are those of the table's rows, the slots are the columns.
    ///
    /// - Parameters:
    ///   - columns: the names of its columns, all ascending.
    /// - Returns: nil if SQLite must read it: it has other columns, or ``readsPages`` is false.
    /// - Throws: `store.damaged`, `store.io`.
    package func entries(
        ofIndex index: String, table: String, columns: [String]
    ) throws(MigrationError) -> PageReader? {
        guard readsPages, (1...2).contains(columns.count) else { return nil }
        return try blamingData { () throws(MigrationError) in
            let pages = try openPages()
            guard let file = pages.file, try pages.areIntegers(columns, table, connection) else { return nil }
            guard let root = try connection.root(of: "index", index), try PairScan.isIndex(file, root: root) else {
                return nil
            }
            let scan = PairScan(
                file: file, root: root, table: table, slots: (0, 1), columns: columns.count, readsAll: true)
            return PageReader(store: self, fill: scan.fill)
        }
    }

    /// Reads columns of integers of all rows of any table from its pages, in the order of their row ids, which are the keys.
    ///
    /// - Returns: nil if SQLite must read them.
    /// - Throws: `store.damaged`, `store.io`.
    package func rows(ofTable name: String, columns: [String]) throws(MigrationError) -> PageReader? {
        guard readsPages, replaced[name.uppercased()] == nil else { return nil }
        return try blamingData { () throws(MigrationError) in
            let pages = try openPages()
            guard let file = pages.file, try pages.areIntegers(columns, name, connection),
                case .table(let table) = try pages.table(name, connection, isKeyed: false)
            else { return nil }
            let path = path
            var request = ScanRequest(
                large: .init(limit: valueLimit) {
                    MigrationError(
                        "store.valueTooLarge", .data, "Row \($1) of \(name) has a value of \($2.counted("byte"))",
                        context: .init(path: path))
                })
            for (slot, column) in columns.enumerated() {
                guard let found = table.columns[column.lowercased()], found.isNullWhereAbsent else { return nil }
                request.fields.append(.init(field: found.field, slot: slot, affinity: found.affinity))
            }
            return PageReader(store: self, fill: TableScan(file: file, root: table.root, request: request).fill)
        }
    }
}

/// A reader of rows from the pages of a table or an index.
package final class PageReader: RowReader {
    // The reader keeps the store, and with it the snapshot, alive.
    private let store: SourceStore
    private let fill: (inout RowBatch) throws(MigrationError) -> Void

    init(store: SourceStore, fill: @escaping (inout RowBatch) throws(MigrationError) -> Void) {
        self.store = store
        self.fill = fill
    }

    /// - Precondition: the batch has one slot for each column.
    package func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        try fill(&batch)
        return !batch.isEmpty
    }
}
