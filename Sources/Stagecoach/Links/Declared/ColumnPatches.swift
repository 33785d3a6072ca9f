import Diagnostics
import Rows
import SpillStorage

/// References that were resolved over a whole table, in ascending order of the rows that hold them. They are merged into the
/// rows at the load.
final class ColumnPatches {
    /// The words of a record: row key, referenced key, both Z_ENTs (the lower half is that of the referenced object), 1 if there
    /// is an ordering key, the ordering key.
    static let width = 5

    let column: Int
    let entityColumn: Int?
    let orderColumn: Int?
    private let source: Source
    private let current: UnsafeMutablePointer<UInt64>
    private var hasCurrent = false

    /// The source of the references, ascending by row key, one per row.
    enum Source {
        case records(SortedRecords)
        /// The links as seen from the rows that hold the column.
        case links(LinkStore.LiveLinks)
    }

    init(column: Int, entityColumn: Int?, orderColumn: Int?, _ source: Source) throws(MigrationError) {
        self.column = column
        self.entityColumn = entityColumn
        self.orderColumn = orderColumn
        self.source = source
        current = .allocate(capacity: ColumnPatches.width)
        current.initialize(repeating: 0, count: ColumnPatches.width)
        hasCurrent = try advance()
    }

    /// Creates the patches of links that were resolved by sorting. Returns nil if no column holds them.
    convenience init?(_ links: DecidedLinks) throws(MigrationError) {
        switch links.storage {
        case .toOne(_, let column, let entityColumn, let orderColumn):
            try self.init(
                column: column, entityColumn: entityColumn, orderColumn: orderColumn, .records(links.records))
        case .toManyHidden(_, let column, let orderColumn):
            try self.init(column: column, entityColumn: nil, orderColumn: orderColumn, .records(links.records))
        case .none, .toManyByInverse, .join: return nil
        }
    }

    deinit { current.deallocate() }

    private func advance() throws(MigrationError) -> Bool {
        switch source {
        case .records(let sorted): return try sorted.next(into: current)
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
                if let entityColumn {
                    batch[row, entityColumn] = .integer(Int64(UInt32(truncatingIfNeeded: current[2])))
                }
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
