import Diagnostics

/// The memory that a group of ``RecordLog``s share: their buffers, the space to sort in, and the unpacked blocks.
///
/// A log that is being filled takes what is free. Where nothing is, buffers that were not filled for some time are
/// written as runs and given back; then larger ones than the log asks for; else the log writes its own and goes on in
/// the memory it has. So any number of logs keep to one allowance, and one that is filled alone gets nearly all of it.
///
/// Memory: the allowance, 16 to 24 bytes for each block of 1,024 records on disk, and while runs are merged a block for
/// each. The least that it keeps to is 128 KiB and 4 KiB a log that is being filled. For use by one thread.
package final class RecordMemory {
    /// Bytes for buffers and the space to sort in.
    private let most: Int
    /// Bytes of buffers.
    private var used = 0
    /// Rises with every request: what tells idle buffers.
    private var clock = 0
    private var holders: [Holder] = []
    private(set) var space: UnsafeMutablePointer<UInt64>
    private var spaceWords = 0
    /// Bytes that an unpacked block takes at most: several runs' are unpacked at a time.
    private(set) var blockBytes: Int
    let stored = RawBuffer()
    let block = RawBuffer()
    @exclusivity(unchecked) var cache: RecordBlockCache
    private var runs = 0

    /// What every log may have.
    static let leastWords = 512

    private struct Holder {
        /// Entered while it lives only: ``leave(_:)`` is its last act.
        unowned(unsafe) let log: RecordLog
        let id: ObjectIdentifier
        var words = 0
        var lastUse = 0
    }

    /// - Parameter bytes: the allowance; a quarter is for unpacked blocks.
    package init(bytes: Int) {
        let bytes = max(bytes, 128 * 1024)
        most = bytes / 4 * 3
        blockBytes = min(32 * 1024, bytes / 32)
        cache = RecordBlockCache(slots: bytes / 4 / blockBytes, blockWords: blockBytes / 8)
        space = .allocate(capacity: 1)
    }

    deinit { space.deallocate() }

    /// Makes room for unpacked blocks as large as those of a run that was written with another allowance.
    func admit(blockBytes wanted: Int) {
        guard wanted > blockBytes else { return }
        blockBytes = wanted
        cache = RecordBlockCache(slots: max(4, most / 3 / wanted), blockWords: wanted / 8)
    }

    /// A number for a run, which no other run of the group has.
    func nextRun() -> Int {
        runs += 1
        return runs
    }

    func enter(_ log: RecordLog) { holders.append(Holder(log: log, id: ObjectIdentifier(log))) }

    func leave(_ log: RecordLog) {
        guard let index = index(log) else { return }
        used -= holders[index].words
        holders.swapAt(index, holders.count - 1)
        holders.removeLast()
    }

    private func index(_ log: RecordLog) -> Int? {
        let id = ObjectIdentifier(log)
        return holders.firstIndex { $0.id == id }
    }

    /// Notes that a log's buffer is empty and given back.
    func giveBack(_ log: RecordLog) {
        guard let index = index(log) else { return }
        used -= holders[index].words
        holders[index].words = 0
    }

    /// Gives a log a larger buffer, where that can be.
    ///
    /// - Parameter words: what it wants in all.
    /// - Returns: whether it may have it.
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77): other buffers may be written.
    func extend(_ log: RecordLog, to words: Int) throws(MigrationError) -> Bool {
        guard let own = index(log) else { return false }
        clock += 1
        holders[own].lastUse = clock
        while !fits(words, own) {
            guard let victim = victim(for: own, words: words) else {
                if words <= RecordMemory.leastWords { break }
                return false
            }
            try holders[victim].log.release()
        }
        used += words - holders[own].words
        holders[own].words = words
        return true
    }

    /// Puts the records of all logs on disk and gives their memory back, where it is more than some: for logs that are only
    /// read from now on.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func park() throws(MigrationError) {
        guard bytesInUse > 256 << 10 else { return }
        for holder in holders where holder.words > 0 { try holder.log.release() }
        dropSpace()
    }

    /// Gives the space to sort in back until it is asked for again.
    func dropSpace() {
        space.deallocate()
        space = .allocate(capacity: 1)
        spaceWords = 0
    }

    /// Bytes of buffers and of the space to sort in.
    var bytesInUse: Int { (used + spaceWords) * 8 }

    /// Room to sort and join in.
    func space(words: Int) -> UnsafeMutablePointer<UInt64> {
        if words > spaceWords {
            space.deallocate()
            space = .allocate(capacity: words)
            spaceWords = words
        }
        return space
    }

    /// Whether a buffer of so many words fits beside the others, with as much room again to sort the largest.
    private func fits(_ words: Int, _ own: Int) -> Bool {
        var largest = max(words, spaceWords)
        for holder in holders { largest = max(largest, holder.words) }
        // What was the largest buffer's space is given back once that buffer is gone.
        if largest > words, spaceWords > words, holders.allSatisfy({ $0.words <= words }) {
            dropSpace()
            largest = words
        }
        return (used - holders[own].words + words + largest) * 8 <= most
    }

    /// The buffer that is to make room: the one idle for longest, else the largest that is larger than what is wanted.
    private func victim(for own: Int, words: Int) -> Int? {
        var idle: Int?
        var largest: Int?
        for index in holders.indices where index != own && holders[index].words > 0 {
            if clock - holders[index].lastUse > 4 * holders.count + 16,
                idle.map({ holders[index].lastUse < holders[$0].lastUse }) ?? true
            {
                idle = index
            }
            if holders[index].words >= words, largest.map({ holders[index].words > holders[$0].words }) ?? true {
                largest = index
            }
        }
        return idle ?? largest
    }
}
