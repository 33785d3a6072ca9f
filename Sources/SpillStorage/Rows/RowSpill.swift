import Diagnostics
import Rows

/// Rows on disk in ascending order of their keys, patched and deleted at any time, read in order or by key.
///
/// Rows are appended in LZ4 blocks of about 64 KiB; a larger row has a block of its own. Patches gather in memory and are
/// written as sorted runs; four runs of a level are merged into one of the next level. Every read merges the row with its
/// patches: slot by slot the latest patch wins. A deleted row stays deleted.
///
/// Memory: its share of a ``RowMemory``, 16 bytes a block, an open block until ``seal()``, and for a row above 64 KiB three
/// times its size while it is written or read. For use by one thread. After an error of writing the spill must only be
/// released.
/// Complexity: an append takes O(row); a read by key takes a binary search in the rows and in each run of patches, and decodes
/// a block on a cache miss.
///
/// Huge values are kept as references to their cells in the source, and readers return these references.
package final class RowSpill {
    static let blockBytes = 64 * 1024
    private static let patchBlockBytes = 16 * 1024
    private static let runsOfLevel = 4

    /// The number of cells in a row.
    package let slots: Int
    private let directory: WorkDirectory
    private let name: String
    private let memory: RowMemory
    @exclusivity(unchecked) private(set) var rows: SortedRowFile?
    @exclusivity(unchecked) private(set) var patchRuns: [SortedRowFile] = []
    @exclusivity(unchecked) private var patches = PatchBuffer()
    /// The key of the row appended last, even if it was deleted since.
    @exclusivity(unchecked) package private(set) var lastKey: Int64?
    /// The number of rows appended, including deleted ones.
    @exclusivity(unchecked) package private(set) var appended = 0

    /// Makes an empty spill. It makes its file with the first row.
    package init(directory: WorkDirectory, name: String, slots: Int, memory: RowMemory) {
        precondition(slots >= 0)
        self.directory = directory
        self.name = name
        self.slots = slots
        self.memory = memory
        memory.users.enter(self)
    }

    /// Makes an empty spill with a memory of its own.
    ///
    /// - Parameter memory: the allowance in bytes; 512 KiB are used at least.
    package convenience init(directory: WorkDirectory, name: String, slots: Int, memory: Int) {
        self.init(directory: directory, name: name, slots: slots, memory: RowMemory(bytes: memory))
    }

    deinit { memory.users.leave(self) }

    /// The size in bytes of the encoded rows in blocks, before compression.
    package var rawBytes: Int { rows?.rawBytes ?? 0 }

    /// Appends a row of a batch.
    ///
    /// - Precondition: the batch has the spill's number of slots, and the row's key is larger than all keys before.
    /// - Throws: `spill.rowTooLarge` (65), `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func append(row: Int, of batch: borrowing RowBatch) throws(MigrationError) {
        try append(rows: row..<row + 1, of: batch)
    }

    /// Appends neighbouring rows of a batch.
    ///
    /// - Precondition: the batch has the spill's number of slots, and keys ascend and are larger than all keys before.
    /// - Throws: as ``append(row:of:)``.
    package func append(rows indices: Range<Int>, of batch: borrowing RowBatch) throws(MigrationError) {
        precondition(batch.slots == slots)
        guard !indices.isEmpty else { return }
        if rows == nil { rows = try newRun(.rows, level: 0, blockBytes: Self.blockBytes) }
        var last = lastKey
        for row in indices {
            let key = batch.key(row)
            precondition(last.map { key > $0 } ?? true, "rows are appended in ascending order of their keys")
            last = key
        }
        try rows?.append(rows: indices, of: batch, slots: slots)
        lastKey = last
        appended += indices.count
    }

    /// Changes slots of a row: every cell of the patch that is not of kind absent replaces the row's cell.
    ///
    /// A patch of a key without a row, or of a deleted row, has no effect.
    ///
    /// - Parameters:
    ///   - row: the index in the batch of the row that is the patch; its own key does not matter.
    /// - Throws: `spill.rowTooLarge` (65), `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func patch(key: Int64, row: Int, of batch: borrowing RowBatch) throws(MigrationError) {
        precondition(batch.slots == slots)
        try patches.append(key: key, row: row, of: batch, slots: slots, memory.huge)
        try memory.note(patches.bytes, of: self)
    }

    /// Deletes a row: later reads skip it. A key without a row is no error.
    package func delete(key: Int64) throws(MigrationError) {
        patches.appendDeletion(key: key)
        try memory.note(patches.bytes, of: self)
    }

    /// Appends the row with a key, as it is now, to a batch. Returns false if there is none.
    ///
    /// - Precondition: the batch has the spill's number of slots and room for a row.
    package func read(key: Int64, into batch: inout RowBatch) throws(MigrationError) -> Bool {
        precondition(batch.slots == slots)
        guard let rows, let index = try rows.blockHolding(key) else { return false }
        let block = try memory.block(index, of: rows)
        let place = block.lowerBound(key)
        guard place < block.count, block.keys[place] == key else { return false }
        let row = batch.appendRow(key: key)
        setAbsent(&batch, row: row)
        var isDeleted = try applyBufferedPatches(key, into: &batch, row: row)
        for run in patchRuns.reversed() where !isDeleted {
            guard let index = try run.blockHolding(key) else { continue }
            let block = try memory.block(index, of: run)
            let place = block.lowerBound(key)
            guard place < block.count, block.keys[place] == key else { continue }
            isDeleted = try apply(block, place, of: run, block: index, into: &batch, row: row)
        }
        if isDeleted {
            batch.removeLastRow()
            return false
        }
        _ = try apply(block, place, of: rows, block: index, into: &batch, row: row)
        return true
    }

    /// Makes a reader of all rows in order, from a key on. It sees rows, patches and deletions that are added while it reads.
    ///
    /// - Parameter isLast: true if nobody reads the rows again: blocks that were read are then given back to the disk.
    package func makeReader(from key: Int64 = .min, isLast: Bool = false) -> RowSpillReader {
        RowSpillReader(self, from: key, isLast: isLast)
    }

    // MARK: Outliving the process

    /// Writes the spill's state, or restores it: this spill must be empty. Rows and patches in memory go to the files before.
    ///
    /// - Precondition: ``RowMemory/canBeSaved``.
    package func code(with coder: inout StateCoder) throws(MigrationError) {
        precondition(memory.canBeSaved)
        if !patches.isEmpty {
            try spillPatches()
            try memory.note(0, of: self)
        }
        try coder.code(&lastKey)
        try coder.code(&appended, upTo: .max)
        var own = rows.map { [$0] } ?? []
        try code(&own, .rows, Self.blockBytes, upTo: 1, with: &coder)
        rows = own.first
        try code(&patchRuns, .patches, Self.patchBlockBytes, upTo: 1 << 20, with: &coder)
    }

    private func code(
        _ runs: inout [SortedRowFile], _ kind: BlockKind, _ blockBytes: Int, upTo most: Int,
        with coder: inout StateCoder
    ) throws(MigrationError) {
        try coder.code(objects: &runs, upTo: most) { coder, run throws(MigrationError) in
            guard let run else {
                return try SortedRowFile(
                    restoring: &coder, place(kind), number: memory.users.nextRun(), blockBytes: blockBytes,
                    huge: memory.huge)
            }
            try run.save(to: &coder)
            return run
        }
    }

    // MARK: Merging patches

    /// True if a row may differ from what was appended.
    var hasPatches: Bool { !patches.isEmpty || !patchRuns.isEmpty }

    /// Makes all cells of a row absent, so that patches can fill them.
    func setAbsent(_ batch: inout RowBatch, row: Int) {
        for slot in 0..<slots { batch[row, slot] = .absent }
    }

    /// Fills absent cells from the patch in memory. Returns true if the row is deleted.
    func applyBufferedPatches(_ key: Int64, into batch: inout RowBatch, row: Int) throws(MigrationError) -> Bool {
        guard let slice = patches.slice(key) else { return false }
        if slice.isDeleted { return true }
        guard RowCodec.fill(slice, slots: slots, into: &batch, row: row, memory.huge) else {
            throw MigrationError("spill.patch", .internal, "a patch in memory does not decode")
        }
        return false
    }

    /// Fills absent cells from a row of a block. Returns true if it marks a deletion.
    func apply(
        _ block: RowBlock, _ place: Int, of run: SortedRowFile, block index: Int, into batch: inout RowBatch, row: Int
    ) throws(MigrationError) -> Bool {
        guard let slice = block.slice(place) else { throw run.damaged(block: index) }
        if slice.isDeleted { return true }
        guard RowCodec.fill(slice, slots: slots, into: &batch, row: row, memory.huge) else {
            throw run.damaged(block: index)
        }
        return false
    }

    /// Writes the open block and frees its memory. Rows may still be appended.
    package func seal() throws(MigrationError) { try rows?.seal() }

    /// Merges all patches into one run; if there are no runs of patches yet, those in memory stay there. This pays before the
    /// rows of many spills are read side by side.
    package func joinPatches() throws(MigrationError) {
        if !patches.isEmpty, !patchRuns.isEmpty {
            try spillPatches()
            try memory.note(0, of: self)
        }
        if patchRuns.count > 1 { try mergeNewest(patchRuns.count) }
    }

    func spillPatches() throws(MigrationError) {
        var keys = patches.sortedKeys[...]
        patchRuns.append(
            try newPatchRun(
                level: 0, keys: { keys.popFirst() },
                fill: { key, batch, row throws(MigrationError) in
                    try applyBufferedPatches(key, into: &batch, row: row)
                }))
        patches.removeAll(keeping: 4096)
        while patchRuns.areDue(Self.runsOfLevel) { try mergeNewest(Self.runsOfLevel) }
    }

    private func mergeNewest(_ number: Int) throws(MigrationError) {
        try patchRuns.replaceNewest(number) { newest, level throws(MigrationError) in
            // The latest run first: the first one to fill a cell wins.
            var walks: [RowWalk] = []
            for run in newest.reversed() { walks.append(try RowWalk(run)) }
            return try newPatchRun(level: level, keys: { walks.lazy.compactMap(\.key).min() }) {
                key, batch, row throws(MigrationError) in
                var isDeleted = false
                for walk in walks where walk.key == key {
                    if !isDeleted {
                        isDeleted = try apply(
                            walk.block, walk.place, of: walk.run, block: walk.index, into: &batch, row: row)
                    }
                    try walk.advance()
                }
                return isDeleted
            }
        }
    }

    /// Writes a run of patches.
    ///
    /// - Parameters:
    ///   - keys: returns the keys in order; nil at the end.
    ///   - fill: fills the absent cells of a row; returns true if the row is deleted.
    private func newPatchRun(
        level: Int, keys: () -> Int64?, fill: (Int64, inout RowBatch, Int) throws(MigrationError) -> Bool
    ) throws(MigrationError) -> SortedRowFile {
        let run = try newRun(.patches, level: level, blockBytes: Self.patchBlockBytes)
        var batch = RowBatch(slots: slots, rowCapacity: 1, byteTarget: Self.blockBytes)
        while let key = keys() {
            batch.removeAll()
            let row = batch.appendRow(key: key)
            setAbsent(&batch, row: row)
            if try fill(key, &batch, row) {
                try run.appendDeletion(key: key)
            } else {
                try run.append(rows: row..<row + 1, of: batch, slots: slots)
            }
        }
        try run.seal()
        return run
    }

    private func newRun(_ kind: BlockKind, level: Int, blockBytes: Int) throws(MigrationError) -> SortedRowFile {
        try SortedRowFile(
            place(kind), number: memory.users.nextRun(), level: level, blockBytes: blockBytes, huge: memory.huge)
    }

    private func place(_ kind: BlockKind) -> RunPlace {
        RunPlace(
            directory: directory, name: kind == .rows ? name : name + "-patches", kind: kind, scratch: memory.scratch)
    }
}
