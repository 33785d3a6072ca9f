import Synchronization

/// Bitmaps beside the chunks of small sets in which many keys are missing. They take four times the memory of the chunk and
/// answer in a part of the time.
///
/// Memory: 10.25 KiB for each of a set's first four chunks at most, made when they are first needed; ``mostOfAll`` bitmaps in
/// the whole process.
extension KeyIndex {
    /// The most bitmaps of all sets: two thirds of a mebibyte.
    private static let mostOfAll = 64
    private static let inUse = Atomic<Int>(0)
    /// The number of missing keys up to which the holes are fast enough by themselves.
    private static let fewHoles = 128

    /// The bitmap of a chunk that is kept as holes; nil if it gets none.
    func bitmap(ofHoles number: Int, _ payload: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        guard number < hot.pointee.bitmaps.count else { return nil }
        if let known = hot.pointee.bitmaps[number] { return known }
        // Two threads that ask at once may exceed the limit by one bitmap.
        guard chunkCount <= hot.pointee.bitmaps.count, file == nil, KeyContainer.holeCount(payload) > Self.fewHoles,
            Self.inUse.load(ordering: .relaxed) < Self.mostOfAll
        else { return nil }
        Self.inUse.add(1, ordering: .relaxed)
        let made = KeyContainer.makeBitmap(ofHoles: payload)
        hot.pointee.bitmaps[number] = made
        return made
    }

    /// Frees the bitmaps.
    func dropBitmaps() {
        for number in hot.pointee.bitmaps.indices {
            guard let bitmap = hot.pointee.bitmaps[number] else { continue }
            bitmap.deallocate()
            hot.pointee.bitmaps[number] = nil
            Self.inUse.subtract(1, ordering: .relaxed)
        }
    }
}

extension KeyContainer {
    /// The number of missing offsets in a payload of holes.
    static func holeCount(_ payload: UnsafeMutableRawPointer) -> Int {
        Int(payload.assumingMemoryBound(to: UInt16.self)[holesStart - 1])
    }

    /// The number of keys before each word of a bitmap that ``makeBitmap(ofHoles:)`` made.
    static func wordRanks(ofBitmap bitmap: UnsafeMutableRawPointer) -> UnsafePointer<UInt16> {
        UnsafePointer((bitmap + bitmapBytes).assumingMemoryBound(to: UInt16.self))
    }

    /// Makes a bitmap of the same keys, followed by the number of keys before each of its words.
    static func makeBitmap(ofHoles payload: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
        let (missing, last) = holeParts(payload)
        let made = UnsafeMutableRawPointer.allocate(byteCount: bitmapBytes + 2 * bitmapWords, alignment: 8)
        let words = made.bindMemory(to: UInt64.self, capacity: bitmapWords)
        words.initialize(repeating: 0, count: bitmapWords)
        for word in 0..<last >> 6 { words[word] = .max }
        for offset in last & ~63...last { words[offset >> 6] |= 1 << UInt64(offset & 63) }
        for hole in 0..<holeCount(payload) {
            let offset = Int(missing[hole])
            words[offset >> 6] &= ~(1 << UInt64(offset & 63))
        }
        _ = setRanks(made)
        let ranks = (made + bitmapBytes).bindMemory(to: UInt16.self, capacity: bitmapWords)
        var before = 0
        for word in 0..<bitmapWords {
            (ranks + word).initialize(to: UInt16(truncatingIfNeeded: before))
            before += words[word].nonzeroBitCount
        }
        return made
    }
}
