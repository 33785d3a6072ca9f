import Diagnostics

/// Sorts any number of records of 1 to 8 words out of core: append them, then call ``finish()``.
///
/// The order is unsigned and lexicographic; ``SortKey`` turns an Int64 into a word. Records gather in memory. When the
/// allowance is used up, they are sorted and written as a run. Once there are as many runs of a level as fit the allowance,
/// they are merged into one, so that few files are open at any time.
///
/// Memory: the allowance, shared by the records and as much scratch space; then a block for each run being merged.
/// Complexity: O(n log n) time; on disk the packed records once, because a merge gives back what it has read.
package final class RecordSorter {
    /// The treatment of records that are equal in all words.
    package enum Duplicates: Sendable {
        case kept
        case dropped
    }

    /// The size in bytes from which malloc maps a block by itself; see ``ProcessMemory/returnFreedBlocks()``.
    private static let mapped = 128 << 10

    private let directory: WorkDirectory
    private let name: String
    private let width: Int
    private let memory: Int
    private let duplicates: Duplicates
    private let recordsPerBlock: Int
    private let most: Int
    /// The number of runs merged at once.
    private let fanIn: Int
    // Only one thread appends. Checks of exclusive access would cost as much as the append itself.
    @exclusivity(unchecked) private var records: UnsafeMutablePointer<UInt64>
    /// The owner of the records' memory.
    private var buffer: SortBuffer
    /// The shared memory from which large buffers are taken; nil: from the system.
    private let space: SortSpace?
    private let ascendingBits: [Int]
    @exclusivity(unchecked) private var capacity: Int
    @exclusivity(unchecked) private var gathered = 0
    private var sortSpace: SortBuffer?
    private var sortSpaceCapacity = 0
    private var runs: [SortedRecordFile] = []
    private let scratch = RawBuffer()
    private let block = RawBuffer()
    /// The number of records appended.
    @exclusivity(unchecked) package private(set) var appended = 0

    /// Makes an empty sorter. It makes no file until the allowance is used up.
    ///
    /// - Parameters:
    ///   - memory: the allowance in bytes; 64 KiB are used at least.
    ///   - space: memory shared with sorters that run before or after this one; nil: memory of its own.
    ///   - ascendingBits: numbers of the records' last bits that may ascend as they are appended, which saves sorting by them;
    ///     1 to 63 each, the likeliest first.
    package init(
        directory: WorkDirectory, name: String, width: Int, memory: Int, duplicates: Duplicates = .kept,
        space: SortSpace? = nil, ascendingBits: [Int] = [32]
    ) {
        precondition(width >= 1 && width <= 8 && memory >= 0)
        precondition(ascendingBits.allSatisfy { (1..<64).contains($0) })
        self.ascendingBits = ascendingBits
        self.directory = directory
        self.name = name
        self.width = width
        self.memory = max(memory, 64 * 1024)
        self.duplicates = duplicates
        let recordBytes = width * 8
        recordsPerBlock = max(16, min(64 * 1024, self.memory / 16) / recordBytes)
        most = max(64, (self.memory - 4 * recordsPerBlock * recordBytes) / (2 * recordBytes))
        fanIn = max(2, min(64, self.memory / (recordsPerBlock * recordBytes) - 3))
        self.space = space
        capacity = min(256, most)
        buffer = SortBuffer(words: capacity * width)
        records = buffer.words
    }

    /// Adds a record of ``width`` words.
    package func append(_ record: UnsafePointer<UInt64>) throws(MigrationError) {
        let place = try room()
        for word in 0..<width { place[word] = record[word] }
    }

    /// Adds records that the caller writes in place.
    ///
    /// - Parameters:
    ///   - most: the largest number of records to add.
    ///   - fill: receives room for one record at least, and returns the number of records that it wrote. It is called again if
    ///     it used all the room and more records may follow.
    package func append(
        upTo most: Int, fill: (_ room: UnsafeMutablePointer<UInt64>, _ count: Int) throws(MigrationError) -> Int
    ) throws(MigrationError) {
        var left = most
        while left > 0 {
            if gathered == capacity { try grow() }
            let room = min(left, capacity - gathered)
            let written = try fill(records + gathered * width, room)
            precondition(written >= 0 && written <= room)
            gathered += written
            appended += written
            left -= room
        }
    }

    /// Adds a record of two to eight words; those beyond ``width`` are left out.
    package func append(
        _ first: UInt64, _ second: UInt64, _ third: UInt64 = 0, _ fourth: UInt64 = 0, _ fifth: UInt64 = 0,
        _ sixth: UInt64 = 0, _ seventh: UInt64 = 0, _ eighth: UInt64 = 0
    ) throws(MigrationError) {
        precondition(width >= 2)
        let place = try room()
        (place[0], place[1]) = (first, second)
        if width == 2 { return }
        place[2] = third
        if width > 3 { place[3] = fourth }
        if width > 4 { place[4] = fifth }
        if width > 5 { place[5] = sixth }
        if width > 6 { place[6] = seventh }
        if width > 7 { place[7] = eighth }
    }

    /// Sorts the records in memory and returns all records in order. The sorter is empty afterwards and can be filled again.
    package func finish() throws(MigrationError) -> SortedRecords {
        if !runs.isEmpty && gathered > 0 { try spill() }
        defer { dropSortSpace() }
        let sources: [RecordSource]
        if runs.isEmpty {
            buffer.trim(words: gathered * width)
            sortGathered()
            dropSortSpace()
            sources = [RecordSource(taking: buffer, count: gathered)]
            beginSmall()
        } else {
            shrink()
            while runs.count > fanIn { try mergeNewest(min(fanIn, runs.count - fanIn + 1)) }
            sources = runs.map { RecordSource(run: $0, isOnlyReading: true) }
        }
        let sorted = SortedRecords(sources, width: width, count: appended, dropsDuplicates: duplicates == .dropped)
        runs.removeAll()
        gathered = 0
        appended = 0
        return sorted
    }

    @inline(__always)
    private func room() throws(MigrationError) -> UnsafeMutablePointer<UInt64> {
        if gathered == capacity { try grow() }
        let place = records + gathered * width
        gathered += 1
        appended += 1
        return place
    }

    private func grow() throws(MigrationError) {
        if capacity == most { try spill() } else { enlarge() }
    }

    private func enlarge() {
        // Mapped memory costs nothing before it is touched, but to touch it costs as much as to copy the records. So from the
        // size at which malloc maps, take room for all records at once and copy only once more.
        let larger = capacity * 4 * width * 8 >= Self.mapped ? most : min(most, capacity * 4)
        let made = SortBuffer(words: larger * width, of: larger == most ? space : nil)
        made.words.update(from: records, count: gathered * width)
        buffer = made
        records = made.words
        capacity = larger
    }

    /// Frees the buffer and takes the small one that a sorter begins with.
    private func beginSmall() {
        capacity = min(256, most)
        buffer = SortBuffer(words: capacity * width)
        records = buffer.words
    }

    private func sortGathered() {
        // The scratch space is kept from one run to the next: to touch fresh memory costs as much as a pass of the sort.
        if sortSpaceCapacity < gathered * width {
            sortSpace = nil
            sortSpaceCapacity = gathered * width
            let isLarge = sortSpaceCapacity * 8 >= Self.mapped
            sortSpace = SortBuffer(words: sortSpaceCapacity, of: isLarge ? space : nil)
        }
        if let sortSpace {
            RecordOrder.sort(
                records, scratch: sortSpace.words, count: gathered, width: width, ascendingBits: ascendingBits)
        }
        guard duplicates == .dropped, gathered > 1 else { return }
        var kept = 1
        for index in 1..<gathered {
            let record = records + index * width
            if RecordOrder.isEqual(record, records + (kept - 1) * width, words: width) { continue }
            if kept != index { (records + kept * width).update(from: record, count: width) }
            kept += 1
        }
        gathered = kept
    }

    private func dropSortSpace() {
        sortSpace = nil
        sortSpaceCapacity = 0
    }

    private func spill() throws(MigrationError) {
        sortGathered()
        try runs.append(sorted: records, count: gathered) { () throws(MigrationError) in try newRun(level: 0) }
        gathered = 0
        while runs.areDue(fanIn) {
            shrink()
            try mergeNewest(fanIn)
        }
    }

    /// Frees the records' memory: the blocks of a merge need it.
    private func shrink() {
        dropSortSpace()
        beginSmall()
    }

    private func mergeNewest(_ number: Int) throws(MigrationError) {
        try runs.mergeNewest(number, isOnlyReading: true) { level throws(MigrationError) in try newRun(level: level) }
    }

    private func newRun(level: Int) throws(MigrationError) -> SortedRecordFile {
        try SortedRecordFile(
            RunPlace(directory: directory, name: name, kind: .records, scratch: scratch), width: width, indexWords: 0,
            recordsPerBlock: recordsPerBlock, number: 0, level: level, block: block)
    }
}

/// The records of a ``RecordSorter``, in order, to be read once.
///
/// Memory: a block for each run that is merged, or the records if they all fit in memory. Its files are removed with it.
package final class SortedRecords {
    /// The number of records appended. As many come if duplicates are kept, at most as many if they are dropped.
    package let count: Int
    private let width: Int
    private let dropsDuplicates: Bool
    @exclusivity(unchecked) private var merger: RecordMerger
    private let previous: UnsafeMutablePointer<UInt64>
    private var hasPrevious = false

    init(_ sources: [RecordSource], width: Int, count: Int, dropsDuplicates: Bool) {
        self.count = count
        self.width = width
        self.dropsDuplicates = dropsDuplicates
        merger = RecordMerger(sources, width: width)
        previous = .allocate(capacity: width)
    }

    deinit { previous.deallocate() }

    /// Passes all remaining records to a closure, some at a time, until it returns false.
    ///
    /// - Precondition: duplicates are kept.
    /// - Throws: `spill.damaged`, `spill.io` (74), and what `body` throws.
    package func forEachChunk(
        _ body: (_ records: UnsafePointer<UInt64>, _ count: Int) throws(MigrationError) -> Bool
    ) throws(MigrationError) {
        precondition(!dropsDuplicates)
        while let (records, count) = try merger.chunk() {
            guard try body(records, count) else { return }
            try merger.pass(count)
        }
    }

    /// Copies the next record. Returns false at the end.
    package func next(into target: UnsafeMutablePointer<UInt64>) throws(MigrationError) -> Bool {
        if !dropsDuplicates, width <= 2 {
            guard let record = try merger.current() else { return false }
            target[0] = record[0]
            if width == 2 { target[1] = record[1] }
            try merger.advance()
            return true
        }
        while let record = try merger.current() {
            let isDuplicate =
                dropsDuplicates && hasPrevious && RecordOrder.isEqual(record, previous, words: width)
            if !isDuplicate {
                for word in 0..<width { target[word] = record[word] }
                if dropsDuplicates {
                    previous.update(from: record, count: width)
                    hasPrevious = true
                }
            }
            try merger.advance()
            if !isDuplicate { return true }
        }
        return false
    }
}
