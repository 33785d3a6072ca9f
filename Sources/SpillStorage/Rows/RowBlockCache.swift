import Diagnostics

/// The decoded blocks that random reads used last.
///
/// Memory: `slots` blocks; blocks above 256 KiB (huge rows) are not kept.
struct RowBlockCache {
    private static let largestKept = 256 * 1024

    private var keys: [UInt64] = []
    private var blocks: [RowBlock?] = []
    private var places: [UInt64: Int] = [:]
    private var recency: RecencyList

    init(slots: Int) { recency = RecencyList(capacity: slots) }

    /// A block of a run's file, from the cache or read now.
    mutating func block(_ index: Int, of run: SortedRowFile) throws(MigrationError) -> RowBlock {
        let key = UInt64(run.number) << 32 | UInt64(index)
        if let place = places[key], let block = blocks[place] {
            recency.touch(place)
            return block
        }
        let block = try run.read(index)
        guard block.buffer.count <= Self.largestKept else { return block }
        let (place, isFresh) = recency.take()
        if isFresh {
            keys.append(key)
            blocks.append(block)
        } else {
            places[keys[place]] = nil
            keys[place] = key
            blocks[place] = block
        }
        places[key] = place
        return block
    }
}
