import Diagnostics
import Rows
import SpillStorage

/// Entries of one or two columns of integers in half as many words: references to objects, whose keys hardly ever exceed four
/// bytes, and link tables. Half the bytes make half the sort.
///
/// A half is 0 for NULL, else the value and one. An entry of one column is one word, the value's half above the row's id; an
/// entry of two columns is a word of both halves, and the row's id as a word of its own.
enum HalfWords {
    /// Whether entries of these columns can have halves.
    static func fit(_ terms: [IndexTerm]) -> Bool {
        terms.count <= 2 && terms.allSatisfy { $0.affinity == .integer && $0.isAscending }
    }

    /// A value's half; nil where there is none.
    @inline(__always)
    static func half(of cell: Cell) -> UInt64? {
        switch cell.kind {
        case .null: 0
        case .integer where cell.bits < 0xFFFF_FFFF: cell.bits &+ 1
        default: nil
        }
    }

    /// The value of a half; nil for NULL.
    @inline(__always)
    static func value(ofHalf half: UInt64) -> Int64? { half == 0 ? nil : Int64(bitPattern: half &- 1) }

    /// The word of a half, as ``IndexTerm`` makes it.
    @inline(__always)
    static func word(ofHalf half: UInt64) -> UInt64 { half == 0 ? 0 : (half &- 1) ^ (1 << 63) }
}

/// The entries of an index that are words, in order: those that were sorted as halves and the others, merged.
///
/// Memory: what both streams hold.
final class SortedWords {
    private let halves: SortedRecords?
    private let words: SortedRecords?
    private let terms: Int
    /// The entries at the streams' heads, as words.
    private let half: UnsafeMutablePointer<UInt64>
    private let word: UnsafeMutablePointer<UInt64>
    private var hasHalf = false
    private var hasWord = false
    private var isStarted = false

    /// - Parameter terms: the index's columns; each entry has a word more, the row's id.
    init(halves: SortedRecords?, words: SortedRecords?, terms: Int) {
        self.halves = halves
        self.words = words
        self.terms = terms
        half = .allocate(capacity: terms + 1)
        word = .allocate(capacity: terms + 1)
    }

    deinit {
        half.deallocate()
        word.deallocate()
    }

    /// Copies the next entry; false at the end.
    ///
    /// - Throws: `spill.damaged`, `spill.io` (74).
    func next(into target: UnsafeMutablePointer<UInt64>) throws(MigrationError) -> Bool {
        guard halves != nil else { return try words?.next(into: target) ?? false }
        if !isStarted {
            isStarted = true
            hasHalf = try nextHalf()
            hasWord = try words?.next(into: word) ?? false
        }
        if hasHalf, !hasWord || precedes(half, word) {
            target.update(from: half, count: terms + 1)
            hasHalf = try nextHalf()
            return true
        }
        guard hasWord else { return false }
        target.update(from: word, count: terms + 1)
        hasWord = try words?.next(into: word) ?? false
        return true
    }

    private func precedes(_ left: UnsafePointer<UInt64>, _ right: UnsafePointer<UInt64>) -> Bool {
        for place in 0...terms where left[place] != right[place] { return left[place] < right[place] }
        return true
    }

    private func nextHalf() throws(MigrationError) -> Bool {
        guard let halves, try halves.next(into: half) else { return false }
        let packed = half[0]
        if terms == 1 {
            half[1] = SortKey.encode(Int64(packed & 0xFFFF_FFFF))
        } else {
            half[2] = half[1]
            half[1] = HalfWords.word(ofHalf: packed & 0xFFFF_FFFF)
        }
        half[0] = HalfWords.word(ofHalf: packed >> 32)
        return true
    }
}
