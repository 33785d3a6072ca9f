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
    ) throws(MigrationError) -> IndexReader? {
        guard readsPages, (1...2).contains(columns.count) else { return nil }
        return try blamingData { () throws(MigrationError) in
            let pages = try openPages()
            guard let file = pages.file, try pages.areIntegers(columns, table, connection) else { return nil }
            guard let root = try connection.root(of: "index", index), try PairScan.isIndex(file, root: root) else {
                return nil
            }
            let scan = PairScan(
                file: file, root: root, table: table, slots: (0, 1), columns: columns.count, readsAll: true)
            return IndexReader(store: self, scan: scan)
        }
    }
}

/// A reader of the entries of an index.
package final class IndexReader: RowReader {
    // The reader keeps the store, and with it the snapshot, alive.
    private let store: SourceStore
    private let scan: PairScan

    init(store: SourceStore, scan: PairScan) {
        self.store = store
        self.scan = scan
    }

    /// - Precondition: the batch has one slot for each column.
    package func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        try scan.fill(&batch)
        return !batch.isEmpty
    }
}
