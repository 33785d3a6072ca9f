import Diagnostics
import PersistentStore
import Rows
import SpillStorage

/// References that were resolved over a whole table, in ascending order of the row that holds them: merged into the
/// rows when they are loaded.
final class ColumnPatches {
    /// Words of a record: row key, referenced key, its Z_ENT, whether there is an ordering key, the ordering key.
    static let width = 5

    let column: Int
    let entityColumn: Int?
    let orderColumn: Int?
    private let records: SortedRecords
    private var current: [UInt64]
    private var hasCurrent: Bool

    /// - Parameter records: ascending by row key, one record a row.
    init(column: Int, entityColumn: Int?, orderColumn: Int?, records: SortedRecords) throws(MigrationError) {
        self.column = column
        self.entityColumn = entityColumn
        self.orderColumn = orderColumn
        self.records = records
        current = [UInt64](repeating: 0, count: ColumnPatches.width)
        hasCurrent = false
        hasCurrent = try advance()
    }

    private func advance() throws(MigrationError) -> Bool {
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

    /// Sets the columns of a batch's rows, whose keys ascend from batch to batch.
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
            // A patch for a key without a row is impossible: links are made from rows' keys only.
            hasCurrent = try advance()
        }
    }
}
