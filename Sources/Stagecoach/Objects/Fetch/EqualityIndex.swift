import Diagnostics
import Rows
import SpillStorage

/// A temporary index of one column: the hash of a value to the keys of the rows that had it once.
///
/// What it gives are candidates: rows change after they were noted, and hashes are shared, so whoever looks up reads
/// the rows again. A change adds an entry, nothing is taken out.
/// Memory: the allowance; the rest lies in the work directory. Complexity: a lookup a binary search in each run.
final class EqualityIndex {
    private let log: RecordLog
    private let options: UInt8
    private let record: UnsafeMutablePointer<UInt64>

    /// - Parameter options: what comparisons overlook.
    init(directory: WorkDirectory, options: UInt8, memory: Int) {
        log = RecordLog(directory: directory, name: "fetch-index", width: 2, indexWords: 2, memory: memory)
        self.options = options
        record = .allocate(capacity: 2)
        record.initialize(repeating: 0, count: 2)
    }

    deinit { record.deallocate() }

    /// Notes a row's value; NULL is not noted.
    func add(_ cell: Cell, of batch: borrowing RowBatch, key: Int64) throws(MigrationError) {
        guard let hash = FetchHash.hash(cell, in: batch, options: options) else { return }
        record[0] = hash
        record[1] = SortKey.encode(key)
        try log.append(record)
    }

    /// The keys of rows that may hold one of the values, ascending, each once.
    ///
    /// - Complexity: O(log rows + rows noted with the values).
    func keys(holding values: [StoredValue]) throws(MigrationError) -> [Int64] {
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
        if isAscending { return keys }
        keys.sort()
        var kept = 1
        for index in 1..<keys.count where keys[index] != keys[kept - 1] {
            keys[kept] = keys[index]
            kept += 1
        }
        keys.removeLast(keys.count - kept)
        return keys
    }
}

/// The equality indexes of one side: made when a column is asked for a second time, the one not used longest given up
/// where there are too many.
///
/// Memory: ``memory`` for each of at most ``most`` indexes; 16 bytes a column asked for once.
final class EqualityIndexes {
    static let most = 8
    private let directory: WorkDirectory
    private let memory: Int
    private(set) var indexes: [FetchColumn: EqualityIndex] = [:]
    /// Columns asked for once.
    private var known: Set<FetchColumn> = []
    /// Least lately used first.
    private var uses: [FetchColumn] = []

    /// - Parameter memory: bytes for all of them.
    init(directory: WorkDirectory, memory: Int) {
        self.directory = directory
        self.memory = memory / EqualityIndexes.most
    }

    /// The index of a column that has one.
    func index(of column: FetchColumn) -> EqualityIndex? {
        guard let index = indexes[column] else { return nil }
        if uses.last != column {
            uses.removeAll { $0 == column }
            uses.append(column)
        }
        return index
    }

    /// Notes that a column was asked for; true where it was before.
    func noteUse(of column: FetchColumn) -> Bool { !known.insert(column).inserted }

    /// Adds an empty index, which the caller fills.
    func add(_ column: FetchColumn) -> EqualityIndex {
        if uses.count == EqualityIndexes.most { indexes[uses.removeFirst()] = nil }
        let index = EqualityIndex(directory: directory, options: column.options, memory: memory)
        indexes[column] = index
        uses.append(column)
        return index
    }

    /// Gives all of them up.
    func removeAll() {
        indexes = [:]
        uses = []
        known = []
    }
}
