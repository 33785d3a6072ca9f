import Diagnostics

/// A set of keys that knows the rank of each: its place in ascending order, from 0. It is the association table of mappings whose
/// destination keys follow the order of their source keys.
///
/// Keys are appended in ascending order, and can be looked up at any time in between. They are kept in chunks. A chunk has the
/// keys of one aligned range of 65,536, in one of four compact forms (``KeyContainer``), or up to 2,048 keys that lie far apart.
/// Dense keys take 0.13 bytes each, keys with one gap in 32 at most 0.07 bytes, keys without gaps nothing.
///
/// Memory: the allowance that the initializer gets for chunks, 8.25 KiB for the range being filled, 16 KiB for far keys, and a
/// directory of 48 bytes a chunk; in a large set a chunk has at least 1,024 keys on average. Above the allowance the chunks are
/// in a file, and those used last are decoded in memory.
/// Complexity: append O(1); lookup O(1) for keys of dense ranges, else O(log chunks), and decoding a block on a cache miss.
package final class KeyIndex {
    struct Chunk {
        var firstKey: Int64
        /// The number of keys in earlier chunks.
        var rank: Int
        var payload: UnsafeMutableRawPointer?
        /// The offset of its block; -1 while it is only in memory.
        var location: Int
        var bytes: Int32
        /// The slot in the cache of decoded chunks; -1 while it is in none.
        var slot: Int32
        var kind: KeyContainer
    }

    /// The fields that appends and lookups use. They are behind a pointer because run-time checks of exclusive access to a
    /// class's properties cost more than either operation (20 ns against 5 for an append).
    struct Hot {
        var count = 0
        var lastKey: Int64 = .min
        // The range being filled: a bitmap whose ranks are set as far as it is filled.
        var liveRange: Int64 = 0
        /// The smallest key in it. After a seal, smaller keys of the range are in a chunk.
        var liveFirst: Int64 = 0
        var liveCount = 0
        var liveBlock = -1
        var live: UnsafeMutableRawPointer?
        // Keys that lie too far apart for a range of their own.
        var far: UnsafeMutablePointer<Int64>?
        var farCount = 0
        var chunks: UnsafeMutablePointer<Chunk>
        var chunkCount = 0
        var chunkCapacity = 16
        var chunkedKeys = 0
        // For each range from the first one on, the last chunk that begins in it or before. Capacity 0: the table was given up.
        var rangeTable: UnsafeMutablePointer<Int32>
        var rangeTableCount = 0
        var rangeTableCapacity = 64
        var firstRange: Int64 = 0
        /// The present keys around the key that was looked up last by itself.
        var span = Span()
        /// Bitmaps of the first chunks that needed one: keys in random order switch from one chunk to another.
        var bitmaps: InlineArray<4, UnsafeMutableRawPointer?> = .init(repeating: nil)
    }

    let hot: UnsafeMutablePointer<Hot>

    /// The number of keys in the set.
    package var count: Int { hot.pointee.count }
    /// The largest key; undefined if the set is empty.
    package var lastKey: Int64 { hot.pointee.lastKey }
    var chunks: UnsafeMutablePointer<Chunk> { hot.pointee.chunks }
    var chunkCount: Int { hot.pointee.chunkCount }

    let directory: WorkDirectory
    let name: String
    let memory: Int
    var residentBytes = 0
    var file: BlockFile?
    /// The number of chunks that are in the file, or have nothing to write.
    var writtenChunks = 0
    var recency = RecencyList(capacity: 1)
    /// The chunk in each slot of the cache, -1 for none; no slots until the chunks are in a file.
    var slotChunks: [Int] = []
    let scratch = RawBuffer()
    let block = RawBuffer()

    /// Makes an empty set. It makes no file until the allowance is used up.
    ///
    /// - Parameters:
    ///   - memory: the allowance in bytes for chunks in memory.
    package init(directory: WorkDirectory, name: String, memory: Int) {
        precondition(memory >= 0)
        self.directory = directory
        self.name = name
        self.memory = memory
        hot = .allocate(capacity: 1)
        hot.initialize(to: Hot(chunks: .allocate(capacity: 16), rangeTable: .allocate(capacity: 64)))
    }

    deinit {
        for index in 0..<chunkCount { chunks[index].payload?.deallocate() }
        hot.pointee.chunks.deallocate()
        hot.pointee.rangeTable.deallocate()
        hot.pointee.live?.deallocate()
        hot.pointee.far?.deallocate()
        dropBitmaps()
        hot.deallocate()
    }

    /// The size in bytes of the chunks in memory and of their directory.
    package var bytesInMemory: Int { residentBytes + chunkCount * MemoryLayout<Chunk>.stride }

    /// Appends a key.
    ///
    /// - Precondition: it is larger than every key in the set.
    package func append(_ key: Int64) throws(MigrationError) {
        try withUnsafePointer(to: key) { pointer throws(MigrationError) in
            try append(contentsOf: UnsafeBufferPointer(start: pointer, count: 1))
        }
    }

    /// Appends keys.
    ///
    /// - Precondition: they ascend, and are larger than every key in the set.
    package func append(contentsOf keys: UnsafeBufferPointer<Int64>) throws(MigrationError) {
        let hot = hot
        var next = 0
        while next < keys.count {
            let range = keys[next] >> KeyContainer.rangeBits
            if hot.pointee.liveCount == 0 || range != hot.pointee.liveRange { try begin(range, with: keys[next]) }
            let bitmap = hot.pointee.live.unsafelyUnwrapped
            let words = bitmap.assumingMemoryBound(to: UInt64.self)
            let ranks = (bitmap + KeyContainer.bitmapWords * 8).assumingMemoryBound(to: UInt16.self)
            let first = next
            let before = hot.pointee.liveCount
            var (block, last) = (hot.pointee.liveBlock, hot.pointee.lastKey)
            var mayEqual = hot.pointee.count == 0
            while next < keys.count, keys[next] >> KeyContainer.rangeBits == range {
                let key = keys[next]
                precondition(key > last || mayEqual, "keys are appended in ascending order")
                mayEqual = false
                let offset = Int(key & 0xFFFF)
                if offset >> 9 != block {
                    block = offset >> 9
                    ranks[block] = UInt16(truncatingIfNeeded: before + next - first)
                }
                words[offset >> 6] |= 1 << UInt64(offset & 63)
                last = key
                next += 1
            }
            hot.pointee.liveBlock = block
            hot.pointee.lastKey = last
            hot.pointee.liveCount += next - first
            hot.pointee.count += next - first
        }
    }

    /// Closes the range being filled and the far keys, and puts them into their compact forms. Keys may still be appended.
    package func seal() throws(MigrationError) {
        try closeLive()
        try closeFar()
        hot.pointee.live?.deallocate()
        hot.pointee.live = nil
        hot.pointee.far?.deallocate()
        hot.pointee.far = nil
        assert(isConsistent, "chunks ascend, and their keys are all there are")
    }

    /// True if the directory of a sealed set agrees with its keys.
    private var isConsistent: Bool {
        for chunk in 0..<chunkCount {
            guard keysIn(chunk) > 0 else { return false }
            if chunk > 0, chunks[chunk].firstKey <= chunks[chunk - 1].firstKey { return false }
        }
        return hot.pointee.chunkedKeys == count && (chunkCount == 0 || chunks[0].rank == 0)
    }

    /// The key with a rank; nil if there are not as many keys.
    package func key(atRank rank: Int) throws(MigrationError) -> Int64? {
        var key: Int64 = 0
        let found = try withUnsafeMutablePointer(to: &key) { pointer throws(MigrationError) in
            try keys(fromRank: rank, into: UnsafeMutableBufferPointer(start: pointer, count: 1))
        }
        return found == 1 ? key : nil
    }

    /// Writes keys to a buffer in ascending order, beginning with the key of a rank. Returns the number of keys written, which is
    /// less than the buffer holds only at the end of the set.
    ///
    /// Call it again and again to iterate over the set. Keys may be appended in between.
    package func keys(fromRank rank: Int, into target: UnsafeMutableBufferPointer<Int64>) throws(MigrationError) -> Int
    {
        precondition(rank >= 0)
        guard let start = target.baseAddress else { return 0 }
        var done = 0
        var chunk = chunkHolding(rank: rank)
        while done < target.count, chunk < chunkCount, rank + done < hot.pointee.chunkedKeys {
            try load(chunk)
            let entry = chunks[chunk]
            done += entry.kind.fill(
                entry.payload, count: keysIn(chunk), base: entry.firstKey & ~0xFFFF, from: rank + done - entry.rank,
                into: start + done, limit: target.count - done)
            chunk += 1
        }
        if let far = hot.pointee.far, done < target.count, rank + done >= hot.pointee.chunkedKeys,
            rank + done < hot.pointee.chunkedKeys + hot.pointee.farCount
        {
            done += KeyContainer.sparse.fill(
                far, count: hot.pointee.farCount, base: 0, from: rank + done - hot.pointee.chunkedKeys,
                into: start + done,
                limit: target.count - done)
        }
        let liveRank = hot.pointee.chunkedKeys + hot.pointee.farCount
        if let live = hot.pointee.live, done < target.count, rank + done >= liveRank, rank + done < count {
            let wanted = min(target.count - done, count - rank - done)
            KeyContainer.fillFromBitmap(
                live, base: hot.pointee.liveRange << KeyContainer.rangeBits, from: rank + done - liveRank,
                into: start + done,
                wanted: wanted)
            done += wanted
        }
        return done
    }

    func keysIn(_ chunk: Int) -> Int {
        (chunk + 1 < chunkCount ? chunks[chunk + 1].rank : hot.pointee.chunkedKeys) - chunks[chunk].rank
    }

    // MARK: Lookup

    /// The rank of a key that lies far from others; -1 if there is none. ``range(of:)`` finds all other keys.
    @inline(__always)
    func findFar(_ key: Int64) throws(MigrationError) -> Int {
        guard count > 0, key <= lastKey else { return -1 }
        if hot.pointee.farCount > 0, let far = hot.pointee.far, key >= far[0] {
            let index = KeyContainer.lowerBound(far, count: hot.pointee.farCount, key)
            return index < hot.pointee.farCount && far[index] == key ? hot.pointee.chunkedKeys + index : -1
        }
        guard chunkCount > 0 else { return -1 }
        let chunk = chunkHolding(key, range: key >> KeyContainer.rangeBits)
        guard chunk >= 0, chunks[chunk].kind == .sparse else { return -1 }
        if chunks[chunk].slot >= 0 || chunks[chunk].payload == nil { try load(chunk) }
        guard let payload = chunks[chunk].payload else { return -1 }
        let index = KeyContainer.index(
            of: key, in: payload.assumingMemoryBound(to: Int64.self), count: keysIn(chunk))
        return index < 0 ? -1 : chunks[chunk].rank + index
    }

    /// Returns the index of the last chunk whose first key is not greater than the key; -1 if there is none.
    ///
    /// - Parameter range: the key without its lowest ``KeyContainer/rangeBits`` bits.
    @inline(__always)
    func chunkHolding(_ key: Int64, range: Int64) -> Int {
        if hot.pointee.rangeTableCapacity > 0 {
            guard range >= hot.pointee.firstRange else { return -1 }
            var chunk = Int(
                hot.pointee.rangeTable[min(Int(range - hot.pointee.firstRange), hot.pointee.rangeTableCount - 1)])
            while chunk >= 0 && chunks[chunk].firstKey > key { chunk -= 1 }
            return chunk
        }
        return lastChunk { $0.pointee.firstKey <= key }
    }

    private func chunkHolding(rank: Int) -> Int { max(0, lastChunk { $0.pointee.rank <= rank }) }

    /// The last chunk that begins early enough; -1 if there is none.
    @inline(__always)
    private func lastChunk(where beginsEarly: (UnsafeMutablePointer<Chunk>) -> Bool) -> Int {
        KeyContainer.partition(count: chunkCount) { beginsEarly(chunks + $0) } - 1
    }

    // MARK: Closing ranges

    private func begin(_ range: Int64, with key: Int64) throws(MigrationError) {
        try closeLive()
        if hot.pointee.live == nil {
            let bitmap = UnsafeMutableRawPointer.allocate(byteCount: KeyContainer.bitmapBytes, alignment: 8)
            bitmap.initializeMemory(as: UInt8.self, repeating: 0, count: KeyContainer.bitmapBytes)
            hot.pointee.live = bitmap
        }
        hot.pointee.liveRange = range
        hot.pointee.liveFirst = key
        hot.pointee.liveBlock = -1
    }

    private func closeLive() throws(MigrationError) {
        guard hot.pointee.liveCount > 0, let live = hot.pointee.live else { return }
        if hot.pointee.liveCount >= KeyContainer.fewestInRange {
            try closeFar()
            let made = KeyContainer.make(live, count: hot.pointee.liveCount)
            let words = live.assumingMemoryBound(to: UInt64.self)
            var word = 0
            while words[word] == 0 { word += 1 }
            let first =
                hot.pointee.liveRange << KeyContainer.rangeBits + Int64(word * 64 + words[word].trailingZeroBitCount)
            let inChunk = hot.pointee.liveCount
            words.update(repeating: 0, count: KeyContainer.bitmapWords)
            hot.pointee.liveCount = 0
            try add(made.kind, payload: made.payload, bytes: made.bytes, firstKey: first, keys: inChunk)
            return
        }
        // Clear only words that have bits: keys that lie far apart come here one by one, and the bitmap has 1,024 words.
        let words = live.assumingMemoryBound(to: UInt64.self)
        let base = hot.pointee.liveRange << KeyContainer.rangeBits
        var word = Int(lastKey & 0xFFFF) >> 6
        var left = hot.pointee.liveCount
        let last = word
        while left > 0 {
            left -= words[word].nonzeroBitCount
            if left > 0 { word -= 1 }
        }
        while word <= last {
            while words[word] != 0 {
                if hot.pointee.farCount == KeyContainer.mostSparse { try closeFar() }
                let keys = hot.pointee.far ?? .allocate(capacity: KeyContainer.mostSparse)
                hot.pointee.far = keys
                keys[hot.pointee.farCount] = base + Int64(word * 64 + words[word].trailingZeroBitCount)
                hot.pointee.farCount += 1
                hot.pointee.liveCount -= 1
                words[word] &= words[word] &- 1
            }
            word += 1
        }
    }

    private func closeFar() throws(MigrationError) {
        guard hot.pointee.farCount > 0, let far = hot.pointee.far else { return }
        let bytes = hot.pointee.farCount * 8
        let payload = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 8)
        payload.copyMemory(from: far, byteCount: bytes)
        let keys = hot.pointee.farCount
        hot.pointee.farCount = 0
        try add(.sparse, payload: payload, bytes: bytes, firstKey: far[0], keys: keys)
    }

    private func add(
        _ kind: KeyContainer, payload: UnsafeMutableRawPointer?, bytes: Int, firstKey: Int64, keys: Int
    ) throws(MigrationError) {
        enter(kind, payload: payload, location: -1, bytes: bytes, firstKey: firstKey, keys: keys)
        try spillIfNeeded()
    }

    /// Adds a chunk to the directory.
    ///
    /// - Parameter location: the offset of its block; -1 if it is in memory.
    func enter(
        _ kind: KeyContainer, payload: UnsafeMutableRawPointer?, location: Int, bytes: Int, firstKey: Int64, keys: Int
    ) {
        if chunkCount == hot.pointee.chunkCapacity {
            let larger = UnsafeMutablePointer<Chunk>.allocate(capacity: hot.pointee.chunkCapacity * 2)
            larger.update(from: chunks, count: chunkCount)
            chunks.deallocate()
            hot.pointee.chunks = larger
            hot.pointee.chunkCapacity *= 2
        }
        (chunks + chunkCount).initialize(
            to: Chunk(
                firstKey: firstKey, rank: hot.pointee.chunkedKeys, payload: payload, location: location,
                bytes: Int32(bytes), slot: -1, kind: kind))
        hot.pointee.chunkCount += 1
        hot.pointee.chunkedKeys += keys
        if location < 0 { residentBytes += bytes }
        enterRangeTable(firstKey >> KeyContainer.rangeBits)
    }

    /// Ends a restore: the set has exactly the keys of the chunks that were entered.
    func endRestoring(lastKey: Int64) {
        hot.pointee.count = hot.pointee.chunkedKeys
        hot.pointee.lastKey = lastKey
    }

    private func enterRangeTable(_ range: Int64) {
        guard hot.pointee.rangeTableCapacity > 0 else { return }
        if chunkCount == 1 { hot.pointee.firstRange = range }
        let (distance, overflow) = range.subtractingReportingOverflow(hot.pointee.firstRange)
        // For keys far apart the table would be longer than the directory. It is given up, and lookups use binary search.
        guard !overflow, distance < chunkCount * 4 + 4096 else {
            hot.pointee.rangeTable.deallocate()
            hot.pointee.rangeTableCapacity = 0
            hot.pointee.rangeTable = .allocate(capacity: 1)
            return
        }
        let index = Int(distance)
        if index >= hot.pointee.rangeTableCapacity {
            let capacity = max(index + 1, hot.pointee.rangeTableCapacity * 2)
            let larger = UnsafeMutablePointer<Int32>.allocate(capacity: capacity)
            larger.update(from: hot.pointee.rangeTable, count: hot.pointee.rangeTableCount)
            hot.pointee.rangeTable.deallocate()
            hot.pointee.rangeTable = larger
            hot.pointee.rangeTableCapacity = capacity
        }
        while hot.pointee.rangeTableCount < index {
            hot.pointee.rangeTable[hot.pointee.rangeTableCount] = Int32(chunkCount - 2)
            hot.pointee.rangeTableCount += 1
        }
        hot.pointee.rangeTable[index] = Int32(chunkCount - 1)
        hot.pointee.rangeTableCount = index + 1
    }
}
