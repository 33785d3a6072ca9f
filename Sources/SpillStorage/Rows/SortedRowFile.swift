import Diagnostics
import Rows

/// Encoded rows in ascending order of their keys, with the offset of each.
///
/// Memory: the rows' bytes, and 16 bytes a row.
final class RowBlock {
    let buffer = RawBuffer()
    @exclusivity(unchecked) private(set) var keys: [Int64] = []
    @exclusivity(unchecked) private var offsets: [Int] = []

    var count: Int { keys.count }
    var firstKey: Int64? { keys.first }
    var lastKey: Int64? { keys.last }

    func note(_ key: Int64, at offset: Int) {
        keys.append(key)
        offsets.append(offset)
    }

    func reset(keeping limit: Int) {
        buffer.reset(keeping: limit)
        keys.removeAll(keepingCapacity: true)
        offsets.removeAll(keepingCapacity: true)
    }

    /// Removes the rows and frees their memory.
    func release() {
        buffer.reset(keeping: 0)
        keys = []
        offsets = []
    }

    /// Notes the rows of the buffer. Returns false if they are not rows in ascending order.
    func index() -> Bool {
        // Local arrays: appending to a property would cost a check of exclusive access a row.
        var keys: [Int64] = []
        var offsets: [Int] = []
        let bytes = buffer.bytes
        var offset = 0
        var last = Int64.min
        while offset < bytes.count {
            guard let (key, next) = RowCodec.header(in: bytes, at: offset), key > last || offset == 0 else {
                return false
            }
            if offset == 0 {
                let expected = min(bytes.count / next + 1, 8192)
                keys.reserveCapacity(expected)
                offsets.reserveCapacity(expected)
            }
            keys.append(key)
            offsets.append(offset)
            last = key
            offset = next
        }
        self.keys = keys
        self.offsets = offsets
        return !keys.isEmpty
    }

    /// The row at an index; valid as long as the block exists.
    func slice(_ index: Int) -> RowCodec.Slice? { RowCodec.row(in: buffer.bytes, at: offsets[index])?.slice }

    /// The index of the first row whose key is not smaller.
    func lowerBound(_ key: Int64) -> Int {
        keys.withUnsafeBufferPointer { keys in
            guard let start = keys.baseAddress else { return 0 }
            return KeyContainer.lowerBound(start, count: keys.count, key)
        }
    }
}

/// A sorted run of rows, with the first key of each block in memory.
///
/// Rows may be appended as long as keys ascend. Rows that are not in the file yet are in ``open``, the block after the last
/// one.
///
/// Memory: that of a ``SortedRun``, and the open block.
final class SortedRowFile: SortedRun {
    /// The rows that are not in the file yet.
    let open = RowBlock()
    /// The size of the rows in bytes, before compression.
    @exclusivity(unchecked) private(set) var rawBytes = 0
    private let blockBytes: Int
    private let huge: HugeReferences

    init(
        _ place: RunPlace, number: Int, level: Int, blockBytes: Int, huge: HugeReferences
    ) throws(MigrationError) {
        self.blockBytes = blockBytes
        self.huge = huge
        try super.init(place, number: number, level: level, indexWords: 1)
    }

    /// Restores a saved run, with a new number.
    init(
        restoring coder: inout StateCoder, _ place: RunPlace, number: Int, blockBytes: Int, huge: HugeReferences
    ) throws(MigrationError) {
        self.blockBytes = blockBytes
        self.huge = huge
        try coder.code(&rawBytes, upTo: .max)
        try super.init(restoring: &coder, place, number: number, indexWords: 1)
    }

    /// Writes the open block, then the run's state.
    func save(to coder: inout StateCoder) throws(MigrationError) {
        try flush()
        try coder.code(&rawBytes, upTo: .max)
        try saveRun(to: &coder)
    }

    /// Appends neighbouring rows of a batch.
    ///
    /// - Precondition: keys ascend, and are larger than those of all rows in the run.
    /// - Throws: `spill.rowTooLarge` (65), `spill.full`, `spill.io` (74).
    func append(rows: Range<Int>, of batch: borrowing RowBatch, slots: Int) throws(MigrationError) {
        // Read once for all rows: each read would retain and release.
        let (open, huge, blockBytes) = (open, huge, blockBytes)
        let buffer = open.buffer
        for row in rows {
            let key = batch.key(row)
            let offset = buffer.count
            try RowCodec.append(key: key, row: row, of: batch, slots: slots, to: buffer, huge)
            if offset > 0 && buffer.count > blockBytes * 2 {
                // A huge row gets a block of its own, so that nothing else needs its memory.
                buffer.count = offset
                try flush()
                try RowCodec.append(key: key, row: row, of: batch, slots: slots, to: buffer, huge)
                open.note(key, at: 0)
            } else {
                open.note(key, at: offset)
            }
            if buffer.count >= blockBytes { try flush() }
        }
    }

    func appendDeletion(key: Int64) throws(MigrationError) {
        open.note(key, at: open.buffer.count)
        RowCodec.appendDeletion(key: key, to: open.buffer)
        if open.buffer.count >= blockBytes { try flush() }
    }

    /// Writes the open block to the file.
    func flush() throws(MigrationError) {
        guard let first = open.firstKey else { return }
        let raw = open.buffer.count
        var word = SortKey.encode(first)
        try index.append(offset: try file.append(open.buffer.bytes), first: &word)
        rawBytes += raw
        open.reset(keeping: blockBytes * 2)
    }

    /// Writes the open block and frees its memory.
    func seal() throws(MigrationError) {
        try flush()
        open.release()
    }

    func read(_ number: Int) throws(MigrationError) -> RowBlock {
        let block = RowBlock()
        let first = SortKey.decode(try index.firstWord(number))
        let offset = try read(number, into: block.buffer)
        guard block.index(), block.firstKey == first else {
            throw file.damaged(offset, "its rows are not those written")
        }
        return block
    }

    /// The block that may hold a key, ``blockCount`` for the open one; nil if the key is before all rows.
    func blockHolding(_ key: Int64) throws(MigrationError) -> Int? {
        if let first = open.firstKey, key >= first { return blockCount }
        guard blockCount > 0 else { return nil }
        var word = SortKey.encode(key)
        let bound = try index.lowerBound(&word, words: 1)
        let isFirst = bound < blockCount ? try index.firstWord(bound) == word : false
        return isFirst ? bound : bound > 0 ? bound - 1 : nil
    }

    /// Tells whether a key is before the first key of a block; also true if there is no such block.
    func isBefore(_ key: Int64, block: Int) throws(MigrationError) -> Bool {
        if block < blockCount { return key < SortKey.decode(try index.firstWord(block)) }
        guard block == blockCount, let first = open.firstKey else { return true }
        return key < first
    }

    /// The error for a row of a block that cannot be decoded.
    func damaged(block: Int) -> MigrationError {
        file.damaged((try? offset(block)) ?? file.end, "a row's cells are not those written")
    }
}
