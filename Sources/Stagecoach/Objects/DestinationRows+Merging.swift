import CoreDataStore
import Diagnostics
import Rows
import SpillStorage

// The rows of all runs in the order of their keys.
extension DestinationRows {
    /// Merges runs until few enough are left to read them in parallel.
    ///
    /// - Parameter most: the maximum number of runs that may be left, at least 2.
    /// - Complexity: O(1) if there are few enough; otherwise the rows are written once more for each factor of `most`.
    func joinRuns(most: Int) throws {
        precondition(most > 1)
        try seal()
        while allRuns.count > most {
            // The first runs are merged first. The last run stays last.
            let number = min(most, allRuns.count - most + 1)
            let joined = makeRun(keys: allRuns[..<number].flatMap(\.keys))
            var batch = modelRun.inputs.destinationBatch(slots: columns)
            // The merged runs are dropped: they are not read again.
            try forEachRow(of: Array(allRuns[..<number]), isLast: true) { row in
                if batch.isFull {
                    for row in 0..<batch.count { try joined.spill.append(row: row, of: batch) }
                    batch.removeAll()
                }
                row.copy(to: &batch)
            }
            for row in 0..<batch.count { try joined.spill.append(row: row, of: batch) }
            try joined.spill.seal()
            allRuns.removeFirst(number)
            allRuns.append(joined)
            // The merged run goes behind the others, so that runs are merged in rounds and each row is written equally often.
            allRuns.swapAt(allRuns.count - 1, allRuns.count - 2)
        }
    }

    /// Shows the rows of some runs in ascending order of their keys.
    ///
    /// Memory: a batch, which the runs share, and the memory of each spill reader.
    ///
    /// - Parameters:
    ///   - key: rows with a lower key are left out.
    ///   - isLast: true if no row is read again, so that the disk space is freed while reading.
    func forEachRow(
        of runs: [Run], from key: Int64 = .min, isLast: Bool = false, _ body: (RowHead) throws -> Void
    ) throws {
        if runs.count > 1 { for run in runs { try run.spill.joinPatches() } }
        var heads = try runs.map { run in
            try RowHead(
                run: run,
                batch: RowBatch(
                    slots: columns, rowCapacity: max(1, modelRun.inputs.rowCapacity(slots: columns) / runs.count),
                    byteTarget: max(4096, modelRun.inputs.budget.batch / runs.count)), key: key, isLast: isLast)
        }
        heads.removeAll { $0.isAtEnd }
        while var least = heads.indices.first {
            for index in heads.indices.dropFirst() where heads[index].key < heads[least].key { least = index }
            try body(heads[least])
            try heads[least].advance()
            if heads[least].isAtEnd { heads.remove(at: least) }
        }
    }

    /// Shows the rows in ascending order of their keys, batch by batch and without copying them, if one run has them all.
    ///
    /// Memory: a batch, and a block of the spill.
    ///
    /// - Parameters:
    ///   - key: rows with a lower key are left out.
    ///   - isLast: true if no row is read again, so that the disk space is freed while reading.
    ///   - body: receives a batch with at least one row, and may change it.
    /// - Returns: false if several runs have rows; nothing was shown then.
    func forEachBatch(
        from key: Int64 = .min, isLast: Bool, _ body: (inout RowBatch) throws -> Void
    ) throws -> Bool {
        try seal()
        let filled = allRuns.filter { $0.lastKey != nil }
        guard filled.count <= 1 else { return false }
        guard let run = filled.first else { return true }
        let reader = run.spill.makeReader(from: key, isLast: isLast)
        var batch = modelRun.inputs.destinationBatch(slots: columns)
        while try reader.next(into: &batch) {
            try body(&batch)
            batch.removeAll()
        }
        return true
    }

    /// The next row of a run.
    final class RowHead {
        private let reader: RowSpillReader
        private var batch: RowBatch
        private var row = 0

        fileprivate init(run: Run, batch: consuming RowBatch, key: Int64, isLast: Bool) throws(MigrationError) {
            reader = run.spill.makeReader(from: key, isLast: isLast)
            self.batch = batch
            _ = try reader.next(into: &self.batch)
        }

        var isAtEnd: Bool { batch.isEmpty }
        var key: Int64 { batch.key(row) }

        /// Adds the row to a batch.
        func copy(to out: inout RowBatch) {
            out.append(row: row, of: batch, key: key)
        }

        fileprivate func advance() throws(MigrationError) {
            row += 1
            guard row == batch.count else { return }
            row = 0
            batch.removeAll()
            _ = try reader.next(into: &batch)
        }
    }
}
