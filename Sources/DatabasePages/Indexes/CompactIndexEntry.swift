import Diagnostics
import Rows
import SpillStorage

/// The layout of index entries of one or two integer columns in half as many words: references to objects, whose keys rarely
/// exceed four bytes, and link tables. Half the bytes halve the work of the sort.
///
/// A half is 0 for NULL, otherwise the value plus one. An entry of one column is one word: the value's half above the row's id.
/// An entry of two columns is one word too if their values are known to be small. Otherwise it is two words: one of both
/// halves, and one of the row's id.
struct CompactIndexEntry: Equatable {
    /// The number of words of an entry, 1 or 2.
    let width: Int
    /// The number of bits of the first word that hold the second value; 0 if there is one column.
    let secondBits: UInt64
    /// The number of bits at the end of the first word that hold the row's id; 0 if the id has a word of its own.
    let idBits: UInt64
    // Exclusive upper bounds of the halves and ids that an entry has room for.
    let firstLimit: UInt64
    let secondLimit: UInt64
    private let idLimit: UInt64

    /// An entry of two columns in one word has room for 2^5 times as many rows as values of a column.
    private static let rowsPerValue: UInt64 = 5

    /// Makes a layout; nil if entries of these columns cannot be halves.
    init?(_ terms: [IndexTerm]) {
        guard terms.count <= 2, terms.allSatisfy({ $0.affinity == .integer && $0.isAscending }) else { return nil }
        guard terms.count == 2 else {
            self.init(width: 1, secondBits: 0, idBits: 32)
            return
        }
        let bits = terms.map { term in term.mostExpected.map { Self.bits(upTo: $0) } ?? 32 }
        let rows = min(32, max(bits[0], bits[1]) + Self.rowsPerValue)
        let isPacked = bits[0] + bits[1] + rows <= 64
        self.init(
            width: isPacked ? 1 : 2, secondBits: isPacked ? bits[1] : 32,
            idBits: isPacked ? min(32, 64 - bits[0] - bits[1]) : 0)
    }

    private init(width: Int, secondBits: UInt64, idBits: UInt64) {
        (self.width, self.secondBits, self.idBits) = (width, secondBits, idBits)
        firstLimit = 1 << min(32, width == 1 ? 64 - secondBits - idBits : 32)
        secondLimit = 1 << secondBits
        idLimit = 1 << idBits
    }

    /// The number of bits of the halves of values up to a largest one.
    private static func bits(upTo most: Int64) -> UInt64 {
        most < 0 || most >= 0xFFFF_FFFF ? 32 : UInt64(64 - (most + 1).leadingZeroBitCount)
    }

    /// The numbers of an entry's last bits that may ascend as rows are appended, the likeliest first: the second value with the
    /// row's id (as in a link table), and the row's id alone.
    var ascendingBits: [Int] {
        secondBits > 0 && idBits > 0 ? [Int(secondBits + idBits), Int(idBits)] : [Int(max(secondBits, idBits))]
    }

    /// The word of two halves and an id; nil if one of them does not fit.
    @inline(__always)
    func word(of first: UInt64, _ second: UInt64, id: Int64) -> UInt64? {
        let id = UInt64(bitPattern: id)
        guard first < firstLimit, second < secondLimit, id < idLimit else { return nil }
        return first &<< (secondBits &+ idBits) | second &<< idBits | id
    }

    @inline(__always)
    func first(of word: UInt64) -> UInt64 { word >> (secondBits &+ idBits) }

    /// The second half of an entry; 0 if there is one column.
    @inline(__always)
    func second(of word: UInt64) -> UInt64 { (word >> idBits) & (1 << secondBits &- 1) }

    @inline(__always)
    func id(of entry: UnsafePointer<UInt64>) -> Int64 {
        width == 1 ? Int64(bitPattern: entry[0] & (1 << idBits &- 1)) : SortKey.decode(entry[1])
    }

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

    /// Turns a half into the word that ``IndexTerm`` would make of its value.
    @inline(__always)
    static func word(ofHalf half: UInt64) -> UInt64 { half == 0 ? 0 : (half &- 1) ^ (1 << 63) }
}

/// The entries of an index that are words, in order: the entries sorted as halves and the others, merged.
///
/// Memory: that of both streams.
final class SortedWords {
    private let halves: SortedRecords?
    private let words: SortedRecords?
    private let form: CompactIndexEntry?
    private let terms: Int
    /// The next entry of each stream, as words.
    private let half: UnsafeMutablePointer<UInt64>
    private let word: UnsafeMutablePointer<UInt64>
    private var hasHalf = false
    private var hasWord = false
    private var isStarted = false

    /// Makes a merged stream.
    ///
    /// - Parameters:
    ///   - form: the layout of the halves; not nil if there are any.
    ///   - terms: the number of the index's columns; each entry has one word more, the row's id.
    init(halves: SortedRecords?, form: CompactIndexEntry?, words: SortedRecords?, terms: Int) {
        precondition(halves == nil || form != nil)
        self.halves = halves
        self.form = form
        self.words = words
        self.terms = terms
        half = .allocate(capacity: terms + 1)
        word = .allocate(capacity: terms + 1)
    }

    deinit {
        half.deallocate()
        word.deallocate()
    }

    /// Copies the next entry. Returns false at the end.
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
        guard let halves, let form, try halves.next(into: half) else { return false }
        let (packed, id) = (half[0], form.id(of: half))
        half[0] = CompactIndexEntry.word(ofHalf: form.first(of: packed))
        if terms == 2 { half[1] = CompactIndexEntry.word(ofHalf: form.second(of: packed)) }
        half[terms] = SortKey.encode(id)
        return true
    }
}
