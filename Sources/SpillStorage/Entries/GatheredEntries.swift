/// Entries of different lengths in memory, sorted through a list of their places.
///
/// Memory: the entries, 4 bytes more for each, and 16 bytes for each place.
final class GatheredEntries {
    /// The entries one after the other: a length of four bytes each, then the bytes.
    let arena = RawBuffer()
    /// The places: a prefix and an offset into the arena for each entry.
    private(set) var places: UnsafeMutablePointer<UInt64>
    private var capacity: Int
    private(set) var count = 0

    init() {
        capacity = 64
        places = Self.allocate(capacity)
    }

    deinit { places.deallocate() }

    /// The number of bytes that the entries take, with the space to sort them.
    var bytes: Int { arena.count + 32 * count }

    /// Adds an entry of a number of bytes. Returns the memory to write them to, valid until the next entry is added. Call
    /// ``setPrefix(by:)`` once they are written.
    func add(_ size: Int) -> UnsafeMutableRawPointer {
        if count == capacity { grow() }
        arena.ensure(arena.count + 4 + size)
        let start = arena.start + arena.count
        start.storeBytes(of: UInt32(truncatingIfNeeded: size), as: UInt32.self)
        places[2 * count + 1] = UInt64(truncatingIfNeeded: arena.count)
        count += 1
        arena.count += 4 + size
        return start + 4
    }

    /// Sets the prefix of the entry added last, once its bytes are complete.
    func setPrefix(by order: any EntryOrder) { places[2 * count - 2] = order.prefix(of: entry(count - 1)) }

    /// The entry at an index; in order after ``sort(by:)``.
    func entry(_ index: Int) -> UnsafeRawBufferPointer { entry(atOffset: places[2 * index + 1]) }

    private func entry(atOffset offset: UInt64) -> UnsafeRawBufferPointer {
        let start = arena.start + Int(truncatingIfNeeded: offset)
        return UnsafeRawBufferPointer(start: start + 4, count: Int(start.loadUnaligned(as: UInt32.self)))
    }

    private func grow() {
        let larger = Self.allocate(capacity * 2)
        larger.update(from: places, count: count * 2)
        places.deallocate()
        places = larger
        capacity *= 2
    }

    /// Allocates places, aligned for pairs of words.
    private static func allocate(_ places: Int) -> UnsafeMutablePointer<UInt64> {
        UnsafeMutableRawPointer.allocate(byteCount: places * 16, alignment: 16)
            .bindMemory(to: UInt64.self, capacity: places * 2)
    }

    /// Removes the entries. Their storage stays allocated.
    func removeAll() {
        arena.count = 0
        count = 0
    }

    /// Sorts the places by their prefixes, then those with the same prefix by their entries. Of equal entries the one added
    /// first stays first.
    func sort(by order: any EntryOrder) {
        guard count > 1 else { return }
        let scratch = UnsafeMutablePointer<UInt64>.allocate(capacity: count * 2)
        RecordOrder.sort(places, scratch: scratch, count: count, width: 2)
        scratch.deallocate()
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, places[2 * end] == places[2 * start] { end += 1 }
            if end - start > 1 { sort(start..<end, by: order) }
            start = end
        }
    }

    /// Sorts places with the same prefix by their entries, then by their offsets, which follow the order of adding.
    private func sort(_ range: Range<Int>, by order: any EntryOrder) {
        (places + 2 * range.lowerBound).withMemoryRebound(to: SIMD2<UInt64>.self, capacity: range.count) { start in
            var places = UnsafeMutableBufferPointer(start: start, count: range.count)
            places.sort { left, right in
                let compared = order.compare(entry(atOffset: left.y), entry(atOffset: right.y))
                return compared != 0 ? compared < 0 : left.y < right.y
            }
        }
    }
}
