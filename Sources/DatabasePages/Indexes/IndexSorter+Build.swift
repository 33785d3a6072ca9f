import Diagnostics
import SpillStorage

/// The progress of building an index's tree from sorted entries.
package struct IndexProgress: Sendable {
    /// The number of entries in the tree, the first ones in order.
    package let entries: Int
    /// The layout of `last` in words.
    let layout: [UInt64]
    /// The last entry in the tree, if all are half words; otherwise empty.
    let last: [UInt64]

    package func write(to state: inout StateWriter) {
        state.write(entries)
        state.write(words: layout)
        state.write(words: last)
    }

    /// Reads saved progress.
    package init(from state: inout StateReader) throws(MigrationError) {
        entries = try state.count(upTo: 1 << 48)
        layout = try state.words()
        last = try state.words()
        guard entries > 0 else { throw StateReader.damaged("an index that was not begun") }
    }

    init(entries: Int, layout: [UInt64], last: [UInt64]) {
        (self.entries, self.layout, self.last) = (entries, layout, last)
    }
}

/// Builds the tree of an index.
extension IndexSorter {
    /// A closure that is called between two entries while a tree is built.
    package typealias Passed = (IndexProgress) throws(MigrationError) -> Void

    /// The number of entries between two calls.
    private static let step = 4096

    /// Builds the index's tree.
    ///
    /// - Parameters:
    ///   - loader: the loader of an empty tree, or of one that has the first entries.
    ///   - done: the progress of that tree, as a sorter of the same entries reported it.
    ///   - passed: receives the progress now and then, if all entries are words in memory: with all entries at hand, a tree
    ///     that has some can be continued. Not called for entries in files, because these are given back as they are read.
    /// - Throws: `journal.damaged` if the entries are not those that `done` reports, `spill.…`, `store.full`, `store.io` (74),
    ///   `store.tooLarge`.
    package func build(
        into loader: IndexLoader, after done: IndexProgress? = nil, passed: Passed? = nil
    ) throws(MigrationError) -> Outcome {
        if isTooLarge { return .tooLarge }
        let passed = isInMemory ? passed : nil
        let dropped = try drop(done)
        let finished = try halves?.finish()
        halves = nil
        // The usual case: half words only.
        if sorter == nil, entries == nil, let finished, let form {
            return try build(from: finished, form, into: loader, (done?.entries ?? 0, dropped), passed)
        }
        let merged =
            takesWords
            ? SortedWords(halves: finished, form: form, words: try sorter?.finish(), terms: terms.count) : nil
        let sorted = SortedIndex(words: merged, entries: try entries?.finish())
        sorter = nil
        entries = nil
        if isOneInteger, !isUnique, sorted.entries == nil, let words = sorted.words {
            return try build(fromIntegers: words, into: loader, after: done?.entries ?? 0, passed)
        }
        return try build(from: sorted, into: loader, after: done?.entries ?? 0, passed)
    }

    /// True if all entries are words in memory. Entries sorted as records may be too large for a resumed run with less memory.
    private var isInMemory: Bool {
        halves.map { $0.inMemory != nil } ?? true && sorter.map { $0.inMemory != nil } ?? true && entries == nil
    }

    /// Removes the entries that the tree already has, so that they are not sorted.
    ///
    /// - Returns: the number removed; 0 if they must be skipped one by one instead.
    private func drop(_ done: IndexProgress?) throws(MigrationError) -> Int {
        // A unique index needs the values of the entries before, to find duplicates.
        guard let done, !isUnique, let halves, halves.inMemory != nil, sorter == nil, entries == nil,
            done.layout == layout, done.last.count == form?.width
        else { return 0 }
        let dropped = done.last.withUnsafeBufferPointer { last in
            last.baseAddress.map { halves.drop(upTo: $0) } ?? 0
        }
        guard dropped == done.entries else { throw Self.others }
        return dropped
    }

    private static var others: MigrationError { StateReader.damaged("an index of other entries") }

    /// Builds the index's tree from half words alone.
    ///
    /// - Parameter done: the number of entries in the tree, and how many of them were removed before sorting.
    private func build(
        from sorted: SortedRecords, _ form: CompactIndexEntry, into loader: IndexLoader,
        _ done: (tree: Int, dropped: Int),
        _ passed: Passed?
    ) throws(MigrationError) -> Outcome {
        let isPair = terms.count == 2
        // The bits above the row's id of the entry before; 0 if that has a NULL, because values without NULL are never 0.
        var last: UInt64 = 0
        var isDuplicate = false
        var entries = done.dropped
        let width = form.width
        try sorted.forEachChunk { records, count throws(MigrationError) in
            var next = records
            let end = records + count * width
            while next < end {
                if let passed, entries > done.tree, next > records {
                    try passed(
                        .init(entries: entries, layout: layout, last: (0..<width).map { (next - width)[$0] }))
                }
                // First up to the place where the tree's entries end, then a step at a time.
                let isThere = entries < done.tree
                let most = isThere ? done.tree - entries : passed == nil ? .max : Self.step
                let here = min(most, (end - next) / width)
                let stop = next + here * width
                entries += here
                for record in stride(from: next, to: stop, by: width) {
                    let (high, low) = (form.first(of: record[0]), form.second(of: record[0]))
                    if isUnique {
                        let value = record[0] >> form.idBits
                        let hasNull = high == 0 || isPair && low == 0
                        if !hasNull, value == last {
                            isDuplicate = true
                            return false
                        }
                        last = hasNull ? 0 : value
                    }
                    if isThere { continue }
                    if isPair {
                        try loader.append(
                            pair: CompactIndexEntry.value(ofHalf: high), CompactIndexEntry.value(ofHalf: low),
                            form.id(of: record))
                    } else {
                        try loader.append(integer: CompactIndexEntry.value(ofHalf: high), form.id(of: record))
                    }
                }
                next = stop
            }
            return true
        }
        if isDuplicate { return .duplicates }
        guard entries >= done.tree else { throw Self.others }
        try loader.finish()
        return .built
    }

    /// Builds the index's tree from words of one integer each.
    private func build(
        fromIntegers sorted: SortedWords, into loader: IndexLoader, after done: Int, _ passed: Passed?
    ) throws(MigrationError) -> Outcome {
        var count = 0
        while try sorted.next(into: words) {
            count += 1
            guard count > done else { continue }
            try loader.append(
                integer: words[0] == 0 ? nil : Int64(bitPattern: words[0] ^ 1 << 63), SortKey.decode(words[1]))
            if count % Self.step == 0 { try passed?(.init(entries: count, layout: [], last: [])) }
        }
        guard count >= done else { throw Self.others }
        try loader.finish()
        return .built
    }

    /// Builds the index's tree from entries of all kinds.
    private func build(
        from streams: SortedIndex, into loader: IndexLoader, after done: Int, _ passed: Passed?
    ) throws(MigrationError) -> Outcome {
        var sorted = streams
        let record = UnsafeMutableRawPointer.allocate(byteCount: (terms.count + 1) * 9 + 9, alignment: 8)
        defer { record.deallocate() }
        var last = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 8)
        defer { last.deallocate() }
        var lastCount = 0
        var count = 0
        sorted.hasWord = try sorted.words?.next(into: words) ?? false
        sorted.entry = try sorted.entries?.next()
        while sorted.hasWord || sorted.entry != nil {
            let next: UnsafeRawBufferPointer
            let word = sorted.hasWord ? UnsafeRawBufferPointer(start: record, count: write(to: record)) : nil
            if let entry = sorted.entry, word.map({ order.compare(entry, $0) < 0 }) ?? true {
                next = entry
            } else if let word {
                next = word
            } else {
                break
            }
            if isUnique {
                let before = UnsafeRawBufferPointer(rebasing: last[..<lastCount])
                if lastCount > 0, order.isDuplicate(next, before) { return .duplicates }
                if last.count < next.count {
                    last.deallocate()
                    last = .allocate(byteCount: next.count * 2, alignment: 8)
                }
                last.copyMemory(from: next)
                lastCount = next.count
            }
            count += 1
            if count > done {
                try loader.append(next)
                if count % Self.step == 0 { try passed?(.init(entries: count, layout: [], last: [])) }
            }
            if next.baseAddress == UnsafeRawPointer(record) {
                sorted.hasWord = try sorted.words?.next(into: words) ?? false
            } else {
                sorted.entry = try sorted.entries?.next()
            }
        }
        guard count >= done else { throw Self.others }
        try loader.finish()
        return .built
    }

    /// Both streams, and their next entries.
    private struct SortedIndex {
        let words: SortedWords?
        let entries: SortedEntries?
        var hasWord = false
        var entry: UnsafeRawBufferPointer?
    }

    /// Writes the entry's record. Returns the number of its bytes.
    @inline(__always)
    private func write(to record: UnsafeMutableRawPointer) -> Int {
        let header = terms.count + 2
        record.storeBytes(of: UInt8(truncatingIfNeeded: header), as: UInt8.self)
        var place = record + header
        for index in 0..<terms.count {
            put(terms[index].form(of: words[index]), serialAt: record + 1 + index, &place)
        }
        put(NumberForm(integer: SortKey.decode(words[terms.count])), serialAt: record + header - 1, &place)
        return place - record
    }

    @inline(__always)
    private func put(
        _ form: NumberForm?, serialAt serial: UnsafeMutableRawPointer, _ place: inout UnsafeMutableRawPointer
    ) {
        serial.storeBytes(of: form?.serial ?? 0, as: UInt8.self)
        form?.write(to: &place)
    }
}
