import Diagnostics

/// A sorted run of entries. In a block each entry is a length of four bytes and its bytes.
///
/// Memory: that of a ``SortedRun``, and the last entry.
final class EntryRun: SortedRun {
    /// The bytes of the block being written, shared by the runs of a sorter.
    private let block: RawBuffer
    private let blockBytes: Int
    /// The last entry, as of the last ``flush()``.
    private(set) var last: [UInt8] = []
    /// The offset of the last entry in the block being written.
    private var lastPlace = 0

    /// Makes a run without entries.
    ///
    /// - Parameter blockBytes: the most bytes in a block, unless one entry is larger.
    init(_ place: RunPlace, level: Int, block: RawBuffer, blockBytes: Int) throws(MigrationError) {
        self.block = block
        self.blockBytes = blockBytes
        try super.init(place, number: 0, level: level, indexWords: 0)
    }

    /// Appends an entry that is not before the last one. It can be read after ``flush()``.
    func append(_ entry: UnsafeRawBufferPointer) throws(MigrationError) {
        if block.count > 0, block.count + 4 + entry.count > blockBytes { try writeBlock() }
        block.ensure(block.count + 4 + entry.count)
        let place = block.start + block.count
        lastPlace = block.count
        place.storeBytes(of: UInt32(truncatingIfNeeded: entry.count), as: UInt32.self)
        if let start = entry.baseAddress { (place + 4).copyMemory(from: start, byteCount: entry.count) }
        block.count += 4 + entry.count
    }

    /// Writes the appended entries as a block, and sets ``last``.
    func flush() throws(MigrationError) {
        guard block.count > 0 else { return }
        last = Array(UnsafeRawBufferPointer(rebasing: block.bytes[(lastPlace + 4)...]))
        try writeBlock()
    }

    private func writeBlock() throws(MigrationError) {
        var none: UInt64 = 0
        try index.append(offset: try file.append(block.bytes), first: &none)
        block.reset(keeping: blockBytes)
    }

    /// Reads a block and gives the disk space of the blocks before it back.
    func take(_ number: Int, into target: RawBuffer) throws(MigrationError) {
        try discard(before: number)
        let offset = try read(number, into: target)
        var place = 0
        while place < target.count {
            guard place + 4 <= target.count,
                place + 4 + Int((target.start + place).loadUnaligned(as: UInt32.self)) <= target.count
            else { throw file.damaged(offset, "its entries do not unpack") }
            place += 4 + Int((target.start + place).loadUnaligned(as: UInt32.self))
        }
    }
}

/// A sorted stream of entries: the blocks of a run, or entries in memory.
final class EntrySource {
    private let run: EntryRun?
    private let gathered: GatheredEntries?
    private let block = RawBuffer()
    private var nextBlock = 0
    private var place = 0

    init(_ run: EntryRun) {
        self.run = run
        gathered = nil
    }

    init(_ gathered: GatheredEntries) {
        self.gathered = gathered
        run = nil
    }

    /// Returns the next entry, which is valid until the one after it is read; nil at the end.
    func next() throws(MigrationError) -> UnsafeRawBufferPointer? {
        if let gathered {
            guard place < gathered.count else { return nil }
            place += 1
            return gathered.entry(place - 1)
        }
        guard let run else { return nil }
        if place == block.count {
            guard nextBlock < run.blockCount else { return nil }
            try run.take(nextBlock, into: block)
            nextBlock += 1
            place = 0
        }
        let start = block.start + place
        let count = Int(start.loadUnaligned(as: UInt32.self))
        place += 4 + count
        return UnsafeRawBufferPointer(start: start + 4, count: count)
    }
}
