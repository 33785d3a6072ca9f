import Diagnostics
import Rows
import SpillStorage

/// A temporary index of one column. It maps the hash of a value to the keys of the rows that have or had the value.
///
/// The keys are only candidates, because rows change after they were noted and values may share a hash: read the rows
/// again after a lookup. A change adds an entry; no entry is removed. Memory: the allowance; the rest is in the work
/// directory. Complexity: a lookup is a binary search in each run.
final class EqualityIndex {
    private let log: RecordLog
    private let options: UInt8
    /// The entry that was added last, and the words of a lookup.
    private let record: UnsafeMutablePointer<UInt64>
    private let wanted: UnsafeMutablePointer<UInt64>
    /// For some hashes, the key before which no row has such a value any more. Without it, a caller that repeatedly
    /// takes the first row with a value, changes it and asks again would read all outdated entries each time.
    private var firstLive: [UInt64: Int64] = [:]
    private static let mostHints = 1024
    /// The number of entries that lookups have read.
    private(set) var entriesRead = 0

    /// Creates an empty index.
    ///
    /// - Parameters:
    ///   - options: the differences that comparisons ignore.
    ///   - memory: the memory that all indexes of a side share.
    init(directory: WorkDirectory, options: UInt8, memory: RecordMemory) {
        // A lookup reads a block of each run, so few runs pay, although they are merged more often.
        log = RecordLog(
            directory: directory, name: "fetch-index", width: 2, indexWords: 2, memory: memory, runsOfLevel: 2)
        self.options = options
        record = .allocate(capacity: 4)
        record.initialize(repeating: 0, count: 4)
        wanted = record + 2
    }

    deinit { record.deallocate() }

    /// Notes a row's value; NULL is not noted.
    func add(_ cell: Cell, of batch: borrowing RowBatch, key: Int64) throws(MigrationError) {
        guard let hash = FetchHash.hash(cell, in: batch, options: options) else { return }
        // Code that sets an object's value again and again mostly gives it the same one.
        if record[0] == hash, record[1] == SortKey.encode(key) { return }
        record[0] = hash
        record[1] = SortKey.encode(key)
        try log.append(record)
        if !firstLive.isEmpty, let hint = firstLive[hash], key < hint { firstLive[hash] = key }
    }

    /// Returns the hash of a value.
    func hash(of value: ColumnValue) -> UInt64 { FetchHash.hash(value, options: options) }

    /// Tells whether a cell has a given hash.
    func has(_ cell: Cell, _ hash: UInt64, in batch: borrowing RowBatch) -> Bool {
        FetchHash.hash(cell, in: batch, options: options) == hash
    }

    /// Returns the key at which a lookup begins.
    func start(of hash: UInt64) -> Int64 { firstLive[hash] ?? .min }

    /// Notes that no row before a key has the hash.
    func noteStart(_ key: Int64, of hash: UInt64) {
        if firstLive.count >= EqualityIndex.mostHints, firstLive[hash] == nil { firstLive.removeAll() }
        firstLive[hash] = key
    }

    /// Returns a page of keys of rows that may have a hash, ascending, each once, from a given key on.
    ///
    /// - Returns: the keys, and the key at which the next page begins; nil if there is no further page.
    /// - Complexity: O(log rows + most · runs).
    func page(of hash: UInt64, from key: Int64, most: Int) throws(MigrationError) -> (keys: [Int64], next: Int64?) {
        wanted[0] = hash
        wanted[1] = SortKey.encode(key)
        var keys: [Int64] = []
        try log.forFirst(most, prefixWords: 1, from: wanted, startWords: 2) { keys.append(SortKey.decode($0[1])) }
        entriesRead += keys.count
        if keys.count < min(2, most) { return (keys, nil) }
        keys.sort()
        let isLast = keys.count < most
        let unique = Self.unique(keys.prefix(most))
        guard !isLast, let last = unique.last, last < .max else { return (unique, nil) }
        return (unique, last + 1)
    }

    /// Returns the keys of rows that may hold one of the values, ascending, each once.
    ///
    /// - Complexity: O(log rows + rows noted with the values).
    func keys(holding values: [ColumnValue]) throws(MigrationError) -> [Int64] {
        var keys: [Int64] = []
        var isAscending = true
        for value in values {
            var hash = FetchHash.hash(value, options: options)
            try log.forEach(prefix: &hash, words: 1) { record in
                let key = SortKey.decode(record[1])
                if let last = keys.last, last >= key { isAscending = false }
                keys.append(key)
            }
        }
        entriesRead += keys.count
        if isAscending { return keys }
        keys.sort()
        return Self.unique(keys[...])
    }

    private static func unique(_ keys: ArraySlice<Int64>) -> [Int64] {
        var unique: [Int64] = []
        unique.reserveCapacity(keys.count)
        for key in keys where unique.last != key { unique.append(key) }
        return unique
    }
}

/// The equality indexes of one side. An index is made when a column is asked for the second time. If there are too
/// many, the least recently used one is removed.
///
/// Memory: the allowance, for at most ``most`` indexes; 16 bytes for each column asked for once.
final class EqualityIndexes {
    static let most = 8
    private let directory: WorkDirectory
    private let memory: RecordMemory
    private(set) var indexes: [FetchColumn: EqualityIndex] = [:]
    /// The compiled kinds of predicates that only compare an attribute with a value.
    private var forms: [FetchEquality.Kind: FetchEquality.Form] = [:]
    /// The columns that were asked for.
    private var known: Set<FetchColumn> = []
    /// The indexed columns, the least recently used first.
    private var uses: [FetchColumn] = []

    /// Creates an empty set of indexes.
    ///
    /// - Parameter memory: bytes for all of them.
    init(directory: WorkDirectory, memory: Int) {
        self.directory = directory
        self.memory = RecordMemory(bytes: memory, blockBytes: 4096)
    }

    /// Returns the compiled form of a kind of predicate, made with the first one; nil if there is none.
    func form(_ kind: FetchEquality.Kind, make: () -> FetchEquality.Form?) -> FetchEquality.Form? {
        if let known = forms[kind] { return known }
        let made = make()
        forms[kind] = made
        return made
    }

    /// Returns the index of a column; nil if it has none.
    func index(of column: FetchColumn) -> EqualityIndex? {
        guard let index = indexes[column] else { return nil }
        if uses.last != column {
            uses.removeAll { $0 == column }
            uses.append(column)
        }
        return index
    }

    /// Notes that a column is asked for. Returns true if it was asked for before.
    func noteUse(of column: FetchColumn) -> Bool { !known.insert(column).inserted }

    /// Adds an empty index, which the caller fills.
    func add(_ column: FetchColumn) -> EqualityIndex {
        if uses.count == EqualityIndexes.most { indexes[uses.removeFirst()] = nil }
        let index = EqualityIndex(directory: directory, options: column.options, memory: memory)
        indexes[column] = index
        uses.append(column)
        return index
    }

    /// The number of entries that lookups in the current indexes have read.
    var entriesRead: Int { indexes.values.reduce(0) { $0 + $1.entriesRead } }

    /// Removes all indexes.
    func removeAll() {
        indexes = [:]
        forms = [:]
        uses = []
        known = []
    }
}
