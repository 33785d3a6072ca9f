import Diagnostics

/// The decoded blocks of runs that random reads used last.
///
/// Memory: as many blocks as it has slots, made when they are needed. A lookup of the block used last costs one comparison.
struct BlockCache<Block> {
    private var keys: [UInt64] = []
    private var blocks: [Block] = []
    private var places: [UInt64: Int] = [:]
    private var recency: RecencyList
    private var last = -1

    init(slots: Int) { recency = RecencyList(capacity: max(4, slots)) }

    /// Returns a block of a run, from the cache or by reading it.
    ///
    /// - Parameters:
    ///   - isKept: tells whether a block that was read may stay in the cache.
    ///   - read: reads the block. Its argument is the block that leaves the cache, whose memory it may reuse; nil if none leaves.
    mutating func block(
        _ index: Int, of run: SortedRun, isKept: (Block) -> Bool = { _ in true },
        read: (Block?) throws(MigrationError) -> Block
    ) throws(MigrationError) -> Block {
        let key = UInt64(run.number) << 32 | UInt64(index)
        if last >= 0, keys[last] == key { return blocks[last] }
        if let place = places[key] {
            recency.touch(place)
            last = place
            return blocks[place]
        }
        let leaving = recency.count == recency.capacity ? recency.oldestSlot : nil
        if let leaving {
            // If the read fails, no key leads to the slot.
            places[keys[leaving]] = nil
            keys[leaving] = .max
            last = -1
        }
        let block = try read(leaving.map { blocks[$0] })
        guard isKept(block) else { return block }
        let (place, isFresh) = recency.take()
        if isFresh {
            keys.append(key)
            blocks.append(block)
        } else {
            keys[place] = key
            blocks[place] = block
        }
        places[key] = place
        last = place
        return block
    }
}
