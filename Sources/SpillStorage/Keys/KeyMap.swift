import Diagnostics

/// A map from ascending keys to keys: the keys are a ``KeyIndex``, and their values lie in order of the keys, in blocks.
///
/// Keys are appended in ascending order. Values can be looked up at any time in between.
///
/// Memory: half the allowance for the keys; half for decoded blocks of values; 8 bytes for each block of 1,024 values, and two
/// blocks. Above the allowance the rest is on disk.
/// Complexity: append O(1); lookup as in ``KeyIndex``, and decoding a block on a cache miss.
package final class KeyMap {
    private static let valuesPerBlock = 1024

    private let keys: KeyIndex
    private let directory: WorkDirectory
    private let name: String
    /// The number of decoded blocks that the allowance has room for.
    private let slots: Int
    private var file: BlockFile?
    private var offsets: [Int] = []
    /// The values of the block being filled.
    @exclusivity(unchecked) private var open: UnsafeMutablePointer<UInt64>
    @exclusivity(unchecked) private var openCount = 0
    /// The decoded blocks. A block has the slot of its number modulo the number of slots.
    @exclusivity(unchecked) private var decoded: [Int: Decoded] = [:]
    /// The block of the last lookup, because neighbouring keys are mostly looked up together.
    @exclusivity(unchecked) private var recent: Decoded?
    private let packed = RawBuffer()
    private let scratch = RawBuffer()

    /// The number of keys.
    package var count: Int { keys.count }

    /// The values of one block.
    private final class Decoded {
        var number: Int
        let values: UnsafeMutablePointer<UInt64>

        init(_ number: Int) {
            self.number = number
            values = .allocate(capacity: KeyMap.valuesPerBlock)
        }

        deinit { values.deallocate() }
    }

    /// Makes an empty map. It makes no file until it has a block of values and its keys use up their half of the allowance.
    ///
    /// - Parameter memory: the allowance in bytes; room for four blocks is used at least.
    package init(directory: WorkDirectory, name: String, memory: Int) {
        self.directory = directory
        self.name = name
        keys = KeyIndex(directory: directory, name: name, memory: memory / 2)
        slots = max(4, memory / 2 / (Self.valuesPerBlock * 8))
        open = .allocate(capacity: Self.valuesPerBlock)
    }

    deinit { open.deallocate() }

    /// Adds a key, which must be greater than all others.
    package func append(_ key: Int64, _ value: Int64) throws(MigrationError) {
        if openCount == Self.valuesPerBlock { try close() }
        try keys.append(key)
        open[openCount] = UInt64(bitPattern: value)
        openCount += 1
    }

    /// Ends the additions; more may follow later.
    package func seal() throws(MigrationError) { try keys.seal() }

    /// Writes the block being filled.
    private func close() throws(MigrationError) {
        let target: BlockFile
        if let file {
            target = file
        } else {
            target = try BlockFile(directory: directory, named: name, kind: .records, scratch: scratch)
            file = target
        }
        ColumnCodec.encode(open, count: openCount, width: 1, into: packed)
        offsets.append(try target.append(packed.bytes))
        openCount = 0
    }

    /// Returns the value of a key; nil if the key is not in the map.
    package func value(of key: Int64) throws(MigrationError) -> Int64? {
        guard let rank = try keys.rank(of: key) else { return nil }
        return Int64(bitPattern: try value(atRank: rank))
    }

    private func value(atRank rank: Int) throws(MigrationError) -> UInt64 {
        let (block, place) = (rank / Self.valuesPerBlock, rank % Self.valuesPerBlock)
        if let recent, recent.number == block { return recent.values[place] }
        guard block < offsets.count else { return open[place] }
        let found = try decodedBlock(block)
        recent = found
        return found.values[place]
    }

    private func decodedBlock(_ block: Int) throws(MigrationError) -> Decoded {
        let slot = block % slots
        let space = decoded[slot] ?? Decoded(-1)
        if space.number == block { return space }
        // If the read fails, no block is in the slot.
        space.number = -1
        try read(block, into: space.values)
        space.number = block
        decoded[slot] = space
        return space
    }

    private func read(_ block: Int, into values: UnsafeMutablePointer<UInt64>) throws(MigrationError) {
        guard let file else { return }
        let next = block + 1 < offsets.count ? offsets[block + 1] : file.end
        try file.read(at: offsets[block], next: next, into: packed)
        guard
            ColumnCodec.decode(packed.bytes, width: 1, into: values, capacity: Self.valuesPerBlock)
                == Self.valuesPerBlock
        else { throw file.damaged(offsets[block], "its values do not unpack") }
    }

    /// Returns a walk over the keys that are in the map now.
    package func walk() -> Walk { Walk(self) }

    /// Reads keys with their values, ascending. It holds a ``KeyWalk``, and keeps the map alive.
    package final class Walk {
        private let map: KeyMap
        private let keys: KeyWalk

        fileprivate init(_ map: KeyMap) {
            self.map = map
            keys = KeyWalk(map.keys)
        }

        /// Returns the next key with its value; nil at the end.
        package func next() throws(MigrationError) -> (key: Int64, value: Int64)? {
            guard let (key, rank) = try keys.next() else { return nil }
            return (key, Int64(bitPattern: try map.value(atRank: rank)))
        }
    }

    /// Frees the memory of decoded blocks and writes the keys to disk. Keys may still be appended.
    package func park() throws(MigrationError) {
        recent = nil
        decoded = [:]
        try keys.park()
    }
}
