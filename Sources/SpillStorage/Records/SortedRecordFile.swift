import Diagnostics

/// A sorted run of records, packed by ``ColumnCodec``. Records may be appended as long as they ascend.
///
/// Memory: that of a ``SortedRun``, and two blocks while it is written.
final class SortedRecordFile: SortedRun {
    let width: Int
    let recordsPerBlock: Int
    private let indexWords: Int
    /// The number of records in blocks.
    private(set) var count = 0
    /// The last, and so largest, record in blocks; empty before the first block.
    private(set) var last: [UInt64] = []
    /// The records of the block being filled; nil unless records come one by one.
    @exclusivity(unchecked) private var pending: UnsafeMutablePointer<UInt64>?
    @exclusivity(unchecked) private var pendingCount = 0
    private let block: RawBuffer

    /// Makes a run without records.
    ///
    /// - Parameter block: space for a packed block, shared by the runs of a structure.
    init(
        _ place: RunPlace, width: Int, indexWords: Int, recordsPerBlock: Int, number: Int, level: Int, block: RawBuffer
    ) throws(MigrationError) {
        self.width = width
        self.indexWords = indexWords
        self.recordsPerBlock = recordsPerBlock
        self.block = block
        try super.init(place, number: number, level: level, indexWords: indexWords)
    }

    deinit { pending?.deallocate() }

    /// Restores a saved run, with a new number.
    init(
        restoring coder: inout StateCoder, _ place: RunPlace, width: Int, indexWords: Int, recordsPerBlock: Int,
        number: Int, block: RawBuffer
    ) throws(MigrationError) {
        self.width = width
        self.indexWords = indexWords
        self.recordsPerBlock = recordsPerBlock
        self.block = block
        try coder.code(&count, upTo: .max)
        try coder.code(&last)
        guard last.count == width else { throw StateReader.damaged("a record of \(last.count) words") }
        try super.init(restoring: &coder, place, number: number, indexWords: indexWords)
    }

    /// Writes the run's state.
    ///
    /// - Precondition: there is a record in blocks.
    func save(to coder: inout StateCoder) throws(MigrationError) {
        try flush()
        try coder.code(&count, upTo: .max)
        try coder.code(&last)
        try saveRun(to: &coder)
    }

    /// Appends a record that is not before the last one. It can be read after ``flush()``.
    @inline(__always)
    func append(_ record: UnsafePointer<UInt64>) throws(MigrationError) {
        let space = pending ?? .allocate(capacity: recordsPerBlock * width)
        pending = space
        assert(isInOrder(record, space), "a run's records never go down")
        (space + pendingCount * width).update(from: record, count: width)
        pendingCount += 1
        if pendingCount == recordsPerBlock { try writePending() }
    }

    /// Tells whether a record is not before the one appended last.
    private func isInOrder(_ record: UnsafePointer<UInt64>, _ space: UnsafePointer<UInt64>) -> Bool {
        guard pendingCount > 0 else { return last.isEmpty || !RecordOrder.isLess(record, last, words: width) }
        return !RecordOrder.isLess(record, space + (pendingCount - 1) * width, words: width)
    }

    /// Writes the appended records that are in no block yet as a block, so that they can be read. Does nothing if there are none.
    ///
    /// - Throws: `spill.full`, `spill.io` (74); the records are then not written yet, and a later call tries again.
    func flush() throws(MigrationError) {
        try writePending()
        pending?.deallocate()
        pending = nil
    }

    /// Appends sorted records that are not before the last one, straight from their memory.
    func append(_ records: UnsafePointer<UInt64>, count: Int) throws(MigrationError) {
        try flush()
        var done = 0
        while done < count {
            let here = min(recordsPerBlock, count - done)
            try write(records + done * width, count: here)
            done += here
        }
    }

    /// Reads a block. Returns the number of its records.
    ///
    /// - Parameter target: room for ``recordsPerBlock`` records.
    func read(_ number: Int, into target: UnsafeMutablePointer<UInt64>) throws(MigrationError) -> Int {
        let offset = try read(number, into: block)
        guard let count = ColumnCodec.decode(block.bytes, width: width, into: target, capacity: recordsPerBlock) else {
            throw file.damaged(offset, "its records do not unpack")
        }
        return count
    }

    /// The block that may hold the first record not before the prefix.
    func blockHolding(_ prefix: UnsafePointer<UInt64>, words: Int) throws(MigrationError) -> Int {
        let compared = min(words, indexWords)
        guard compared > 0, blockCount > 0 else { return 0 }
        // The block before may end with records of this prefix.
        return max(0, try index.lowerBound(prefix, words: compared) - 1)
    }

    func block(_ number: Int, beginsAfter prefix: UnsafePointer<UInt64>, words: Int) throws(MigrationError) -> Bool {
        try index.begins(number, after: prefix, words: min(words, indexWords))
    }

    private func writePending() throws(MigrationError) {
        guard pendingCount > 0, let pending else { return }
        try write(pending, count: pendingCount)
        pendingCount = 0
    }

    private func write(_ records: UnsafePointer<UInt64>, count here: Int) throws(MigrationError) {
        ColumnCodec.encode(records, count: here, width: width, into: block)
        try index.append(offset: try file.append(block.bytes), first: records)
        last = Array(UnsafeBufferPointer(start: records + (here - 1) * width, count: width))
        count += here
    }
}
