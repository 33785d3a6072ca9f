import Diagnostics

/// A sorted stream of records: the blocks of a run, or records in memory.
///
/// Memory: one block, or the records it was given. It keeps the run, and so its file, alive.
final class RecordSource {
    private let run: SortedRecordFile?
    private let isOnlyReading: Bool
    private var nextBlock: Int
    private let endBlock: Int
    private let space: UnsafeMutablePointer<UInt64>
    /// The owner of the space; nil if the source owns it itself.
    private let buffer: SortBuffer?
    @exclusivity(unchecked) private(set) var start: UnsafePointer<UInt64>
    /// The number of records from `start` on.
    @exclusivity(unchecked) private(set) var count: Int

    /// Makes a stream of the blocks of a run as it is now.
    ///
    /// - Parameter isOnlyReading: true if nobody else reads them; a block that was read is then given back to the disk.
    init(run: SortedRecordFile, from block: Int = 0, isOnlyReading: Bool = false) {
        self.run = run
        self.isOnlyReading = isOnlyReading
        nextBlock = block
        endBlock = run.blockCount
        space = .allocate(capacity: max(1, run.recordsPerBlock * run.width))
        buffer = nil
        start = UnsafePointer(space)
        count = 0
    }

    private init(_ space: UnsafeMutablePointer<UInt64>, of buffer: SortBuffer?, count: Int) {
        run = nil
        isOnlyReading = false
        (nextBlock, endBlock) = (0, 0)
        self.space = space
        self.buffer = buffer
        start = UnsafePointer(space)
        self.count = count
    }

    /// Makes a stream of sorted records and takes over their memory.
    convenience init(taking records: SortBuffer, count: Int) { self.init(records.words, of: records, count: count) }

    /// Makes a stream of a copy of sorted records.
    convenience init(copying records: UnsafePointer<UInt64>, count: Int, width: Int) {
        let space = UnsafeMutablePointer<UInt64>.allocate(capacity: max(1, count * width))
        space.update(from: records, count: count * width)
        self.init(space, of: nil, count: count)
    }

    deinit { if buffer == nil { space.deallocate() } }

    /// Reads the next block. Returns false at the end.
    func refill() throws(MigrationError) -> Bool {
        guard let run, nextBlock < endBlock else { return false }
        count = try run.read(nextBlock, into: space)
        start = UnsafePointer(space)
        nextBlock += 1
        if isOnlyReading { try run.discard(before: nextBlock) }
        return true
    }

    /// Skips the records before a prefix. Call it before any record was taken.
    func skip(before prefix: UnsafePointer<UInt64>, words: Int, width: Int) throws(MigrationError) {
        while true {
            let skipped = RecordOrder.lowerBound(
                start, count: count, width: width, prefix: prefix, words: words)
            start += skipped * width
            count -= skipped
            if count > 0 { return }
            guard try refill() else { return }
        }
    }
}

/// Merges sorted streams: the least record comes next; of equal ones, that of the earlier stream.
///
/// Memory: 40 bytes a stream, and the streams' blocks.
/// Complexity: O(log streams) a record.
struct RecordMerger: ~Copyable {
    private struct Head {
        var key: UInt64
        var next: UnsafePointer<UInt64>
        var end: UnsafePointer<UInt64>
        var source: Int
    }

    private let sources: [RecordSource]
    private let width: Int
    private let heads: UnsafeMutablePointer<Head>
    private var count = 0
    private var isStarted = false

    init(_ sources: [RecordSource], width: Int) {
        self.sources = sources
        self.width = width
        heads = .allocate(capacity: max(1, sources.count))
    }

    deinit { heads.deallocate() }

    /// The least record that is left; nil at the end. It is valid until the next call of ``advance()``.
    @inline(__always)
    mutating func current() throws(MigrationError) -> UnsafePointer<UInt64>? {
        if !isStarted { try start() }
        return count > 0 ? heads[0].next : nil
    }

    @inline(__always)
    mutating func advance() throws(MigrationError) {
        let next = heads[0].next + width
        if next != heads[0].end {
            heads[0].next = next
            heads[0].key = next[0]
        } else if try sources[heads[0].source].refill() {
            fillHead(0, sources[heads[0].source])
        } else {
            count -= 1
            heads[0] = heads[count]
        }
        if count > 1 { sink(0) }
    }

    /// The next records, as many as are known to be next; nil at the end. They are valid until they are passed.
    mutating func chunk() throws(MigrationError) -> (records: UnsafePointer<UInt64>, count: Int)? {
        guard let first = try current() else { return nil }
        return (first, count == 1 ? (heads[0].end - first) / width : 1)
    }

    /// Moves past records of a ``chunk()``.
    mutating func pass(_ records: Int) throws(MigrationError) {
        precondition(records == 1 || count == 1)
        heads[0].next += (records - 1) * width
        try advance()
    }

    private mutating func start() throws(MigrationError) {
        for (index, source) in sources.enumerated() {
            if source.count == 0 {
                guard try source.refill() else { continue }
            }
            (heads + count).initialize(
                to: Head(key: 0, next: source.start, end: source.start, source: index))
            fillHead(count, source)
            count += 1
        }
        for index in stride(from: count / 2 - 1, through: 0, by: -1) { sink(index) }
        isStarted = true
    }

    private func fillHead(_ index: Int, _ source: RecordSource) {
        heads[index].next = source.start
        heads[index].end = source.start + source.count * width
        heads[index].key = source.start[0]
    }

    @inline(__always)
    private func precedes(_ left: Int, _ right: Int) -> Bool {
        if heads[left].key != heads[right].key { return heads[left].key < heads[right].key }
        let (leftNext, rightNext) = (heads[left].next, heads[right].next)
        for word in 1..<max(1, width) where leftNext[word] != rightNext[word] {
            return leftNext[word] < rightNext[word]
        }
        return heads[left].source < heads[right].source
    }

    private func sink(_ start: Int) {
        var index = start
        while true {
            var least = index
            let left = 2 * index + 1
            if left < count && precedes(left, least) { least = left }
            if left + 1 < count && precedes(left + 1, least) { least = left + 1 }
            if least == index { return }
            swap(&heads[index], &heads[least])
            index = least
        }
    }
}
