import Diagnostics
import SpillStorage

/// Builds the tree of an index.
extension IndexSorter {
    /// A closure that is called between two entries while a tree is built.
    package typealias CancellationCheck = () throws(MigrationError) -> Void

    /// The number of entries between two calls.
    private static let step = 4096

    /// Builds the index's tree.
    ///
    /// - Parameters:
    ///   - loader: the loader of an empty tree.
    ///   - checkCancelled: called now and then.
    /// - Throws: `spill.…`, `store.full`, `store.io` (74), `store.tooLarge`; the error of `checkCancelled`.
    package func build(into loader: IndexLoader, checkCancelled: CancellationCheck? = nil) throws(MigrationError)
        -> Outcome
    {
        if isTooLarge { return .tooLarge }
        let finished = try halves?.finish()
        halves = nil
        // The usual case: half words only.
        if sorter == nil, entries == nil, let finished, let form {
            return try build(from: finished, form, into: loader, checkCancelled)
        }
        let merged =
            takesWords
            ? SortedWords(halves: finished, form: form, words: try sorter?.finish(), terms: terms.count) : nil
        let others = try entries?.finish()
        sorter = nil
        entries = nil
        return try build(from: merged, others, into: loader, checkCancelled)
    }

    /// Builds the index's tree from half words alone.
    private func build(
        from sorted: SortedRecords, _ form: CompactIndexEntry, into loader: IndexLoader,
        _ checkCancelled: CancellationCheck?
    ) throws(MigrationError) -> Outcome {
        let isPair = terms.count == 2
        // The bits above the row's id of the entry before; 0 if that has a NULL, because values without NULL are never 0.
        var last: UInt64 = 0
        var isDuplicate = false
        let width = form.width
        // A merge of files gives chunks of a few entries.
        var sinceCall = 0
        try sorted.forEachChunk { records, count throws(MigrationError) in
            var next = records
            let end = records + count * width
            while next < end {
                if sinceCall == Self.step {
                    try checkCancelled?()
                    sinceCall = 0
                }
                let most = min(Self.step - sinceCall, (end - next) / width)
                sinceCall += most
                let stop = next + most * width
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
                    try loader.append(
                        CompactIndexEntry.value(ofHalf: high), CompactIndexEntry.value(ofHalf: low),
                        columns: terms.count, form.id(of: record))
                }
                next = stop
            }
            return true
        }
        if isDuplicate { return .duplicates }
        try loader.finish()
        return .built
    }

    /// Builds the index's tree from entries of all kinds.
    private func build(
        from sortedWords: SortedWords?, _ entries: SortedEntries?, into loader: IndexLoader,
        _ checkCancelled: CancellationCheck?
    ) throws(MigrationError) -> Outcome {
        let record = UnsafeMutableRawPointer.allocate(byteCount: (terms.count + 1) * 9 + 9, alignment: 8)
        defer { record.deallocate() }
        var last = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 8)
        defer { last.deallocate() }
        var lastCount = 0
        var count = 0
        var hasWord = try sortedWords?.next(into: words) ?? false
        var nextEntry = try entries?.next()
        while hasWord || nextEntry != nil {
            let next: UnsafeRawBufferPointer
            let word = hasWord ? UnsafeRawBufferPointer(start: record, count: write(to: record)) : nil
            if let entry = nextEntry, word.map({ order.compare(entry, $0) < 0 }) ?? true {
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
            try loader.append(next)
            if count % Self.step == 0 { try checkCancelled?() }
            if next.baseAddress == UnsafeRawPointer(record) {
                hasWord = try sortedWords?.next(into: words) ?? false
            } else {
                nextEntry = try entries?.next()
            }
        }
        try loader.finish()
        return .built
    }

    /// Writes the entry's record. Returns the number of its bytes.
    @inline(__always)
    private func write(to record: UnsafeMutableRawPointer) -> Int {
        let header = terms.count + 2
        record.storeBytes(of: UInt8(truncatingIfNeeded: header), as: UInt8.self)
        var place = record + header
        for index in 0..<terms.count {
            NumberForm.put(terms[index].form(of: words[index]), serialAt: record + 1 + index, &place)
        }
        NumberForm.put(NumberForm(integer: SortKey.decode(words[terms.count])), serialAt: record + header - 1, &place)
        return place - record
    }
}
