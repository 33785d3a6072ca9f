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
    private let heads: [Head]
    /// The existing rows, whose keys are lower than those of all new rows; nil once they have been read.
    private var stored: StoredRowScan?

    /// Creates a scan that begins at the same key in each run.
    ///
    /// - Parameters:
    ///   - key: the lowest key to read.
    ///   - storedColumns: the columns to read of existing rows; nil: existing rows are left out.
    ///   - capacity: the largest number of rows in a batch; nil: as many as its memory holds.
    init(
        _ rows: DestinationRows, from key: Int64 = .min, storedColumns: [Int]?, capacity: Int? = nil,
        inputs: RunInputs
    ) throws(MigrationError) {
        stored = try storedColumns.flatMap { columns throws(MigrationError) in
            try rows.storedScan(from: key, columns: columns)
        }
        let runs = try rows.runs.filter { run in run.lastKey.map { $0 >= key } ?? false }
        let isEmpty = runs.isEmpty && stored == nil
        let most = isEmpty ? 1 : min(capacity ?? .max, inputs.fetchCapacity(slots: rows.columns))
        batch = RowBatch(slots: rows.columns, rowCapacity: most, byteTarget: inputs.budget.batch)
        heads = runs.map { Head($0, from: key, share: runs.count, capacity: most, inputs: inputs) }
    }

    /// Fills the batch with the next rows; false at the end.
    func next() throws(MigrationError) -> Bool {
        batch.removeAll()
        if let stored {
            try stored.next(into: &batch)
            if !batch.isEmpty { return true }
            self.stored = nil
        }
        if heads.count == 1 {
            try heads[0].fill(&batch)
            return !batch.isEmpty
        }
        while !batch.isFull {
            var least: Head?
            for head in heads {
                guard let key = try head.key() else { continue }
                if let known = try least?.key(), known < key { continue }
                least = head
            }
            guard let least else { break }
            least.move(to: &batch)
        }
        return !batch.isEmpty
    }

    /// The reader of one run.
    private final class Head {
        private let run: DestinationRows.Run
        private let reader: RowSpillReader
        private var page: RowBatch
        private var row = 0
        private var nextKey: Int64
        private var isSpillRead = false
        private var isDone = false

        init(_ run: DestinationRows.Run, from key: Int64, share: Int, capacity: Int, inputs: RunInputs) {
            self.run = run
            reader = run.spill.makeReader(from: key)
            nextKey = key
            page = RowBatch(
                slots: run.open.slots, rowCapacity: share == 1 ? 1 : max(1, capacity / share),
                byteTarget: max(4096, inputs.budget.batch / max(1, share)))
        }

        /// Adds the next rows of the run to an empty batch.
        func fill(_ target: inout RowBatch) throws(MigrationError) {
            guard !isDone else { return }
            if !isSpillRead {
                if try reader.next(into: &target) {
                    pass(target.key(target.count - 1))
                    return
                }
                isSpillRead = true
            }
            let open = run.open.count
            var index = 0
            while index < open, run.open.key(index) < nextKey { index += 1 }
            while index < open, !target.isFull {
                let key = run.open.key(index)
                target.append(row: index, of: run.open, key: key)
                pass(key)
                index += 1
            }
            if target.isEmpty { isDone = true }
        }

        private func pass(_ key: Int64) {
            if key == .max { isDone = true } else { nextKey = key + 1 }
        }

        /// Returns the key of the next row; nil at the end.
        func key() throws(MigrationError) -> Int64? {
            if row >= page.count {
                page.removeAll()
                row = 0
                try fill(&page)
            }
            return page.isEmpty ? nil : page.key(row)
        }

        /// Moves the row whose key was returned to a batch.
        func move(to target: inout RowBatch) {
            target.append(row: row, of: page, key: page.key(row))
            row += 1
        }
    }
}
