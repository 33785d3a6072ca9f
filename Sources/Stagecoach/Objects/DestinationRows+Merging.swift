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
    /// - Parameter isLast: true if no row is read again, so that the disk space is freed while reading.
    func forEachRow(of runs: [Run], isLast: Bool = false, _ body: (RowHead) throws -> Void) throws {
        if runs.count > 1 { for run in runs { try run.spill.joinPatches() } }
        var heads = try runs.map { run in
            let reader = RunReader(run, isLast: isLast)
            let most = modelRun.inputs.rowCapacity(slots: columns)
            return try RowHead(slots: columns, rows: most, inputs: modelRun.inputs, heads: runs.count, reader.next)
        }
        try heads.mergeByKey { head in
            try body(head)
            return true
        }
    }

    /// Shows the rows in ascending order of their keys, batch by batch and without copying them, if one run has them all.
    ///
    /// Memory: a batch, and a block of the spill.
    ///
    /// - Parameters:
    ///   - isLast: true if no row is read again, so that the disk space is freed while reading.
    ///   - body: receives a batch with at least one row, and may change it.
    /// - Returns: false if several runs have rows; nothing was shown then.
    func forEachBatch(isLast: Bool, _ body: (inout RowBatch) throws -> Void) throws -> Bool {
        try seal()
        let filled = allRuns.filter { $0.lastKey != nil }
        guard filled.count <= 1 else { return false }
        guard let run = filled.first else { return true }
        let reader = run.spill.makeReader(isLast: isLast)
        var batch = modelRun.inputs.destinationBatch(slots: columns)
        while try reader.next(into: &batch) {
            try body(&batch)
            batch.removeAll()
        }
        return true
    }
}

/// Reads the rows of a run in order: those of its spill, then those of its open batch.
final class RunReader {
    private let run: DestinationRows.Run
    private let reader: RowSpillReader
    private var nextKey: Int64
    private var isSpillRead = false
    private var isDone = false

    init(_ run: DestinationRows.Run, from key: Int64 = .min, isLast: Bool = false) {
        self.run = run
        reader = run.spill.makeReader(from: key, isLast: isLast)
        nextKey = key
    }

    /// Adds the next rows to an empty batch. Returns false at the end.
    func next(into target: inout RowBatch) throws(MigrationError) -> Bool {
        guard !isDone else { return false }
        if !isSpillRead {
            if try reader.next(into: &target) {
                pass(target.key(target.count - 1))
                return true
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
        return !target.isEmpty
    }

    private func pass(_ key: Int64) {
        if key == .max { isDone = true } else { nextKey = key + 1 }
    }
}

/// The next one of rows that are merged with others.
final class RowHead {
    private let read: (inout RowBatch) throws(MigrationError) -> Bool
    private(set) var batch: RowBatch
    private(set) var row = 0

    /// - Parameters:
    ///   - rows: the most rows that a batch of one head alone holds.
    ///   - heads: the number of heads that share the memory of a batch.
    ///   - read: adds the next rows to an empty batch.
    init(
        slots: Int, rows: Int, inputs: RunInputs, heads: Int,
        _ read: @escaping (inout RowBatch) throws(MigrationError) -> Bool
    ) throws(MigrationError) {
        self.read = read
        batch = RowBatch(
            slots: slots, rowCapacity: max(1, rows / heads), byteTarget: max(4096, inputs.budget.batch / heads))
        _ = try read(&batch)
    }

    var isAtEnd: Bool { batch.isEmpty }
    var key: Int64 { batch.key(row) }

    /// Adds the row to a batch.
    func copy(to out: inout RowBatch) { out.append(row: row, of: batch, key: key) }

    fileprivate func advance() throws(MigrationError) {
        row += 1
        guard row == batch.count else { return }
        row = 0
        batch.removeAll()
        _ = try read(&batch)
    }
}

extension [RowHead] {
    /// Shows the rows of all heads by ascending key, until the body returns false.
    mutating func mergeByKey(_ body: (RowHead) throws -> Bool) throws { try merge(by: { $0.key < $1.key }, body) }

    /// Shows the rows of all heads in order, until the body returns false.
    mutating func merge(by isBefore: (RowHead, RowHead) -> Bool, _ body: (RowHead) throws -> Bool) throws {
        removeAll(where: \.isAtEnd)
        while var least = indices.first {
            for index in indices.dropFirst() where isBefore(self[index], self[least]) { least = index }
            let isWanted = try body(self[least])
            try self[least].advance()
            if self[least].isAtEnd { remove(at: least) }
            if !isWanted { return }
        }
    }
}
