import Diagnostics
import Rows

/// The filling of nil values in the rows of source objects that others were merged into: a key path that is nil is read from the
/// first of the others that has a value. Key paths through to-many relationships are left as they are.
///
/// Memory: a row.
final class RowFill: RowFilling {
    private let keys: [DestinationKeys]
    private let reader: SourceRowReader
    private var other: RowBatch
    /// The slots of key paths that go through to-one relationships only.
    private let slots: [Int]

    /// - Parameters:
    ///   - mappings: the keys of the mappings whose rows are read.
    ///   - slots: the slots of the rows.
    /// - Returns: nil if no mapping fills nil values.
    init?(_ mappings: [DestinationKeys], run: MigrationRun, slots: SourceColumns, table: Int) throws(MigrationError) {
        keys = mappings.filter { $0.mapping.fillsNil && $0.shared != nil }
        guard !keys.isEmpty else { return nil }
        self.slots = slots.columns.indices.filter { slot in
            if case .computed = slots.columns[slot] { false } else { true }
        }
        reader = try SourceRowReader(run: run, slots: slots, table: table)
        other = RowBatch(slots: slots.columns.count, rowCapacity: 1, byteTarget: 4096)
    }

    /// Fills the nil values of a batch.
    ///
    /// - Complexity: O(rows); for a row with a nil value one read of each of the others until all values are there.
    func fill(_ batch: inout RowBatch) throws(MigrationError) {
        for row in 0..<batch.count where hasNil(batch, row) {
            let key = batch.key(row)
            for own in keys {
                guard let shared = own.shared, try own.index.contains(key) else { continue }
                for next in try shared.others(of: key) {
                    guard hasNil(batch, row) else { break }
                    guard try reader.fetch(next, into: &other) else { continue }
                    for slot in slots where batch[row, slot].kind == .null && other[0, slot].kind != .null {
                        batch.copy(other[0, slot], from: other, row: row, slot: slot)
                    }
                }
            }
        }
    }

    private func hasNil(_ batch: borrowing RowBatch, _ row: Int) -> Bool {
        for slot in slots where batch[row, slot].kind == .null { return true }
        return false
    }
}
