import Diagnostics
import Rows
import SpillStorage

/// Sorts the entries of one index out of core while the rows of its table are written, then builds the index's tree.
///
/// An entry takes one of three forms. If there are one or two integer columns with values like keys, as in almost all indexes,
/// it is half words (``CompactIndexEntry``). If all columns are of numbers, it is words, with the row's id as the last one. An
/// entry with a value that no word can hold, in most cases a text, is the record that the index will hold. The sorted streams
/// are merged.
///
/// Memory: the allowance of the sorters.
package final class IndexSorter {
    /// The outcome of building an index.
    package enum Outcome: Sendable {
        /// The tree has all entries.
        case built
        /// A value is too large for the memory. The tree is empty and must be built in another way.
        case tooLarge
        /// Rows have the same values in a unique index. The tree is empty, and pages of the file may be unused.
        case duplicates
    }

    let terms: [IndexTerm]
    let isUnique: Bool
    /// Sorts entries of words; nil if a column may hold other values than numbers, and before the first such entry if there are
    /// halves.
    var sorter: RecordSorter?
    /// Sorts entries of half words; nil unless the index has one or two integer columns.
    var halves: RecordSorter?
    let form: CompactIndexEntry?
    private let wordMemory: Int
    let takesWords: Bool
    let words: UnsafeMutablePointer<UInt64>
    private let slots: UnsafeMutablePointer<Int>
    let order: IndexEntryOrder
    private let encoder: RecordEncoder
    private let directory: WorkDirectory
    private let entryMemory: Int
    /// The copy on disk of the entries in memory; nil before there are enough of them.
    private var log: EntryLog?
    private var hasLog = true
    /// Sorts entries of other values; nil before the first.
    var entries: EntrySorter?
    var isTooLarge = false
    /// True if the index is over one ascending integer column.
    let isOneInteger: Bool

    /// The most columns of an index that is sorted here.
    package static let mostTerms = 60
    /// The most columns of an index whose entries are words.
    private static let mostWords = 7

    /// Makes an empty sorter.
    ///
    /// - Parameters:
    ///   - space: memory shared with sorters that run before or after this one; nil: memory of its own.
    package init(
        terms: [IndexTerm], isUnique: Bool, directory: WorkDirectory, memory: Int, space: SortSpace? = nil
    ) {
        precondition(!terms.isEmpty && terms.count <= Self.mostTerms)
        self.terms = terms
        self.isUnique = isUnique
        isOneInteger = terms.count == 1 && terms[0].affinity == .integer && terms[0].isAscending
        self.directory = directory
        takesWords = terms.count <= Self.mostWords && terms.allSatisfy(\.hasWords)
        // Values other than numbers are rare in a column of numbers, and integers that are no keys are rare in these indexes;
        // so a small share is enough for them.
        form = CompactIndexEntry(terms)
        let rare = form != nil ? max(memory / 16, min(64 << 10, memory / 4)) : memory / 4
        entryMemory = takesWords ? rare : memory
        wordMemory = form != nil ? rare : memory - rare
        if let form {
            halves = RecordSorter(
                directory: directory, name: "index", width: form.width, memory: memory - 2 * rare, space: space,
                ascendingBits: form.ascendingBits)
        } else if takesWords {
            sorter = RecordSorter(
                directory: directory, name: "index", width: terms.count + 1, memory: wordMemory, space: space)
        }
        words = .allocate(capacity: terms.count + 1)
        slots = .allocate(capacity: terms.count)
        slots.initialize(from: terms.map(\.slot), count: terms.count)
        order = IndexEntryOrder(isAscending: terms.map(\.isAscending))
        encoder = RecordEncoder(affinities: terms.map(\.affinity) + [.integer], isKeyed: false)
    }

    deinit {
        words.deallocate()
        slots.deallocate()
    }

    /// Adds the entries of a batch's rows.
    ///
    /// - Parameters:
    ///   - firstID: the id of the batch's first row if rows are numbered; nil: the batch's keys.
    package func append(_ batch: borrowing RowBatch, from first: Int = 0, firstID: Int64?) throws(MigrationError) {
        precondition(first >= 0 && first <= batch.count)
        guard !isTooLarge else { return }
        guard takesWords else {
            for row in first..<batch.count { try appendEntry(batch, row, firstID) }
            return
        }
        if let halves, let form { return try append(batch, from: first, to: halves, form, firstID) }
        for row in first..<batch.count { try appendWords(batch, row, firstID) }
    }

    /// Adds the entries of a batch's rows, as half words if possible.
    private func append(
        _ batch: borrowing RowBatch, from start: Int, to halves: RecordSorter, _ form: CompactIndexEntry,
        _ firstID: Int64?
    ) throws(MigrationError) {
        let isPair = terms.count == 2
        let (first, second) = (slots[0], slots[isPair ? 1 : 0])
        precondition(first < batch.slots && second < batch.slots)
        var row = start
        try halves.append(upTo: batch.count - start) { room, most throws(MigrationError) in
            var written = 0
            let end = row + most
            while row < end {
                let cells = batch.cells(ofRow: row)
                let id = firstID.map { $0 + Int64(row) } ?? batch.key(row)
                if form.width == 1, let half = CompactIndexEntry.half(of: cells[first]),
                    let other = isPair ? CompactIndexEntry.half(of: cells[second]) : 0,
                    let word = form.word(of: half, other, id: id)
                {
                    room[written] = word
                    written += 1
                } else if form.width == 2, let half = CompactIndexEntry.half(of: cells[first]),
                    let other = CompactIndexEntry.half(of: cells[second])
                {
                    room[2 * written] = half << 32 | other
                    room[2 * written + 1] = SortKey.encode(id)
                    written += 1
                } else {
                    try appendWords(batch, row, firstID)
                }
                row += 1
            }
            return written
        }
    }

    /// Adds the entries of the rows that a scan reads next, as long as the rows are ordinary.
    ///
    /// - Parameters:
    ///   - fields: the fields of the index's columns in the table's records.
    ///   - spilled: called when ``spilledRows`` has grown; receives the key of the last of these rows.
    /// - Returns: the number of rows whose entries were added; fewer than `most` at the end, and before a row that must be read
    ///   in another way.
    package func append(
        rowsOf scan: TableScan, fields: [Int], upTo most: Int, spilled: (Int64) -> Void
    ) throws(MigrationError) -> Int {
        guard let halves, let form, !isTooLarge, fields.first != fields.last || fields.count == 1 else { return 0 }
        let fields = EntryFields(fields, form: form)
        var known = spilledRows
        var added = 0
        var isOrdinary = true
        try halves.append(upTo: most) { room, most throws(MigrationError) in
            let now = spilledRows
            if now != known, let key = scan.lastKey {
                known = now
                spilled(key)
            }
            guard isOrdinary else { return 0 }
            let written = try scan.entries(of: fields, upTo: most, into: room)
            isOrdinary = written == most
            added += written
            return written
        }
        return added
    }

    /// Adds a row's entry as words; as a record if a value has no word.
    private func appendWords(_ batch: borrowing RowBatch, _ row: Int, _ firstID: Int64?) throws(MigrationError) {
        let (terms, words) = (terms, words)
        let cells = batch.cells(ofRow: row)
        for place in terms.indices {
            let term = terms[place]
            precondition(term.slot < batch.slots)
            guard let word = term.word(of: cells[term.slot]) else { return try appendEntry(batch, row, firstID) }
            words[place] = word
        }
        words[terms.count] = SortKey.encode(firstID.map { $0 + Int64(row) } ?? batch.key(row))
        let sorter =
            sorter
            ?? RecordSorter(directory: directory, name: "index", width: terms.count + 1, memory: wordMemory)
        self.sorter = sorter
        if terms.count == 1 {
            try sorter.append(words[0], words[1])
        } else {
            try sorter.append(words)
        }
    }

    private func appendEntry(_ batch: borrowing RowBatch, _ row: Int, _ firstID: Int64?) throws(MigrationError) {
        guard !isTooLarge else { return }
        let entries =
            entries ?? EntrySorter(directory: directory, name: "index", order: order, memory: entryMemory)
        self.entries = entries
        let cells = batch.cells(ofRow: row)
        for place in terms.indices where cells[slots[place]].kind == .huge { return giveUp() }
        let encoder = encoder
        try encoder.prepareEntry(
            batch, row: row, slots: slots, id: firstID.map { $0 + Int64(row) } ?? batch.key(row))
        guard encoder.size <= entries.largestEntry else { return giveUp() }
        try entries.append(size: encoder.size) { encoder.write(to: $0) }
    }

    /// The sorter that has all entries; nil if they are spread over several.
    private var only: RecordSorter? {
        guard !isTooLarge, takesWords, entries == nil else { return nil }
        if let halves { return sorter == nil ? halves : nil }
        return sorter
    }

    /// The number of rows whose entries are in files; these are the first rows, and ``save(to:)`` can save them.
    package var spilledRows: Int { only?.spilled ?? 0 }

    /// Writes the state of the entries in files. From now on these outlive the process.
    ///
    /// - Precondition: ``spilledRows`` is not 0.
    package func save(to state: inout StateWriter) throws(MigrationError) {
        precondition(spilledRows > 0)
        for bits in layout { state.write(bits) }
        try only?.save(to: &state)
    }

    /// Restores the saved entries of the same index. This sorter must be empty.
    ///
    /// - Returns: false if they cannot be used; nothing is restored then.
    package func restore(from state: inout StateReader) throws(MigrationError) -> Bool {
        for bits in layout where try state.word() != bits { return false }
        return try only?.restore(from: &state) ?? false
    }

    /// Copies entries in memory to a file, so that they can be saved.
    ///
    /// - Returns: the number of rows whose entries are in the file (the first rows), and the id of the last of them; nil while
    ///   there are too few entries, if the file cannot be written, and once entries were spilled (``spilledRows``).
    package func keep() -> (rows: Int64, id: Int64)? {
        guard hasLog, let only, let entries = only.inMemory else {
            log = nil
            return nil
        }
        if log == nil {
            guard entries.count >= EntryLog.piece else { return nil }
            log = EntryLog(in: directory)
        }
        guard let log, log.append(from: entries) else {
            (log, hasLog) = (nil, false)
            return nil
        }
        return kept
    }

    /// The result of the last ``keep()``; nil if there is none. It writes nothing.
    package var kept: (rows: Int64, id: Int64)? {
        guard let log, let entries = only?.inMemory else { return nil }
        return last(of: entries, upTo: log.byteCount)
    }

    /// Writes the state of the entries that ``keep()`` reported.
    ///
    /// - Precondition: it reported some.
    package func saveKept(to state: inout StateWriter) {
        guard let log else { preconditionFailure("entries that stand in a file") }
        for bits in layout { state.write(bits) }
        log.save(to: &state)
    }

    /// Restores the entries of the same index that ``saveKept(to:)`` saved. This sorter must be empty.
    ///
    /// - Returns: like ``keep()``; nil if they cannot be used: nothing is restored then.
    package func restoreKept(from state: inout StateReader) throws(MigrationError) -> (rows: Int64, id: Int64)? {
        let isSame = try layout.map { bits throws(MigrationError) in try state.word() == bits }.allSatisfy { $0 }
        guard let log = try EntryLog(in: directory, restoring: &state), isSame, let only,
            only.begin(byteCount: log.byteCount, fill: { log.read(into: $0) }), let entries = only.inMemory
        else { return nil }
        self.log = log
        return last(of: entries, upTo: log.byteCount)
    }

    /// The number of entries in some bytes (of the first rows), and the row's id of the last one.
    private func last(of entries: UnsafeRawBufferPointer, upTo byteCount: Int) -> (rows: Int64, id: Int64)? {
        let width = halves != nil ? form?.width ?? 1 : terms.count + 1
        let rows = byteCount / (width * 8)
        guard rows > 0, let start = entries.baseAddress?.assumingMemoryBound(to: UInt64.self) else { return nil }
        let entry = start + (rows - 1) * width
        return (Int64(rows), halves != nil ? form?.id(of: entry) ?? 0 : SortKey.decode(entry[terms.count]))
    }

    /// The numbers that describe the layout of half words.
    var layout: [UInt64] { form.map { [UInt64($0.width), $0.secondBits, $0.idBits] } ?? [0, 0, 0] }

    private func giveUp() {
        isTooLarge = true
        sorter = nil
        halves = nil
        entries = nil
    }
}
