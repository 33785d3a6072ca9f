import Diagnostics
import Rows

/// A reader whose rows SQLite reads as well, of every 32nd batch, the first one included. The two must agree in each cell.
///
/// A verification reads both stores by the decoder of pages that made the copy. What that decoder misreads would be confirmed;
/// here it is found.
///
/// Memory: a second batch. Complexity: a thirty-second of the rows is read twice.
package final class ComparedReader: RowReader {
    /// The distance between two batches that are read twice.
    package static let distance = 32

    /// Makes SQLite's reader of the rows after a row and through another; nil as the first: from the beginning.
    package typealias SQLiteRows = (_ after: RowPlace?, _ through: RowPlace) throws(MigrationError) -> any RowReader

    /// The position of a row in the order of the reader: its key, or the keys of both ends of a link.
    package struct RowPlace: Equatable {
        package var first: Int64
        package var second: Int64

        package init(first: Int64, second: Int64 = 0) {
            self.first = first
            self.second = second
        }
    }

    private let reader: any RowReader
    private let rows: SQLiteRows
    private let place: (borrowing RowBatch, Int) -> RowPlace
    /// Names a row and a slot in an error.
    private let context: (borrowing RowBatch, Int, Int) -> (name: String, context: MigrationError.Context)
    /// The number of batches that were read.
    @exclusivity(unchecked) private var number = 0
    /// The last row that was read.
    @exclusivity(unchecked) private var last: RowPlace?
    /// The rows that SQLite reads.
    @exclusivity(unchecked) private var other: RowBatch

    package init(
        _ reader: any RowReader, slots: Int, place: @escaping (borrowing RowBatch, Int) -> RowPlace,
        context: @escaping (borrowing RowBatch, Int, Int) -> (name: String, context: MigrationError.Context),
        rows: @escaping SQLiteRows
    ) {
        self.reader = reader
        other = RowBatch(slots: slots, rowCapacity: 256, byteTarget: 64 << 10)
        self.place = place
        self.context = context
        self.rows = rows
    }

    package func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        guard try reader.next(into: &batch) else { return false }
        let end = place(batch, batch.count - 1)
        if number % Self.distance == 0 { try compare(batch, through: end) }
        number += 1
        last = end
        return true
    }

    private func compare(_ batch: borrowing RowBatch, through end: RowPlace) throws(MigrationError) {
        let rows = try rows(last, end)
        var row = 0
        while try rows.next(into: &other) {
            for read in 0..<other.count {
                guard row < batch.count, place(batch, row) == place(other, read) else {
                    throw disagreement("another row", context(other, read, 0).context)
                }
                for slot in 0..<batch.slots {
                    let (cell, wanted) = (batch[row, slot], other[read, slot])
                    // Huge values are only references, whose lengths are compared.
                    let isEqual =
                        cell.kind == .huge && wanted.kind == .huge
                        ? cell.length == wanted.length : batch.isEqual(cell, to: wanted, of: other)
                    guard isEqual else {
                        let found = context(other, read, slot)
                        throw disagreement("another value of \(found.name)", found.context)
                    }
                }
                row += 1
            }
        }
        guard row == batch.count else {
            throw disagreement("no such row", context(batch, row, 0).context)
        }
    }

    private func disagreement(_ what: String, _ context: MigrationError.Context) -> MigrationError {
        MigrationError(
            "store.readersDisagree", .internal,
            "SQLite and the reader of pages disagree: SQLite reads \(what)",
            remedy: "Give --reader sqlite, which reads all rows through SQLite, and report the store's form",
            context: context)
    }
}
