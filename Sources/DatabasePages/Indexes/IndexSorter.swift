import Diagnostics
import Rows
import SpillStorage

/// Sorts the entries of one index out of core while the rows of its table are written, then builds its tree.
///
/// Rows come in ascending order of their ids, so a sort by the index's values alone would do; the id is the last word because
/// equal values stand in its order.
///
/// Memory: what the sorter is given.
/// Complexity: O(n log n) for n rows.
package final class IndexSorter {
    /// How the building of an index ended.
    package enum Outcome: Sendable {
        /// The tree has all entries.
        case built
        /// A value has no word: the tree is empty and has to be built in another way.
        case otherValues
        /// Rows have the same values in a unique index: the tree is empty, and pages of the file may be lost.
        case duplicates
    }

    private let terms: [IndexTerm]
    private let isUnique: Bool
    private var sorter: RecordSorter?
    private let words: UnsafeMutablePointer<UInt64>
    private let last: UnsafeMutablePointer<UInt64>

    /// The most columns that an index may have here.
    package static let mostTerms = 7

    /// - Parameters:
    ///   - terms: 1 to ``mostTerms``.
    ///   - memory: bytes for the sort.
    package init(terms: [IndexTerm], isUnique: Bool, directory: WorkDirectory, memory: Int) {
        precondition(!terms.isEmpty && terms.count <= Self.mostTerms)
        self.terms = terms
        self.isUnique = isUnique
        sorter = RecordSorter(directory: directory, name: "index", width: terms.count + 1, memory: memory)
        words = .allocate(capacity: terms.count + 1)
        last = .allocate(capacity: terms.count + 1)
    }

    deinit {
        words.deallocate()
        last.deallocate()
    }

    /// Adds the entries of a batch's rows.
    ///
    /// - Parameter firstID: the id of the batch's first row where rows are numbered; nil takes the batch's keys.
    /// - Throws: `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func append(_ batch: borrowing RowBatch, firstID: Int64?) throws(MigrationError) {
        guard let sorter else { return }
        let (terms, words) = (terms, words)
        for row in 0..<batch.count {
            let cells = batch.cells(ofRow: row)
            for place in terms.indices {
                let term = terms[place]
                precondition(term.slot < batch.slots)
                guard let word = term.word(of: cells[term.slot]) else {
                    self.sorter = nil
                    return
                }
                words[place] = word
            }
            words[terms.count] = SortKey.encode(firstID.map { $0 + Int64(row) } ?? batch.key(row))
            if terms.count == 1 {
                try sorter.append(words[0], words[1])
            } else {
                try sorter.append(words)
            }
        }
    }

    /// Fills the index's tree.
    ///
    /// - Throws: `spill.…`, `store.full`, `store.io` (74), `store.tooLarge`.
    package func build(into loader: IndexLoader) throws(MigrationError) -> Outcome {
        guard let sorter else { return .otherValues }
        let sorted = try sorter.finish()
        self.sorter = nil
        let record = UnsafeMutableRawPointer.allocate(byteCount: (terms.count + 1) * 9 + 9, alignment: 8)
        defer { record.deallocate() }
        var isFirst = true
        while try sorted.next(into: words) {
            if isUnique {
                if !isFirst, isDuplicate() { return .duplicates }
                last.update(from: words, count: terms.count)
                isFirst = false
            }
            try loader.append(UnsafeRawBufferPointer(start: record, count: write(to: record)))
        }
        try loader.finish()
        return .built
    }

    /// Whether the entry has the values of the last one; one with a NULL among them never has.
    private func isDuplicate() -> Bool {
        for place in terms.indices where words[place] != last[place] { return false }
        for place in terms.indices where terms[place].isNull(words[place]) { return false }
        return true
    }

    /// Writes the entry's record and returns its bytes.
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
