import CoreDataStore
import Diagnostics
import Rows

/// The source's rows that are read one by one, with all own columns of their table.
///
/// Memory: the last row of each table.
final class PointRows {
    /// A row, at place 0 of its batch.
    final class Row {
        fileprivate(set) var batch: RowBatch
        fileprivate var key: Int64?
        fileprivate let reader: PointReader

        fileprivate init(_ reader: PointReader, columns: Int) {
            self.reader = reader
            batch = RowBatch(slots: columns, rowCapacity: 1, byteTarget: 4096)
        }
    }

    private let source: SourceStore
    private let layout: StoreLayout
    private let streams: Bool
    private var rows: [Int: Row] = [:]

    /// - Parameter streams: true to get huge values as references; false to refuse them.
    init(source: SourceStore, layout: StoreLayout, streams: Bool) {
        self.source = source
        self.layout = layout
        self.streams = streams
    }

    /// Returns the row of a key, valid until the next call for its table; nil if there is none.
    func row(_ key: Int64, table: Int) throws(MigrationError) -> Row? {
        let row: Row
        if let known = rows[table] {
            row = known
        } else {
            let columns = layout.schema.tables[table].columns.count
            row = Row(
                try PointReader(
                    source, table: table, columns: (0..<columns).map { .own($0) }, in: layout,
                    streamed: streams ? Set(0..<columns) : []), columns: columns)
            rows[table] = row
        }
        guard row.key != key else { return row }
        row.batch.removeAll()
        row.key = nil
        guard try row.reader.fetch(key, into: &row.batch) else { return nil }
        row.key = key
        return row
    }

    /// Drops the rows, because the source's rows were changed.
    func forget() {
        for row in rows.values { row.key = nil }
    }

    func removeAll() { rows = [:] }
}
