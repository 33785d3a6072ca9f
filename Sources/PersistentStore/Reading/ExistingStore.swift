import Archives
import Diagnostics
import ManagedModel

/// What a store that rows are appended to holds already, read without touching it.
package struct ExistingStore: Sendable {
    package let metadata: StoreMetadata
    /// The destination model's schema under the file's names and entity numbers.
    package let schema: StoreSchema
    /// Highest key ever given, by table; 0 for none.
    package private(set) var highestKeys: [Int64]
    /// Whether a table has rows.
    package private(set) var hasRows: [Bool]
    /// Transactions of the store's persistent history; 0 where it has none.
    package let historyTransactions: Int64

    /// Z_ENT of TRANSACTION in a store with persistent history (SampleModel2_V1).
    private static let historyTransaction = 16002

    /// The store as it was before a run that has added rows to it.
    package func before(highestKeys: [Int64], hasRows: [Bool]) -> ExistingStore {
        var before = self
        before.highestKeys = highestKeys
        before.hasRows = hasRows
        return before
    }

    /// Reads a store.
    ///
    /// - Parameters:
    ///   - path: the main file; its -wal is read.
    ///   - model: the model that the store must be of; the caller compares ``metadata``'s hashes.
    ///   - check: called with the metadata before tables are looked for: a store of another model has others.
    /// - Throws: what ``SourceStore`` throws; `store.schemaMismatch`, `store.incomplete` (65).
    /// - Complexity: O(tables) lookups; a small page cache for the time of the call.
    package init(
        path: String, model: ManagedObjectModel, check: (StoreMetadata) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let store = try SourceStore(path: path, cacheBytes: 256 << 10, valueLimit: 64 << 20, temporaryDirectory: nil)
        metadata = store.metadata
        historyTransactions = store.primaryKeys.first { $0.number == Self.historyTransaction }?.maximum ?? 0
        try check(metadata)
        let layout = try store.layout(for: model)
        schema = StoreSchema(model: model).adopting(layout)
        highestKeys = layout.tables.map(\.maximumKey)
        var filled: [Bool] = []
        for table in layout.tables.indices { filled.append(try store.greatestKey(table: table, in: layout) != nil) }
        hasRows = filled
        try store.close()
    }
}
