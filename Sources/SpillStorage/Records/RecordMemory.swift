import Diagnostics

/// The memory that a group of ``RecordLog``s shares: their buffers, the space to sort in, and the unpacked blocks.
///
/// A log that is being filled takes memory that is free. If none is, buffers that were idle for some time are written as runs
/// and freed; then buffers at least as large as the one that the log asks for. If there are none, the log writes its own buffer
/// and continues in the memory it has. So any number of logs keep to one allowance, and a log that is filled alone gets nearly
/// all of it.
///
/// Memory: the allowance, 16 to 24 bytes for each block of 1,024 records on disk, and a block for each run of a merge. It takes
/// at least 128 KiB, and 4 KiB for each log that is being filled. For use by one thread.
package final class RecordMemory {
    /// The limit in bytes for buffers and the space to sort in.
    private let most: Int
    /// A counter that rises with every request; it tells which buffers are idle.
    private var clock = 0
    /// The logs, and the sizes of their buffers in words.
    var users = MemoryUsers<RecordLog>()
    private(set) var space: UnsafeMutablePointer<UInt64>
    private var spaceWords = 0
    /// The largest size of an unpacked block in bytes. Blocks of several runs are unpacked at a time.
    private(set) var blockBytes: Int
    let stored = RawBuffer()
    let block = RawBuffer()
    @exclusivity(unchecked) private var cache: BlockCache<RecordBlock>

    /// The size in words that every log may have.
    static let leastWords = 512

    /// Makes a memory for a group of logs.
    ///
    /// - Parameters:
    ///   - bytes: the allowance; a quarter of it is for unpacked blocks.
    ///   - blockBytes: the size of an unpacked block. Lookups in any order are faster with small ones.
    package init(bytes: Int, blockBytes: Int = 32 * 1024) {
        let bytes = max(bytes, 128 * 1024)
        most = bytes / 4 * 3
        self.blockBytes = min(blockBytes, bytes / 32)
        cache = BlockCache(slots: bytes / 4 / self.blockBytes)
        space = .allocate(capacity: 1)
    }

    deinit { space.deallocate() }

    /// Makes room for larger unpacked blocks, for a run that was written with another allowance.
    func admit(blockBytes wanted: Int) {
        guard wanted > blockBytes else { return }
        blockBytes = wanted
        cache = BlockCache(slots: most / 3 / wanted)
    }

    /// An unpacked block of a run, valid until the next call.
    func block(_ index: Int, of run: SortedRecordFile) throws(MigrationError) -> RecordBlock {
        try cache.block(index, of: run) { leaving throws(MigrationError) in
            let block = leaving ?? RecordBlock(words: blockBytes / 8)
            block.count = try run.read(index, into: block.records)
            return block
        }
    }

    /// Asks for a larger buffer for a log.
    ///
    /// - Parameter words: the size wanted in all.
    /// - Returns: true if the log may have it.
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77): other buffers may be written.
    func extend(_ log: RecordLog, to words: Int) throws(MigrationError) -> Bool {
        guard let own = users.index(of: log) else { return false }
        clock += 1
        users.entries[own].lastUse = clock
        while !fits(words, own) {
            guard let victim = victim(for: own, words: words) else {
                if words <= RecordMemory.leastWords { break }
                return false
            }
            try users.entries[victim].user.release()
        }
        users.set(words, at: own)
        return true
    }

    /// Writes the records of all logs to disk and frees their memory, if it is more than 256 KiB. For logs that are only read
    /// from now on.
    package func park() throws(MigrationError) {
        guard bytesInUse > 256 << 10 else { return }
        for entry in users.entries where entry.held > 0 { try entry.user.release() }
        dropSpace()
    }

    /// Frees the space to sort in until it is asked for again.
    func dropSpace() {
        space.deallocate()
        space = .allocate(capacity: 1)
        spaceWords = 0
    }

    /// The size in bytes of the buffers and of the space to sort in.
    var bytesInUse: Int { (users.held + spaceWords) * 8 }

    /// Returns space to sort and join in.
    func space(words: Int) -> UnsafeMutablePointer<UInt64> {
        if words > spaceWords {
            space.deallocate()
            space = .allocate(capacity: words)
            spaceWords = words
        }
        return space
    }

    /// Tells whether a buffer of a size fits beside the others, with as much space again to sort the largest.
    private func fits(_ words: Int, _ own: Int) -> Bool {
        var largest = max(words, spaceWords)
        for entry in users.entries { largest = max(largest, entry.held) }
        // The space was made for a larger buffer that is gone now, so free it.
        if largest > words, spaceWords > words, users.entries.allSatisfy({ $0.held <= words }) {
            dropSpace()
            largest = words
        }
        return (users.held - users.entries[own].held + words + largest) * 8 <= most
    }

    /// The buffer to write and free: the one idle for longest, else the largest one, if it is at least as large as the size
    /// wanted.
    private func victim(for own: Int, words: Int) -> Int? {
        var idle: Int?
        var largest: Int?
        let entries = users.entries
        for (index, entry) in entries.enumerated() where index != own && entry.held > 0 {
            if clock - entry.lastUse > 4 * entries.count + 16, idle.map({ entry.lastUse < entries[$0].lastUse }) ?? true
            {
                idle = index
            }
            if entry.held >= words, largest.map({ entry.held > entries[$0].held }) ?? true { largest = index }
        }
        return idle ?? largest
    }
}

final class RecordBlock {
    let records: UnsafeMutablePointer<UInt64>
    var count = 0

    init(words: Int) { records = .allocate(capacity: words) }

    deinit { records.deallocate() }
}
