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
    private var patchBytes = 0
    private var holders: [Holder] = []
    @exclusivity(unchecked) var cache: RowBlockCache
    let scratch = RawBuffer()
    let huge = HugeReferences()
    private var runs = 0

    private struct Holder {
        /// Valid as long as it is in the list: a spill removes itself with ``leave(_:)`` when it is released.
        unowned(unsafe) let spill: RowSpill
        let id: ObjectIdentifier
        var bytes = 0
    }

    /// Makes a memory for a group of spills.
    ///
    /// - Parameter bytes: the allowance; 512 KiB are used at least.
    package init(bytes: Int) {
        precondition(bytes >= 0)
        mostPatches = max(bytes / 4, 4 * 1024)
        cache = RowBlockCache(slots: max(4, min(256, bytes / 2 / (RowSpill.blockBytes + 16 * 1024))))
    }

    /// True if the spills can be saved: none refers to a value in the source. Such references do not outlive the process.
    package var canBeSaved: Bool { huge.isEmpty }

    /// Returns a number for a run, unique in the group.
    func nextRun() -> Int {
        runs += 1
        return runs
    }

    func enter(_ spill: RowSpill) { holders.append(Holder(spill: spill, id: ObjectIdentifier(spill))) }

    func leave(_ spill: RowSpill) {
        guard let index = index(spill) else { return }
        patchBytes -= holders[index].bytes
        holders.swapAt(index, holders.count - 1)
        holders.removeLast()
    }

    /// Notes the bytes that a spill's patches take now. Patches of the largest spills may be written.
    func note(_ bytes: Int, of spill: RowSpill) throws(MigrationError) {
        guard let own = index(spill) else { return }
        patchBytes += bytes - holders[own].bytes
        holders[own].bytes = bytes
        // Keep the spill used last in front: the next search finds it at once.
        if own > 0 { holders.swapAt(0, own) }
        while patchBytes > mostPatches {
            var largest = 0
            for index in holders.indices where holders[index].bytes > holders[largest].bytes { largest = index }
            guard holders[largest].bytes > 0 else { return }
            let victim = holders[largest]
            patchBytes -= victim.bytes
            holders[largest].bytes = 0
            try victim.spill.spillPatches()
        }
    }

    private func index(_ spill: RowSpill) -> Int? {
        let id = ObjectIdentifier(spill)
        return holders.firstIndex { $0.id == id }
    }
}
