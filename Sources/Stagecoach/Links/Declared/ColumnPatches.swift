import Diagnostics
import Rows
import SpillStorage

/// References that were resolved over a whole table, in ascending order of the rows that hold them. They are merged into the
/// rows at the load.
final class ColumnPatches {
    /// The words of a record: row key, referenced key, its Z_ENT, 1 if there is an ordering key, the ordering key.
    static let width = 5

    let column: Int
    let entityColumn: Int?
    let orderColumn: Int?
    private let source: Source
    private var current: [UInt64]
    private var hasCurrent: Bool

    /// The source of the references, ascending by row key, one per row.
    private enum Source {
        case records(SortedRecords)
        case links(LinkStore.LiveLinks)
    }

    /// - Parameter records: ascending by row key, one record per row.
    convenience init(
        column: Int, entityColumn: Int?, orderColumn: Int?, records: SortedRecords
    ) throws(MigrationError) {
        try self.init(column, entityColumn, orderColumn, .records(records))
    }

    /// - Parameter links: the links as seen from the rows that hold the column; each row has at most one.
    convenience init(
        column: Int, entityColumn: Int?, orderColumn: Int?, links: LinkStore.LiveLinks
    ) throws(MigrationError) {
        try self.init(column, entityColumn, orderColumn, .links(links))
    }

    private init(
        _ column: Int, _ entityColumn: Int?, _ orderColumn: Int?, _ source: Source
    ) throws(MigrationError) {
        self.column = column
        self.entityColumn = entityColumn
        self.orderColumn = orderColumn
        self.source = source
        current = [UInt64](repeating: 0, count: ColumnPatches.width)
        hasCurrent = false
        hasCurrent = try advance()
    }

    private func advance() throws(MigrationError) -> Bool {
        let records: SortedRecords
        switch source {
        case .records(let sorted): records = sorted
        case .links(let links):
            guard let view = try links.next() else { return false }
            current[0] = SortKey.encode(view.object.key)
            current[1] = SortKey.encode(view.partner.key)
            current[2] = UInt64(view.partner.entity)
            guard case .key(let order) = view.orderOfObject else {
                current[3] = 0
                return true
            }
            current[3] = 1
            current[4] = SortKey.encode(order)
            return true
        }
        var found = false
        var failure: MigrationError?
        current.withUnsafeMutableBufferPointer { buffer in
            do throws(MigrationError) {
                if let base = buffer.baseAddress { found = try records.next(into: base) }
            } catch { failure = error }
        }
        if let failure { throw failure }
        return found
    }

    /// Sets the columns of a batch's rows. Keys ascend from batch to batch.
    func apply(to batch: inout RowBatch) throws(MigrationError) {
        var row = 0
        while hasCurrent, row < batch.count {
            let key = SortKey.decode(current[0])
            let rowKey = batch.key(row)
            if rowKey < key {
                row += 1
                continue
            }
            if rowKey == key {
                batch[row, column] = .integer(SortKey.decode(current[1]))
                if let entityColumn { batch[row, entityColumn] = .integer(Int64(bitPattern: current[2])) }
                if let orderColumn {
                    batch[row, orderColumn] = current[3] == 1 ? .integer(SortKey.decode(current[4])) : .null
                }
                row += 1
            }
            // A patch always has a row, because links are made from the keys of rows only.
            hasCurrent = try advance()
        }
    }
}
