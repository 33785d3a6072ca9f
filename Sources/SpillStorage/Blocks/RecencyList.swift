/// The slots of a cache in order of last use, to tell which slot to evict next.
///
/// Memory: 8 bytes a slot. All operations are O(1).
struct RecencyList {
    private var newer: [Int32]
    private var older: [Int32]
    private var newest: Int32 = -1
    private var oldest: Int32 = -1
    private var used = 0

    var count: Int { used }
    /// The slot that was not used for longest.
    var oldestSlot: Int? { oldest >= 0 ? Int(oldest) : nil }
    /// The slot whose last use came next after that of another slot.
    func slot(usedAfter slot: Int) -> Int? { newer[slot] >= 0 ? Int(newer[slot]) : nil }

    let capacity: Int

    init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
        newer = Array(repeating: -1, count: capacity)
        older = Array(repeating: -1, count: capacity)
    }

    /// Returns a slot to fill: a fresh one, or the one that was not used for longest, whose content must be discarded. It
    /// becomes the newest.
    mutating func take() -> (slot: Int, isFresh: Bool) {
        if used < capacity {
            let slot = Int32(used)
            used += 1
            link(slot)
            return (Int(slot), true)
        }
        let slot = oldest
        touch(Int(slot))
        return (Int(slot), false)
    }

    mutating func touch(_ slot: Int) {
        let slot = Int32(slot)
        guard slot != newest else { return }
        let after = newer[Int(slot)]
        let before = older[Int(slot)]
        if after >= 0 { older[Int(after)] = before }
        if before >= 0 { newer[Int(before)] = after } else { oldest = after }
        link(slot)
    }

    private mutating func link(_ slot: Int32) {
        older[Int(slot)] = newest
        newer[Int(slot)] = -1
        if newest >= 0 { newer[Int(newest)] = slot }
        newest = slot
        if oldest < 0 { oldest = slot }
    }
}
