import Diagnostics
import SpillStorage

/// The keys of source tables in a state of the row path, so that a resumed run need not read these tables again.
///
/// A set of more than 16 KiB lies in a file, of which the state has the directory: some bytes for each chunk of keys.
extension PlanKeys {
    /// Encodes the keys of the tables of which all rows were read.
    ///
    /// - Parameter earlier: the keys of the mapping models that ran before, by mapping. They are left out.
    /// - Throws: `spill.full`, `spill.io` (74): large sets are written to their files.
    func bytes(without earlier: [Int: DestinationKeys]) throws(MigrationError) -> [UInt8] {
        let own = byMapping.filter { earlier[$0.key] == nil }.sorted { $0.key < $1.key }.map(\.value)
        let sets = Dictionary(grouping: own) { $0.mapping.sourceTable ?? -1 }
        var tables = byTable.keys.filter { table in !(sets[table] ?? []).contains(where: \.isFilledByLoad) }.sorted()
        var coder = StateCoder()
        try coder.code(&tables)
        for table in tables {
            guard var all = byTable[table] else { continue }
            try SavedKeys.code(&all, sets[table] ?? [], with: &coder)
        }
        return coder.bytes
    }
}

/// The saved keys, restored table by table.
struct SavedKeys {
    private var coder: StateCoder
    /// The tables whose keys are still to be read, ascending.
    private var tables: [Int] = []

    /// - Parameter bytes: the result of ``PlanKeys/bytes(without:)``; nil for no keys.
    /// - Throws: `journal.damaged`.
    init(_ bytes: [UInt8]?) throws(MigrationError) {
        coder = StateCoder(reading: bytes ?? [])
        if bytes != nil { try coder.code(&tables) }
    }

    /// Restores the keys of a table. Tables are asked for in ascending order.
    ///
    /// - Parameters:
    ///   - all: an empty set for all keys of the table; replaced by that of a mapping if they share one.
    ///   - sets: the keys of the mappings that read the table, still empty, in mapping order.
    /// - Returns: false if the keys of this table were not saved.
    /// - Throws: `journal.damaged`, `spill.io` (74).
    mutating func restore(
        table: Int, _ all: inout KeyIndex, _ sets: [DestinationKeys]
    ) throws(MigrationError) -> Bool {
        guard tables.first == table else { return false }
        tables.removeFirst()
        try Self.code(&all, sets, with: &coder)
        if tables.isEmpty { try coder.finish() }
        return true
    }

    /// Writes or reads the sets of one table, each once.
    fileprivate static func code(
        _ all: inout KeyIndex, _ sets: [DestinationKeys], with coder: inout StateCoder
    ) throws(MigrationError) {
        var coded: [KeyIndex] = []
        for keys in sets where !coded.contains(where: { $0 === keys.index }) {
            try keys.index.code(with: &coder)
            coded.append(keys.index)
        }
        // The set of all keys may be one of the mappings' sets.
        var shared = coded.firstIndex { $0 === all } ?? coded.count
        try coder.code(&shared, upTo: coded.count)
        if shared < coded.count { all = coded[shared] } else { try all.code(with: &coder) }
    }
}
