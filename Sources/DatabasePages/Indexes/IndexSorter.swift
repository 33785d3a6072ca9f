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
    /// Sorts entries of other values; nil before the first.
    var entries: EntrySorter?
    var isTooLarge = false

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
    /// - Parameter firstID: the id of the batch's first row if rows are numbered; nil: the batch's keys.
    /// - Throws: `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func append(_ batch: borrowing RowBatch, firstID: Int64?) throws(MigrationError) {
        guard !isTooLarge else { return }
        guard takesWords else {
            for row in 0..<batch.count { try appendEntry(batch, row, firstID) }
            return
        }
        if let halves, let form { return try append(batch, to: halves, form, firstID) }
        for row in 0..<batch.count { try appendWords(batch, row, firstID) }
    }

    /// Adds the entries of a batch's rows, as half words if possible.
    private func append(
        _ batch: borrowing RowBatch, to halves: RecordSorter, _ form: CompactIndexEntry, _ firstID: Int64?
    ) throws(MigrationError) {
        let isPair = terms.count == 2
        let (first, second) = (slots[0], slots[isPair ? 1 : 0])
        precondition(first < batch.slots && second < batch.slots)
        var row = 0
        try halves.append(upTo: batch.count) { room, most throws(MigrationError) in
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

    private func giveUp() {
        isTooLarge = true
        sorter = nil
        halves = nil
        entries = nil
    }
}
