import Diagnostics
import ManagedModel

/// The content of an existing store to which rows will be appended, read without changing it.
package struct ExistingStore: Sendable {
    package let metadata: StoreMetadata
    /// The destination model's schema with the file's names and entity numbers.
    package let schema: StoreSchema
    /// The highest key ever given out, by table; 0 for none.
    package var highestKeys: [Int64]
    /// True for tables that have rows.
    package var hasRows: [Bool]
    /// The number of transactions in the store's persistent history; 0 if it has none.
    package let historyTransactions: Int64

    /// Z_ENT of TRANSACTION in a store with persistent history (SampleModel2_V1).
    private static let historyTransaction = 16002

    /// Reads a store.
    ///
    /// - Parameters:
    ///   - path: the main file; its -wal is read.
    ///   - model: the model of the store; the caller compares ``metadata``'s hashes.
    ///   - check: called with the metadata before tables are searched, because a store of another model has other tables.
    /// - Throws: the errors of ``SourceStore``; `store.schemaMismatch`, `store.incomplete`, `destination.mirrored` (65).
    /// - Complexity: O(tables) lookups; a small page cache during the call.
    package init(
        path: String, model: ManagedObjectModel, check: (StoreMetadata) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let store = try SourceStore(path: path)
        metadata = store.metadata
        historyTransactions = store.primaryKeys.first { $0.number == Self.historyTransaction }?.maximum ?? 0
        try check(metadata)
        let mirrored = try store.mirroringTables()
        guard mirrored == 0 else {
            throw MigrationError(
                "destination.mirrored", .data,
                "The destination is mirrored by CloudKit (\(mirrored) ANSCK… \(mirrored == 1 ? "table" : "tables")), which takes "
                    + "objects from its history: appended ones would never reach the cloud",
                remedy: "Migrate to a fresh destination, or add the objects in the app", context: .init(path: path))
        }
        let layout = try store.layout(for: model)
        schema = StoreSchema(model: model).adopting(layout)
        highestKeys = layout.tables.map(\.maximumKey)
        var filled: [Bool] = []
        for table in layout.tables.indices { filled.append(try store.greatestKey(table: table, in: layout) != nil) }
        hasRows = filled
        try store.close()
    }
}
