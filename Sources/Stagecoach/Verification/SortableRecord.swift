import Diagnostics
import SpillStorage

/// A record of a sort: a struct of words, in whose order the records come.
///
/// Its fields are of type UInt64 or Int, if that is never negative, or have one of the wrappers ``Sorted`` and
/// ``SortedOptional``.
protocol SortableRecord: BitwiseCopyable {}

/// A number as a word of a record.
@propertyWrapper struct Sorted: BitwiseCopyable {
    private var word: UInt64

    init(wrappedValue: Int64) { word = SortKey.encode(wrappedValue) }

    var wrappedValue: Int64 {
        get { SortKey.decode(word) }
        set { word = SortKey.encode(newValue) }
    }
}

/// A number or nil as two words of a record; nil comes first.
@propertyWrapper struct SortedOptional: BitwiseCopyable {
    private let isThere: UInt64
    private let word: UInt64

    init(wrappedValue: Int64?) {
        isThere = wrappedValue == nil ? 0 : 1
        word = wrappedValue.map(SortKey.encode) ?? 0
    }

    var wrappedValue: Int64? { isThere == 0 ? nil : SortKey.decode(word) }
}

/// A sort of records, in files where they outgrow its memory.
final class RecordSort<Record: SortableRecord> {
    private let sorter: RecordSorter

    init(directory: WorkDirectory, memory: Int, duplicates: RecordSorter.Duplicates) {
        sorter = RecordSorter(
            directory: directory, name: "sort", width: MemoryLayout<Record>.size / 8, memory: memory,
            duplicates: duplicates)
    }

    /// Adds a record.
    func append(_ record: Record) throws(MigrationError) {
        try withUnsafePointer(to: record) { pointer throws(MigrationError) in
            try sorter.append(UnsafeRawPointer(pointer).assumingMemoryBound(to: UInt64.self))
        }
    }

    /// Sorts the records, and shows the first one.
    func finish() throws(MigrationError) -> RecordStream<Record> {
        try RecordStream(try sorter.finish())
    }
}

/// The records of a sort, in order.
final class RecordStream<Record: SortableRecord> {
    private let records: SortedRecords
    private let words: UnsafeMutablePointer<UInt64>
    /// The record in view; nil at the end.
    @exclusivity(unchecked) private(set) var current: Record?

    init(_ records: SortedRecords) throws(MigrationError) {
        self.records = records
        words = .allocate(capacity: MemoryLayout<Record>.size / 8)
        try advance()
    }

    deinit { words.deallocate() }

    /// Moves to the next record.
    func advance() throws(MigrationError) {
        current = try records.next(into: words) ? UnsafeRawPointer(words).load(as: Record.self) : nil
    }

    /// Returns the record in view and moves to the next.
    func next() throws(MigrationError) -> Record? {
        guard let record = current else { return nil }
        try advance()
        return record
    }
}
