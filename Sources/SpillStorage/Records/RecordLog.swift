import Diagnostics
import Glibc

/// Records of fixed width that are appended in any order and can be read in order at any time in between.
///
/// This is a log-structured merge tree of a multiset. Records gather in memory, in sorted segments whose sizes double. A full
/// buffer is written as a sorted run on disk, or appended to the last run if the records come in order. Eight runs of a level
/// are merged into one of the next level. A later record replaces nothing: a caller that needs the order of appending puts a
/// sequence number in a word.
///
/// Memory: its share of a ``RecordMemory``, for records, scratch space and unpacked blocks; 16 to 24 bytes for each block of
/// about 1,024 records; at most seven runs a level.
/// Complexity: an append takes O(log n) amortised; a lookup takes a binary search in each run, and unpacks a block on a cache
/// miss.
package final class RecordLog {
    /// The number of runs of a level that are merged into one of the next.
    private let runsOfLevel: Int
    package let width: Int
    private let directory: WorkDirectory
    private let name: String
    private let indexWords: Int
    private var recordsPerBlock: Int
    private let memory: RecordMemory
    // Only one thread appends. Checks of exclusive access would cost as much as the append itself.
    @exclusivity(unchecked) private var records: UnsafeMutablePointer<UInt64>?
    /// The number of records that the buffer has room for.
    @exclusivity(unchecked) private var capacity = 0
    @exclusivity(unchecked) private var gathered = 0
    /// The ends of the sorted segments in memory; records after the last one are not sorted.
    private var segmentEnds: [Int] = []
    /// The runs, oldest first; levels never rise towards newer runs.
    private(set) var runs: [SortedRecordFile] = []
    /// The number of records in the log.
    @exclusivity(unchecked) package private(set) var count = 0

    /// Makes an empty log. It makes no file until the memory is used up.
    ///
    /// - Parameters:
    ///   - indexWords: the number of words of each block's first record that are held in memory. Lookups by a longer prefix are
    ///     slower if these words are equal.
    ///   - runsOfLevel: the number of runs merged at a time, 2 or more. A larger number writes records less often, but a cursor
    ///     then holds more blocks, one for each run.
    package init(
        directory: WorkDirectory, name: String, width: Int, indexWords: Int, memory: RecordMemory, runsOfLevel: Int = 8
    ) {
        precondition(width >= 1 && width <= 8 && indexWords >= 1 && indexWords <= width && runsOfLevel > 1)
        self.runsOfLevel = runsOfLevel
        self.directory = directory
        self.name = name
        self.width = width
        self.indexWords = indexWords
        self.memory = memory
        recordsPerBlock = min(1024, memory.blockBytes / (width * 8))
        memory.users.enter(self)
    }

    deinit {
        memory.users.leave(self)
        free(records)
    }

    /// Adds a record of ``width`` words.
    package func append(_ record: UnsafePointer<UInt64>) throws(MigrationError) {
        let place = try room()
        for word in 0..<width { place[word] = record[word] }
    }

    /// Adds a record of three to five words; those beyond ``width`` are left out.
    package func append(
        _ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64 = 0, _ fifth: UInt64 = 0
    ) throws(MigrationError) {
        precondition(width >= 3 && width <= 5)
        let place = try room()
        (place[0], place[1], place[2]) = (first, second, third)
        if width > 3 { place[3] = fourth }
        if width > 4 { place[4] = fifth }
    }

    /// Removes all records and the files. Existing cursors keep theirs.
    package func removeAll() {
        runs.removeAll()
        count = 0
        forget()
    }

    /// Writes the records in memory as a run and frees their memory.
    package func release() throws(MigrationError) {
        if gathered > 0 { try spill() }
        forget()
    }

    private func forget() {
        segmentEnds.removeAll()
        gathered = 0
        free(records)
        records = nil
        capacity = 0
        memory.users.giveBack(self)
    }

    // MARK: Outliving the process

    /// Writes the log's state, or restores it: this log must be empty. Records in memory are written as a run before.
    package func code(with coder: inout StateCoder) throws(MigrationError) {
        if gathered > 0 { try spill() }
        // Two runs of the program may get slightly different amounts of memory, and so use different sizes of blocks.
        var written = recordsPerBlock
        try coder.code(&written, upTo: 1024)
        if written > recordsPerBlock {
            memory.admit(blockBytes: written * width * 8)
            recordsPerBlock = written
        }
        try coder.code(&count, upTo: .max)
        try coder.code(objects: &runs, upTo: 1 << 20) { coder, run throws(MigrationError) in
            guard let run else {
                return try SortedRecordFile(
                    restoring: &coder, place, width: width, indexWords: indexWords, recordsPerBlock: recordsPerBlock,
                    number: memory.users.nextRun(), block: memory.block)
            }
            try run.save(to: &coder)
            return run
        }
    }

    // MARK: Reading

    /// A cursor over all records in order, as they are now. Records appended later are not seen.
    ///
    /// Memory of the cursor: a block for each run, and a copy of the records in memory if there are at most 64 KiB of them
    /// (otherwise they are written as a run first).
    package func scan() throws(MigrationError) -> RecordCursor { try scan(prefix: []) }

    /// A cursor over the records that begin with these words, in order, as they are now.
    package func scan(prefix: [UInt64]) throws(MigrationError) -> RecordCursor {
        precondition(prefix.count <= width)
        if gathered * width * 8 > 64 * 1024 && prefix.isEmpty { try spill() }
        sortRecent()
        var sources: [RecordSource] = []
        let words = prefix.count
        for run in runs {
            let source = RecordSource(run: run, from: try run.blockHolding(prefix, words: words))
            if words > 0 { try source.skip(before: prefix, words: words, width: width) }
            sources.append(source)
        }
        var begin = 0
        for end in segmentEnds {
            let segment = buffer + begin * width
            var (first, last) = (0, end - begin)
            if words > 0 {
                first = RecordOrder.lowerBound(segment, count: last, width: width, prefix: prefix, words: words)
                last = first
                while last < end - begin, RecordOrder.isEqual(segment + last * width, prefix, words: words) {
                    last += 1
                }
            }
            if last > first {
                sources.append(RecordSource(copying: segment + first * width, count: last - first, width: width))
            }
            begin = end
        }
        return RecordCursor(sources, width: width, prefix: prefix)
    }

    /// Passes all records to a closure, in order. A record is valid only inside the closure.
    package func forEachRecord(
        _ body: (UnsafeMutablePointer<UInt64>) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let (cursor, words) = (try scan(), RecordBlock(words: width))
        while try cursor.next(into: words.records) { try body(words.records) }
    }

    /// Passes every record that begins with a prefix to a closure: one run after the other, each in order.
    ///
    /// This is the fast lookup: it allocates nothing. A record is valid only inside the closure, which must not use the log.
    package func forEach(
        prefix: UnsafePointer<UInt64>, words: Int, _ body: (UnsafePointer<UInt64>) -> Void
    ) throws(MigrationError) {
        try forFirst(.max, prefixWords: words, from: prefix, startWords: words, body)
    }

    /// Passes the first records with a prefix to a closure, those of every run and segment that are not before a start. The
    /// first `most` records of the whole log are among them.
    ///
    /// - Parameters:
    ///   - most: the number of records of a run or segment to pass at most.
    ///   - start: the words to begin from, with the prefix at their beginning.
    package func forFirst(
        _ most: Int, prefixWords words: Int, from start: UnsafePointer<UInt64>, startWords: Int,
        _ body: (UnsafePointer<UInt64>) -> Void
    ) throws(MigrationError) {
        precondition(words > 0 && words <= startWords && startWords <= width)
        sortRecent()
        var left = most
        /// Passes those of a block or segment. Returns true if none is behind them there.
        @inline(__always)
        func pass(_ records: UnsafePointer<UInt64>, count: Int) -> Bool {
            var place = RecordOrder.lowerBound(records, count: count, width: width, prefix: start, words: startWords)
            while left > 0, place < count, RecordOrder.isEqual(records + place * width, start, words: words) {
                body(records + place * width)
                place += 1
                left -= 1
            }
            return place == count
        }
        for run in runs {
            left = most
            var index = try run.blockHolding(start, words: startWords)
            while left > 0, index < run.blockCount, try !run.block(index, beginsAfter: start, words: words) {
                let block = try memory.block(index, of: run)
                guard pass(block.records, count: block.count) else { break }
                index += 1
            }
        }
        var begin = 0
        for end in segmentEnds {
            left = most
            _ = pass(buffer + begin * width, count: end - begin)
            begin = end
        }
    }

    /// Merges all records into one run. This pays before many lookups.
    package func compact() throws(MigrationError) {
        guard !runs.isEmpty else { return sortRecent(joiningAll: true) }
        if gathered > 0 { try spill() }
        if runs.count > 1 { try mergeNewest(runs.count) }
    }

    // MARK: In memory

    @inline(__always)
    private func room() throws(MigrationError) -> UnsafeMutablePointer<UInt64> {
        if gathered == capacity { try grow() }
        let place = buffer + gathered * width
        gathered += 1
        count += 1
        return place
    }

    /// The memory of the records in the buffer.
    ///
    /// - Precondition: the buffer was allocated.
    @inline(__always)
    private var buffer: UnsafeMutablePointer<UInt64> { records.unsafelyUnwrapped }

    private func grow() throws(MigrationError) {
        let larger = max(capacity * 2, RecordMemory.leastWords / width)
        guard try memory.extend(self, to: larger * width) else { return try spill() }
        // realloc moves large blocks without a copy.
        guard let wider = realloc(records, larger * width * 8) else {
            preconditionFailure("malloc gives no \(larger * width * 8) bytes")
        }
        records = wider.assumingMemoryBound(to: UInt64.self)
        capacity = larger
    }

    /// Sorts the records that came last and joins them with earlier segments, so that each segment is more than twice as large
    /// as the next, or only one is left.
    private func sortRecent(joiningAll: Bool = false) {
        let sorted = segmentEnds.last ?? 0
        let unsorted = gathered - sorted
        guard unsorted > 0 || joiningAll else { return }
        if unsorted > 0 {
            RecordOrder.sort(
                buffer + sorted * width, scratch: memory.space(words: unsorted * width), count: unsorted, width: width)
            segmentEnds.append(gathered)
        }
        while segmentEnds.count > 1 {
            let begin = segmentEnds.count > 2 ? segmentEnds[segmentEnds.count - 3] : 0
            let middle = segmentEnds[segmentEnds.count - 2]
            let isInOrder = !RecordOrder.isLess(buffer + middle * width, buffer + (middle - 1) * width, words: width)
            guard joiningAll || isInOrder || (gathered - middle) * 2 >= middle - begin else { return }
            if !isInOrder { join(begin, middle, gathered) }
            segmentEnds.remove(at: segmentEnds.count - 2)
        }
    }

    /// Merges two neighbouring segments backwards from their ends. The newer one is copied to the scratch space first.
    private func join(_ begin: Int, _ middle: Int, _ end: Int) {
        let records = buffer
        let space = memory.space(words: (end - middle) * width)
        space.update(from: records + middle * width, count: (end - middle) * width)
        var left = middle
        var right = end - middle
        var place = end
        while right > 0 {
            place -= 1
            if left > begin,
                RecordOrder.isLess(space + (right - 1) * width, records + (left - 1) * width, words: width)
            {
                left -= 1
                for word in 0..<width { records[place * width + word] = records[left * width + word] }
            } else {
                right -= 1
                for word in 0..<width { records[place * width + word] = space[right * width + word] }
            }
        }
    }

    // MARK: On disk

    private func spill() throws(MigrationError) {
        sortRecent(joiningAll: true)
        try runs.append(sorted: buffer, count: gathered) { () throws(MigrationError) in try newRun(level: 0) }
        gathered = 0
        segmentEnds.removeAll(keepingCapacity: true)
        while runs.areDue(runsOfLevel) { try mergeNewest(runsOfLevel) }
    }

    private func mergeNewest(_ number: Int) throws(MigrationError) {
        // The blocks of the merge need this memory.
        memory.dropSpace()
        try runs.mergeNewest(number, isOnlyReading: false) { level throws(MigrationError) in try newRun(level: level) }
    }

    private func newRun(level: Int) throws(MigrationError) -> SortedRecordFile {
        try SortedRecordFile(
            place, width: width, indexWords: indexWords, recordsPerBlock: recordsPerBlock,
            number: memory.users.nextRun(), level: level, block: memory.block)
    }

    private var place: RunPlace {
        RunPlace(directory: directory, name: name, kind: .records, scratch: memory.stored)
    }
}

/// Reads the records of a ``RecordLog`` in order, as they were when the cursor was made.
///
/// Memory: a block for each run of the log. It keeps the files that it reads alive.
package final class RecordCursor {
    private let width: Int
    private let prefix: [UInt64]
    @exclusivity(unchecked) private var merger: RecordMerger

    init(_ sources: [RecordSource], width: Int, prefix: [UInt64]) {
        self.width = width
        self.prefix = prefix
        merger = RecordMerger(sources, width: width)
    }

    /// Copies the next record. Returns false at the end.
    ///
    /// - Parameter target: room for one record.
    package func next(into target: UnsafeMutablePointer<UInt64>) throws(MigrationError) -> Bool {
        guard let record = try merger.current() else { return false }
        for (index, word) in prefix.enumerated() where record[index] != word { return false }
        for word in 0..<width { target[word] = record[word] }
        try merger.advance()
        return true
    }
}
