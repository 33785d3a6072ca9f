import Diagnostics
import SpillStorage

/// A record of a sort: some words, in whose order the records come.
protocol SortableRecord {
    /// The number of words.
    static var width: Int { get }

    init(words: UnsafePointer<UInt64>)

    /// Writes the record's words.
    func write(to words: UnsafeMutablePointer<UInt64>)
}

/// A sort of records, in files where they outgrow its memory.
final class RecordSort<Record: SortableRecord> {
    private let sorter: RecordSorter
    private let words: UnsafeMutablePointer<UInt64>

    init(_ sorter: RecordSorter) {
        self.sorter = sorter
        words = .allocate(capacity: Record.width)
    }

    deinit { words.deallocate() }

    /// Adds a record.
    func append(_ record: Record) throws(MigrationError) {
        record.write(to: words)
        try sorter.append(words)
    }

    /// Sorts the records, and shows the first one.
    func finish() throws(MigrationError) -> RecordStream<Record> { try RecordStream(try sorter.finish()) }
}

/// The records of a sort, in order.
final class RecordStream<Record: SortableRecord> {
    private let records: SortedRecords
    private let words: UnsafeMutablePointer<UInt64>
    /// The record in view; nil at the end.
    @exclusivity(unchecked) private(set) var current: Record?

    init(_ records: SortedRecords) throws(MigrationError) {
        self.records = records
        words = .allocate(capacity: Record.width)
        try advance()
    }

    deinit { words.deallocate() }

    /// Moves to the next record.
    func advance() throws(MigrationError) {
        current = try records.next(into: words) ? Record(words: words) : nil
    }

    /// Returns the record in view and moves to the next.
    func next() throws(MigrationError) -> Record? {
        guard let record = current else { return nil }
        try advance()
        return record
    }
}

/// Writes fields into the words of a record, one after the other.
struct RecordFields {
    private var words: UnsafeMutablePointer<UInt64>

    init(_ words: UnsafeMutablePointer<UInt64>) { self.words = words }

    @inline(__always)
    mutating func write(_ word: UInt64) {
        words[0] = word
        words += 1
    }

    @inline(__always)
    mutating func write(_ number: Int64) { write(SortKey.encode(number)) }

    @inline(__always)
    mutating func write(_ number: Int) { write(UInt64(bitPattern: Int64(number))) }

    /// Writes two words; nil comes before every number.
    @inline(__always)
    mutating func write(_ number: Int64?) {
        write(UInt64(number == nil ? 0 : 1))
        let value: Int64 = number ?? 0
        write(value)
    }
}

/// Reads the fields of a record, one after the other.
struct RecordReading {
    private var words: UnsafePointer<UInt64>

    init(_ words: UnsafePointer<UInt64>) { self.words = words }

    @inline(__always)
    mutating func word() -> UInt64 {
        defer { words += 1 }
        return words[0]
    }

    @inline(__always)
    mutating func key() -> Int64 { SortKey.decode(word()) }

    @inline(__always)
    mutating func number() -> Int { Int(truncatingIfNeeded: word()) }

    @inline(__always)
    mutating func optional() -> Int64? {
        let isThere = word() == 1
        let number = key()
        return isThere ? number : nil
    }
}
