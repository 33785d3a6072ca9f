import Diagnostics
import Rows

/// Walks over the rows of one run in order.
///
/// Memory: one block.
final class RowWalk {
    let run: SortedRowFile
    private(set) var block: RowBlock
    private(set) var index = 0
    private(set) var place = 0

    init(_ run: SortedRowFile) throws(MigrationError) {
        self.run = run
        block = run.blockCount > 0 ? try run.read(0) : run.open
    }

    /// The key of the current row; nil at the end.
    var key: Int64? { place < block.count ? block.keys[place] : nil }

    func advance() throws(MigrationError) {
        place += 1
        guard place >= block.count, index < run.blockCount else { return }
        index += 1
        place = 0
        block = index < run.blockCount ? try run.read(index) : run.open
    }

    /// Moves forward to the first row whose key is not smaller, without reading the blocks in between. Returns true if that row
    /// has the key.
    func seek(_ key: Int64) throws(MigrationError) -> Bool {
        guard let last = block.lastKey else { return false }
        if key > last {
            guard index < run.blockCount, try !run.isBefore(key, block: index + 1),
                let holding = try run.blockHolding(key)
            else { return false }
            index = holding
            place = 0
            block = index < run.blockCount ? try run.read(index) : run.open
        }
        if place < block.count, block.keys[place] < key {
            place += 1
            if place < block.count, block.keys[place] < key { place = block.lowerBound(key) }
        }
        return place < block.count && block.keys[place] == key
    }
}

/// Reads a ``RowSpill`` in order of keys, each row merged with its patches.
///
/// Memory: a block of rows, and one of each run of patches.
package final class RowSpillReader {
    private let spill: RowSpill
    @exclusivity(unchecked) private var nextKey: Int64
    @exclusivity(unchecked) private var isDone = false
    @exclusivity(unchecked) private var block: RowBlock?
    @exclusivity(unchecked) private var index = -1
    @exclusivity(unchecked) private var walks: [RowWalk] = []

    private let isLast: Bool

    init(_ spill: RowSpill, from key: Int64, isLast: Bool) {
        self.spill = spill
        self.isLast = isLast
        nextKey = key
    }

    /// Appends the next rows to a batch until it is full. Returns false if there was none.
    ///
    /// After the end it may be called again once rows were appended, unless the reader was made as the last one.
    ///
    /// - Precondition: the batch has the spill's number of slots and is not full.
    package func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        precondition(batch.slots == spill.slots && !batch.isFull)
        guard let rows = spill.rows, !isDone else { return false }
        try matchWalks()
        // The open block may have been written and filled anew since the last call, so find the place again by its key.
        if block == nil || index >= rows.blockCount || block === rows.open { try find(nextKey, in: rows) }
        guard var current = block else { return false }
        var place = current.lowerBound(nextKey)
        let before = batch.count
        let hasPatches = spill.hasPatches
        while !batch.isFull {
            while place >= current.count {
                guard index < rows.blockCount else { return end(batch.count > before) }
                index += 1
                current = index < rows.blockCount ? try rows.read(index) : rows.open
                block = current
                // Eight blocks at a time: one call to give space back costs as much as one read.
                if isLast, index % 8 == 0 { try rows.discard(before: index) }
                place = current.lowerBound(nextKey)
                if index == rows.blockCount && place >= current.count { return end(batch.count > before) }
            }
            let key = current.keys[place]
            let row = batch.appendRow(key: key)
            spill.setAbsent(&batch, row: row)
            if hasPatches, try isDeleted(key, &batch, row: row) {
                batch.removeLastRow()
            } else {
                _ = try spill.apply(current, place, of: rows, block: index, into: &batch, row: row)
            }
            place += 1
            guard key < .max else {
                isDone = true
                break
            }
            nextKey = key + 1
        }
        return batch.count > before
    }

    /// Notes the end. A last reader stays at its end, because blocks that were given back cannot be searched for rows added
    /// since.
    private func end(_ isFound: Bool) -> Bool {
        if isLast { isDone = true }
        return isFound
    }

    private func isDeleted(_ key: Int64, _ batch: inout RowBatch, row: Int) throws(MigrationError) -> Bool {
        if try spill.applyBufferedPatches(key, into: &batch, row: row) { return true }
        for walk in walks where try walk.seek(key) {
            if try spill.apply(walk.block, walk.place, of: walk.run, block: walk.index, into: &batch, row: row) {
                return true
            }
        }
        return false
    }

    /// Makes walks over the present runs of patches, the latest first.
    private func matchWalks() throws(MigrationError) {
        let runs = spill.patchRuns
        if walks.count == runs.count && zip(walks, runs.reversed()).allSatisfy({ $0.0.run === $0.1 }) { return }
        var matched: [RowWalk] = []
        for run in runs.reversed() {
            if let known = walks.first(where: { $0.run === run }) {
                matched.append(known)
            } else {
                matched.append(try RowWalk(run))
            }
        }
        walks = matched
    }

    private func find(_ key: Int64, in rows: SortedRowFile) throws(MigrationError) {
        index = try rows.blockHolding(key) ?? 0
        block = index < rows.blockCount ? try rows.read(index) : rows.open
    }
}
