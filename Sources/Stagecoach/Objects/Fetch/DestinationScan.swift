import CoreDataStore
import Diagnostics
import Rows
import SpillStorage

/// The current rows of an open destination table in ascending key order: rows that were in the store before, spilled
/// rows with their patches, then rows of the open batches.
///
/// The table must not change during a scan. A caller that lets other code run in between makes a new scan from the last
/// key on. Memory: a batch, a second one if several runs are merged, a block of each spill and its patches, a
/// statement.
final class DestinationScan {
    /// The current rows, with a slot for every column.
    private(set) var batch: RowBatch
    /// The reader of the only run that has rows; nil if there are several, or none.
    private let single: RunReader?
    private var heads: [RowHead] = []
    /// The existing rows, whose keys are lower than those of all new rows; nil once they have been read.
    private var stored: StoredRowScan?

    /// Creates a scan that begins at the same key in each run.
    ///
    /// - Parameters:
    ///   - key: the lowest key to read.
    ///   - storedColumns: the columns to read of existing rows; nil: existing rows are left out.
    ///   - capacity: the largest number of rows in a batch; nil: as many as its memory holds.
    init(
        _ rows: DestinationRows, from key: Int64 = .min, storedColumns: [Int]?, capacity: Int? = nil, inputs: RunInputs
    ) throws(MigrationError) {
        stored = try storedColumns.flatMap { columns throws(MigrationError) in
            try rows.storedScan(from: key, columns: columns)
        }
        let runs = try rows.runs.filter { run in run.lastKey.map { $0 >= key } ?? false }
        let isEmpty = runs.isEmpty && stored == nil
        let most = isEmpty ? 1 : min(capacity ?? .max, inputs.fetchCapacity(slots: rows.columns))
        batch = RowBatch(slots: rows.columns, rowCapacity: most, byteTarget: inputs.budget.batch)
        single = runs.count == 1 ? RunReader(runs[0], from: key) : nil
        guard runs.count > 1 else { return }
        for run in runs {
            let read = RunReader(run, from: key).next
            heads.append(try RowHead(slots: rows.columns, rows: most, inputs: inputs, heads: runs.count, read))
        }
    }

    /// Fills the batch with the next rows; false at the end.
    func next() throws -> Bool {
        batch.removeAll()
        if let stored {
            try stored.next(into: &batch)
            if !batch.isEmpty { return true }
            self.stored = nil
        }
        if let single { return try single.next(into: &batch) }
        try heads.mergeByKey { head in
            head.copy(to: &batch)
            return !batch.isFull
        }
        return !batch.isEmpty
    }
}
