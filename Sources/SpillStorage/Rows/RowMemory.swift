import Diagnostics

/// The memory that a group of ``RowSpill``s shares: patches that are not written yet, decoded blocks, and space for stored
/// blocks.
///
/// If all patches together exceed their share, those of the spill that holds the most are written.
///
/// Memory: half of the allowance for blocks (four of them at least), and a quarter for patches, whose buffers need half as much
/// again while they grow. For use by one thread.
package final class RowMemory {
    private let mostPatches: Int
    /// The spills, and the sizes of their patches in bytes.
    var users = MemoryUsers<RowSpill>()
    @exclusivity(unchecked) private var cache: BlockCache<RowBlock>
    /// The size in bytes of the largest block that is kept; larger ones have huge rows.
    private static let largestKept = 256 * 1024
    let scratch = RawBuffer()
    let huge = HugeReferences()

    /// Makes a memory for a group of spills.
    ///
    /// - Parameter bytes: the allowance; 512 KiB are used at least.
    package init(bytes: Int) {
        precondition(bytes >= 0)
        mostPatches = max(bytes / 4, 4 * 1024)
        cache = BlockCache(slots: min(256, bytes / 2 / (RowSpill.blockBytes + 16 * 1024)))
    }

    /// True if the spills can be saved: none refers to a value in the source. Such references do not outlive the process.
    package var canBeSaved: Bool { huge.isEmpty }

    /// A block of a run: the open one, or one from the cache or the file.
    func block(_ index: Int, of run: SortedRowFile) throws(MigrationError) -> RowBlock {
        guard index < run.blockCount else { return run.open }
        return try cache.block(
            index, of: run, isKept: { $0.buffer.count <= Self.largestKept },
            read: { _ throws(MigrationError) in try run.read(index) })
    }

    /// Notes the bytes that a spill's patches take now. Patches of the largest spills may be written.
    func note(_ bytes: Int, of spill: RowSpill) throws(MigrationError) {
        guard let own = users.index(of: spill) else { return }
        users.set(bytes, at: own)
        // Keep the spill used last in front: the next search finds it at once.
        if own > 0 { users.entries.swapAt(0, own) }
        while users.held > mostPatches {
            let entries = users.entries
            guard let largest = entries.indices.max(by: { entries[$0].held < entries[$1].held }),
                entries[largest].held > 0
            else { return }
            users.set(0, at: largest)
            try entries[largest].user.spillPatches()
        }
    }
}
