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
        places = .allocate(capacity: capacity * 2)
    }

    deinit { places.deallocate() }

    /// The number of bytes that the entries take, with the space to sort them.
    var bytes: Int { arena.count + 32 * count }

    /// Adds an entry of a size. Returns the memory for its bytes.
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
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity * 4)
        larger.update(from: places, count: count * 2)
        places.deallocate()
        places = larger
        capacity *= 2
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
        defer { scratch.deallocate() }
        RecordOrder.sort(places, scratch: scratch, count: count, width: 2)
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, places[2 * end] == places[2 * start] { end += 1 }
            if end - start > 1 { merge(start, end, scratch, order) }
            start = end
        }
    }

    /// Merge sort of places with the same prefix, bottom up: groups of one, two, four…
    private func merge(_ start: Int, _ end: Int, _ scratch: UnsafeMutablePointer<UInt64>, _ order: any EntryOrder) {
        var source = places + 2 * start
        var target = scratch
        let count = end - start
        var width = 1
        while width < count {
            var low = 0
            while low < count {
                let (middle, high) = (min(low + width, count), min(low + 2 * width, count))
                var (left, right) = (low, middle)
                for place in low..<high {
                    let takesLeft =
                        left < middle
                        && (right == high
                            || order.compare(
                                entry(atOffset: source[2 * left + 1]), entry(atOffset: source[2 * right + 1])) <= 0)
                    let from = takesLeft ? left : right
                    target[2 * place] = source[2 * from]
                    target[2 * place + 1] = source[2 * from + 1]
                    if takesLeft { left += 1 } else { right += 1 }
                }
                low = high
            }
            swap(&source, &target)
            width *= 2
        }
        if source == scratch { (places + 2 * start).update(from: source, count: 2 * count) }
    }
}
