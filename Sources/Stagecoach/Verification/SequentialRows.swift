import CoreDataStore
import Diagnostics
import Glibc
import Rows

/// The rows of a table of a store, one after the other by ascending key.
///
/// Memory: a batch of at most 256 rows, of 64 KiB of values and one row.
final class SequentialRows {
    private let reader: any RowReader
    /// Called with the number of rows of each batch; it may end the reading.
    private let noteRead: (Int) throws -> Void
    /// True if rows before a damaged one are shown; a reader of pages may leave half a row.
    private let showsRowsBeforeFailure: Bool
    private var failure: MigrationError?
    /// Called before the rows in the batch give way to others.
    var leave: (() throws -> Void)?
    @exclusivity(unchecked) private(set) var batch: RowBatch
    /// The row in view, as an index in the batch.
    @exclusivity(unchecked) private(set) var row = 0
    /// False before the first row and after the last.
    @exclusivity(unchecked) private(set) var hasRow = false
    /// The key of the row in view.
    @exclusivity(unchecked) private(set) var key = Int64.min

    /// Begins before the first row.
    ///
    /// - Parameters:
    ///   - columns: the columns to read, by index in the schema; the slots of the cells. Nil: all, so that slots are columns.
    ///   - entities: the entities of the rows; nil for all rows.
    ///   - unread: columns whose cells stay null, though they may have values.
    ///   - streams: true to get values that are too large to read as references; false to refuse them.
    init(
        _ store: SourceStore, _ layout: StoreLayout, table: Int, columns: [Int]? = nil, entities: [Int]? = nil,
        unread: Set<Int> = [], streams: Bool = false, noteRead: @escaping (Int) throws -> Void
    ) throws(MigrationError) {
        let columns = columns ?? Array(layout.schema.tables[table].columns.indices)
        var selection = RowSelection(
            table: table, columns: columns.map { unread.contains($0) ? .computed($0) : .own($0) }, entities: entities)
        if streams { selection.streamed = Set(columns.indices.filter { !unread.contains(columns[$0]) }) }
        reader = try store.rows(selection, in: layout)
        batch = RowBatch(slots: columns.count, rowCapacity: 256, byteTarget: 64 << 10)
        batch.borrowsPages = true
        self.noteRead = noteRead
        showsRowsBeforeFailure = !store.readsPages
    }

    /// Moves to the next row. Returns false at the end.
    func advance() throws -> Bool {
        if hasRow, row + 1 < batch.count {
            row += 1
        } else {
            if hasRow { try leave?() }
            guard hasRow || key == .min, try fill() else {
                hasRow = false
                key = .max
                return false
            }
            try noteRead(batch.count)
            row = 0
            hasRow = true
        }
        key = batch.key(row)
        return true
    }

    /// Shows a row of the batch.
    func show(_ row: Int) {
        self.row = row
        key = batch.key(row)
    }

    /// Reads the next batch. Returns false at the end.
    private func fill() throws(MigrationError) -> Bool {
        if let failure { throw failure }
        do throws(MigrationError) { return try reader.next(into: &batch) } catch {
            guard showsRowsBeforeFailure, !batch.isEmpty else { throw error }
            failure = error
            return true
        }
    }

    /// Moves to the row with a key, or to the first one after it. Returns false if there is no row with the key.
    func advance(to wanted: Int64) throws -> Bool {
        while key < wanted || !hasRow {
            guard try advance() else { return false }
        }
        return key == wanted
    }

    /// The value in a slot of the row in view, valid until the next row comes into view.
    func cell(_ slot: Int) -> VerifiedCell { VerifiedCell(batch[row, slot], batch) }

    /// The integer in a slot of the row in view, converted as SQLite converts other values; nil for NULL.
    func integer(_ slot: Int) -> Int64? { integer(row, slot) }

    /// The integer in a slot of a row of the batch.
    func integer(_ row: Int, _ slot: Int) -> Int64? {
        let cell = batch[row, slot]
        return switch cell.kind {
        case .integer: cell.integerValue
        case .null: nil
        case .real: Int64(exactly: cell.realValue.rounded(.towardZero)) ?? (cell.realValue < 0 ? .min : .max)
        default: Int64(strtoll(String(decoding: batch.bytes(cell), as: UTF8.self), nil, 10))
        }
    }
}
