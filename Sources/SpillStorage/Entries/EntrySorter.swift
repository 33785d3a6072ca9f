import Diagnostics

/// Sorts any number of entries (byte strings of different lengths) out of core: append them, then call ``finish()``.
///
/// Entries gather in memory. When the allowance is used up, they are sorted and written as a run. Once there are as many runs
/// of a level as fit the allowance, they are merged into one. Of equal entries the one added first comes first.
///
/// Memory: the allowance, for entries and their places; then a block for each run being merged.
/// Complexity: O(n log n) time; on disk the compressed entries once, because a merge gives back what it has read.
package final class EntrySorter {
    private let directory: WorkDirectory
    private let name: String
    private let order: any EntryOrder
    private let memory: Int
    private let blockBytes: Int
    private var gathered = GatheredEntries()
    private var runs: [EntryRun] = []
    private let scratch = RawBuffer()
    private let block = RawBuffer()
    private var largest = 0

    /// Makes an empty sorter. It makes no file until the allowance is used up.
    ///
    /// - Parameters:
    ///   - memory: the allowance in bytes; 64 KiB are used at least.
    package init(directory: WorkDirectory, name: String, order: any EntryOrder, memory: Int) {
        self.directory = directory
        self.name = name
        self.order = order
        self.memory = max(memory, 64 << 10)
        blockBytes = max(4 << 10, min(64 << 10, self.memory / 16))
    }

    /// The size in bytes of the largest entry that fits the allowance.
    package var largestEntry: Int { memory / 8 }

    /// Adds an entry.
    ///
    /// - Parameters:
    ///   - size: the entry's size in bytes, at most ``largestEntry``.
    ///   - fill: writes all bytes of the entry.
    package func append(size: Int, fill: (UnsafeMutableRawPointer) -> Void) throws(MigrationError) {
        precondition(size <= largestEntry)
        largest = max(largest, size)
        if gathered.bytes + size + 36 > memory, gathered.count > 0 { try spill() }
        fill(gathered.add(size))
        gathered.setPrefix(by: order)
    }

    /// Sorts the entries in memory and returns all entries in order. The sorter is empty afterwards.
    package func finish() throws(MigrationError) -> SortedEntries {
        if !runs.isEmpty, gathered.count > 0 { try spill() }
        let rest = gathered
        gathered = GatheredEntries()
        guard !runs.isEmpty else {
            rest.sort(by: order)
            return SortedEntries([EntrySource(rest)], order: order)
        }
        while runs.count > fanIn { try mergeNewest(min(fanIn, runs.count - fanIn + 1)) }
        let sources = runs.map(EntrySource.init)
        runs = []
        return SortedEntries(sources, order: order)
    }

    /// The number of runs merged at once.
    private var fanIn: Int { max(2, min(64, memory / max(blockBytes, largest) - 3)) }

    private func spill() throws(MigrationError) {
        gathered.sort(by: order)
        let count = gathered.count
        let run: EntryRun
        // Entries that come in order make one long run.
        if let last = runs.last, last.last.withUnsafeBytes({ order.compare($0, gathered.entry(0)) }) <= 0 {
            run = last
        } else {
            run = try newRun(level: 0)
            runs.append(run)
        }
        for index in 0..<count { try run.append(gathered.entry(index)) }
        try run.flush()
        gathered.removeAll()
        while runs.areDue(fanIn) {
            // Free the entries' memory: the blocks of a merge need it.
            gathered = GatheredEntries()
            try mergeNewest(fanIn)
        }
    }

    private func mergeNewest(_ number: Int) throws(MigrationError) {
        try runs.replaceNewest(number) { newest, level throws(MigrationError) in
            let run = try newRun(level: level)
            let merged = SortedEntries(newest.map(EntrySource.init), order: order)
            while let entry = try merged.next() { try run.append(entry) }
            try run.flush()
            return run
        }
    }

    private func newRun(level: Int) throws(MigrationError) -> EntryRun {
        try EntryRun(
            RunPlace(directory: directory, name: name, kind: .entries, scratch: scratch), level: level, block: block,
            blockBytes: blockBytes)
    }
}

/// The entries of an ``EntrySorter``, in order, to be read once.
///
/// Memory: a block for each run that is merged, or the entries if they all fit in memory. Its files are removed with it.
package final class SortedEntries {
    private struct Head {
        var prefix: UInt64
        var entry: UnsafeRawBufferPointer
        /// The number of the source. Of equal entries, that of the earlier source comes first.
        var source: Int
    }

    private let sources: [EntrySource]
    private let order: any EntryOrder
    /// A heap with the least head first. If ``isOut``, the entry of that head was returned already.
    @exclusivity(unchecked) private var heads: [Head] = []
    private var isStarted = false
    @exclusivity(unchecked) private var isOut = false

    init(_ sources: [EntrySource], order: any EntryOrder) {
        self.sources = sources
        self.order = order
    }

    /// Returns the next entry, which is valid until the one after it is read; nil at the end.
    package func next() throws(MigrationError) -> UnsafeRawBufferPointer? {
        // One source needs no comparisons.
        if sources.count == 1 { return try sources[0].next() }
        if !isStarted {
            isStarted = true
            for (number, source) in sources.enumerated() {
                if let entry = try source.next() {
                    heads.append(Head(prefix: order.prefix(of: entry), entry: entry, source: number))
                }
            }
            for index in stride(from: heads.count / 2 - 1, through: 0, by: -1) { sink(index) }
        } else if isOut {
            if let entry = try sources[heads[0].source].next() {
                heads[0].entry = entry
                heads[0].prefix = order.prefix(of: entry)
                sink(0)
            } else {
                let last = heads.removeLast()
                if !heads.isEmpty {
                    heads[0] = last
                    sink(0)
                }
            }
        }
        guard let head = heads.first else { return nil }
        isOut = true
        return head.entry
    }

    private func precedes(_ left: Head, _ right: Head) -> Bool {
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        let order = order.compare(left.entry, right.entry)
        return order != 0 ? order < 0 : left.source < right.source
    }

    private func sink(_ index: Int) {
        var index = index
        let count = heads.count
        let moving = heads[index]
        while 2 * index + 1 < count {
            var child = 2 * index + 1
            if child + 1 < count, precedes(heads[child + 1], heads[child]) { child += 1 }
            guard precedes(heads[child], moving) else { break }
            heads[index] = heads[child]
            index = child
        }
        heads[index] = moving
    }
}
