/// Bytes that grow and are reused: the uncompressed side of a block.
///
/// Memory: `capacity` bytes, until ``trim(to:)`` or release.
final class RawBuffer {
    private(set) var start: UnsafeMutableRawPointer
    private(set) var capacity: Int
    var count = 0

    init(capacity: Int = 256) {
        self.capacity = max(16, capacity)
        start = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit { start.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Makes room for a number of bytes in all. The bytes in use stay.
    func ensure(_ needed: Int) {
        guard needed > capacity else { return }
        let larger = max(needed, capacity < (1 << 20) ? capacity * 2 : capacity + capacity / 4)
        let space = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        space.copyMemory(from: start, byteCount: count)
        start.deallocate()
        start = space
        capacity = larger
    }

    /// Forgets the bytes. Frees storage above the limit, which one huge row may have made large.
    func reset(keeping limit: Int) {
        count = 0
        guard capacity > limit * 2 else { return }
        start.deallocate()
        capacity = max(16, limit)
        start = .allocate(byteCount: capacity, alignment: 16)
    }
}
