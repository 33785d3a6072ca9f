import Diagnostics

/// A sorted run: records in order in a file of their own, packed by ``ColumnCodec``, with the first words of each block in
/// memory.
///
/// Records may be appended as long as they ascend. A written block never changes, so a reader that notes the number of blocks
/// has a snapshot. The file is removed with the object.
///
/// Memory: its ``BlockIndex``, and two blocks while it is written.
final class SortedRecordFile {
    let width: Int
    let indexWords: Int
    let recordsPerBlock: Int
    /// A number that is unique among the runs of a ``RecordMemory``; the cache tells runs apart by it.
    let number: Int
    let file: BlockFile
    /// The number of merges that its records went through.
    let level: Int
    /// The number of records in blocks.
    private(set) var count = 0
    private let index: BlockIndex
    /// The records of the block being filled; nil unless records come one by one.
    @exclusivity(unchecked) private var pending: UnsafeMutablePointer<UInt64>?
    @exclusivity(unchecked) private var pendingCount = 0
    private let lastRecord: UnsafeMutablePointer<UInt64>
    private let block: RawBuffer

    /// Makes a run without records.
    ///
    /// - Parameters:
    ///   - scratch, block: space for a stored and a packed block, shared by the runs of a structure.
    init(
        directory: WorkDirectory, named name: String, width: Int, indexWords: Int, recordsPerBlock: Int, number: Int,
        level: Int, scratch: RawBuffer, block: RawBuffer
    ) throws(MigrationError) {
        self.width = width
        self.indexWords = indexWords
        self.recordsPerBlock = recordsPerBlock
        self.number = number
        self.level = level
        self.block = block
        file = try BlockFile(directory: directory, named: name, kind: .records, scratch: scratch)
        index = BlockIndex(words: indexWords, beside: name, in: directory, scratch: scratch)
        lastRecord = .allocate(capacity: width)
    }

    deinit {
        pending?.deallocate()
        lastRecord.deallocate()
    }

    /// Restores a saved run, with a new number.
    init(
        restoring state: inout StateReader, directory: WorkDirectory, named name: String, width: Int, indexWords: Int,
        recordsPerBlock: Int, number: Int, scratch: RawBuffer, block: RawBuffer
    ) throws(MigrationError) {
        self.width = width
        self.indexWords = indexWords
        self.recordsPerBlock = recordsPerBlock
        self.number = number
        self.block = block
        level = try state.count(upTo: 1 << 20)
        count = try state.count(upTo: .max)
        let last = try state.words()
        guard last.count == width else { throw StateReader.damaged("a record of \(last.count) words") }
        file = try BlockFile(directory: directory, restoring: &state, kind: .records, scratch: scratch)
        index = try BlockIndex(
            restoring: &state, words: indexWords, beside: name, in: directory, scratch: scratch)
        // Last: if an earlier step throws, no deinit runs to free it.
        lastRecord = .allocate(capacity: width)
        for (word, value) in last.enumerated() { lastRecord[word] = value }
    }

    /// Writes the run's state.
    ///
    /// - Precondition: there is a record in blocks.
    func save(to state: inout StateWriter) throws(MigrationError) {
        try flush()
        state.write(level)
        state.write(count)
        state.write(words: (0..<width).map { last[$0] })
        file.save(to: &state)
        index.save(to: &state)
    }

    var blockCount: Int { index.count }

    /// The last, and so largest, record in blocks.
    ///
    /// - Precondition: there is one.
    var last: UnsafePointer<UInt64> {
        precondition(count > 0)
        return UnsafePointer(lastRecord)
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
        guard pendingCount > 0 || count > 0 else { return true }
        let previous = pendingCount > 0 ? space + (pendingCount - 1) * width : UnsafePointer(lastRecord)
        return !RecordOrder.isLess(record, previous, words: width)
    }

    /// Writes the appended records as a block.
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
        let offset = try index.offset(number)
        try file.read(at: offset, next: try self.offset(number + 1), into: block)
        guard let count = ColumnCodec.decode(block.bytes, width: width, into: target, capacity: recordsPerBlock) else {
            throw file.damaged(offset, "its records do not unpack")
        }
        return count
    }

    /// Gives the blocks before a number back to the disk. They must not be read any more.
    func discard(before number: Int) throws(MigrationError) { try file.discard(before: try offset(number)) }

    /// The offset of a block, or the file's end.
    private func offset(_ number: Int) throws(MigrationError) -> Int {
        number < blockCount ? try index.offset(number) : file.end
    }

    /// The block that may hold the first record not before the prefix.
    func blockHolding(_ prefix: UnsafePointer<UInt64>, words: Int) throws(MigrationError) -> Int {
        let compared = min(words, indexWords)
        guard compared > 0, blockCount > 0 else { return 0 }
        // The block before may end with records of this prefix.
        return max(0, try index.lowerBound(prefix, words: compared) - 1)
    }

    /// Tells whether a block begins after the prefix.
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
        lastRecord.update(from: records + (here - 1) * width, count: width)
        count += here
    }
}
