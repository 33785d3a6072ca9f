import Diagnostics

/// The offsets of a sorted run's blocks in its file, and the first words of each block.
///
/// The entries of the last blocks are in memory. Earlier entries are in pages of a second file; the pages' offsets are in an
/// index of the same kind, and so on. So the index of a run of gigabytes takes little more memory than that of a run of 8 MB,
/// and the indexes of a hundred runs take no more than one batch of rows.
///
/// Memory: for each level one page, and one entry (8 bytes and the words) for each of up to ``kept`` + ``pageEntries`` blocks.
/// There is one level more for every ``pageEntries`` times as many blocks.
final class BlockIndex {
    /// The number of the last entries that stay in memory when earlier ones are written to a page.
    static let kept = 64
    static let pageEntries = 64

    private let words: Int
    /// The number of words in an entry: the block's first words, and its offset.
    private let width: Int
    private let place: RunPlace
    private var file: BlockFile?
    // Only one thread uses an index. Checks of exclusive access would be made in every lookup.
    /// The first entry and the offset of each page; nil before the first page.
    @exclusivity(unchecked) private var pages: BlockIndex?
    @exclusivity(unchecked) private var tail: [UInt64] = []
    private let page = RawBuffer()
    @exclusivity(unchecked) private var loaded = -1
    /// The number of entries in pages, kept because every lookup asks for it.
    @exclusivity(unchecked) private var paged = 0

    /// Makes an empty index. It makes no file until there are ``kept`` + ``pageEntries`` entries.
    ///
    /// - Parameters:
    ///   - words: the number of words of a block's first record to keep.
    ///   - place: the place of the run; the index's pages go to a file named after the run's.
    init(words: Int, beside place: RunPlace) {
        self.words = words
        width = words + 1
        self.place = place
    }

    var count: Int { paged + tail.count / width }

    func append(offset: Int, first: UnsafePointer<UInt64>) throws(MigrationError) {
        for word in 0..<words { tail.append(first[word]) }
        tail.append(UInt64(truncatingIfNeeded: offset))
        if tail.count >= (Self.kept + Self.pageEntries) * width { try writePage() }
    }

    /// The offset of a block.
    ///
    /// - Throws: `spill.damaged`, `spill.io` (74); so do all lookups here.
    func offset(_ block: Int) throws(MigrationError) -> Int {
        try withEntry(block) { Int(truncatingIfNeeded: $0[words]) }
    }

    func firstWord(_ block: Int) throws(MigrationError) -> UInt64 { try withEntry(block) { $0[0] } }

    func begins(_ block: Int, after prefix: UnsafePointer<UInt64>, words compared: Int) throws(MigrationError) -> Bool {
        try withEntry(block) { RecordOrder.isLess(prefix, $0, words: compared) }
    }

    /// The first block that does not begin before some words; ``count`` if all begin before.
    ///
    /// - Complexity: O(log count), and a page read from the disk unless it is the page read last.
    func lowerBound(_ prefix: UnsafePointer<UInt64>, words compared: Int) throws(MigrationError) -> Int {
        guard let pages, tail.isEmpty || !isTailBefore(prefix, compared) else {
            return tail.withUnsafeBufferPointer { entries in
                guard let start = entries.baseAddress else { return paged }
                return paged
                    + RecordOrder.lowerBound(
                        start, count: entries.count / width, width: width, prefix: prefix, words: compared)
            }
        }
        let after = try pages.lowerBound(prefix, words: compared)
        guard after > 0 else { return 0 }
        try load(after - 1)
        return (after - 1) * Self.pageEntries
            + RecordOrder.lowerBound(
                page.start.assumingMemoryBound(to: UInt64.self), count: Self.pageEntries, width: width, prefix: prefix,
                words: compared)
    }

    /// Writes the index's state, or restores it: this index must be empty. Later entries are added as if it had never been saved.
    ///
    /// - Parameter levels: the most levels of pages to accept; eight hold more blocks than a disk has.
    func code(with coder: inout StateCoder, levels: Int = 8) throws(MigrationError) {
        try coder.code(&tail)
        var hasPages = pages != nil
        try coder.code(&hasPages)
        guard tail.count % width == 0, levels > 0 || !hasPages else { throw StateReader.damaged("an index of blocks") }
        guard hasPages else { return }
        if coder.isReading {
            file = try BlockFile(directory: place.directory, restoring: &coder, kind: .index, scratch: place.scratch)
            pages = BlockIndex(words: words, beside: place)
        } else {
            file?.save(to: &coder)
        }
        try pages?.code(with: &coder, levels: levels - 1)
        paged = (pages?.count ?? 0) * Self.pageEntries
    }

    private func isTailBefore(_ prefix: UnsafePointer<UInt64>, _ compared: Int) -> Bool {
        tail.withUnsafeBufferPointer { entries in
            entries.baseAddress.map { RecordOrder.isLess($0, prefix, words: compared) } ?? false
        }
    }

    private func withEntry<Result>(
        _ block: Int, _ body: (UnsafePointer<UInt64>) -> Result
    ) throws(MigrationError) -> Result {
        precondition(block >= 0 && block < count, "a block that the run has")
        if block >= paged {
            return tail.withUnsafeBufferPointer { entries in
                guard let start = entries.baseAddress else { preconditionFailure("the tail holds the block") }
                return body(start + (block - paged) * width)
            }
        }
        try load(block / Self.pageEntries)
        return body(page.start.assumingMemoryBound(to: UInt64.self) + block % Self.pageEntries * width)
    }

    private func load(_ number: Int) throws(MigrationError) {
        guard number != loaded, let file, let pages else { return }
        loaded = -1
        let offset = try pages.offset(number)
        let next = number + 1 < pages.count ? try pages.offset(number + 1) : file.end
        try file.read(at: offset, next: next, into: page)
        guard page.count == Self.pageEntries * width * 8 else {
            throw file.damaged(offset, "it is no page of an index")
        }
        loaded = number
    }

    /// Moves the first entries in memory to a page of the file.
    private func writePage() throws(MigrationError) {
        if file == nil {
            file = try BlockFile(
                directory: place.directory, named: place.name + "-index", kind: .index, scratch: place.scratch)
            pages = BlockIndex(words: words, beside: place)
        }
        guard let file, let pages else { return }
        let taken = Self.pageEntries * width
        page.count = 0
        page.ensure(taken * 8)
        tail.withUnsafeBytes { entries in
            if let start = entries.baseAddress { page.start.copyMemory(from: start, byteCount: taken * 8) }
        }
        page.count = taken * 8
        loaded = -1
        let offset = try file.append(page.bytes)
        loaded = pages.count
        try pages.append(offset: offset, first: page.start.assumingMemoryBound(to: UInt64.self))
        tail.removeFirst(taken)
        paged += Self.pageEntries
    }
}
