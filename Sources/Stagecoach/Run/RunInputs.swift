import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The inputs of one run: the stores, the folder for spills, the shares of memory and the options. None of them changes
/// while the run works.
final class RunInputs {
    let source: SourceStore
    let layout: StoreLayout
    let destinationSchema: StoreSchema
    let work: WorkDirectory
    let budget: MemoryShares
    let options: MigrationOptions
    /// The number of entity mappings in all mapping models of the run.
    let mappingCount: Int
    /// The path where the destination will be published; policies see it as the store's URL.
    let destinationPath: String
    /// The highest key ever given in each destination table, before the run.
    let highestKeys: [Int64]

    /// - Parameter existing: the store that is appended to; nil for a fresh one.
    init(
        source: SourceStore, layout: StoreLayout, destinationSchema: StoreSchema, work: WorkDirectory,
        budget: MemoryShares, options: MigrationOptions, mappingCount: Int, destinationPath: String,
        existing: ExistingStore?
    ) {
        self.source = source
        self.layout = layout
        self.destinationSchema = destinationSchema
        self.work = work
        self.budget = budget
        self.options = options
        self.mappingCount = mappingCount
        self.destinationPath = destinationPath
        highestKeys = existing?.highestKeys ?? Array(repeating: 0, count: destinationSchema.tables.count)
    }

    /// Tells whether a row existed before the run.
    func isOlder(_ key: Int64, table: Int) -> Bool { key <= highestKeys[table] }

    // MARK: - Batches

    /// Returns the number of rows in a batch with a given number of slots: the user's choice, or as many as fit the
    /// memory share.
    func rowCapacity(slots: Int) -> Int {
        let bytesPerRow = 16 * max(1, slots) + 8
        let fitting = max(1, budget.batch / bytesPerRow)
        return min(options.batchSize ?? 2000, fitting)
    }

    /// Returns an empty batch for source rows.
    func sourceBatch(slots: Int) -> RowBatch {
        RowBatch(slots: slots, rowCapacity: rowCapacity(slots: slots), byteTarget: budget.batch)
    }

    /// Returns an empty batch for destination rows.
    func destinationBatch(slots: Int) -> RowBatch {
        RowBatch(slots: slots, rowCapacity: rowCapacity(slots: slots), byteTarget: budget.batch)
    }

    /// Returns the size of batches that pass directly from the reader to the writer. Both batches together fit a
    /// processor core's cache, except for rows of many kibibytes.
    ///
    /// - Parameter slots: the cells per row of the wider batch.
    func nearBatch(slots: Int) -> (rows: Int, bytes: Int) {
        (min(rowCapacity(slots: slots), max(64, (96 << 10) / (16 * max(1, slots)))), budget.batch)
    }

    /// Returns the number of rows in a batch of a fetch: as many as fit its share of memory, independent of the user's
    /// batch size.
    func fetchCapacity(slots: Int) -> Int { max(1, min(2000, budget.batch / (16 * max(1, slots) + 8))) }

    // MARK: - Tables

    /// Returns the maximum size in bytes of an index of all keys of a source table: a bit per key, and a little for
    /// their ranks.
    func keyBytes(ofTable table: Int) -> Int {
        Int(clamping: layout.tables[table].maximumKey / 8) / 32 * 33 + (64 << 10)
    }

    /// Returns the columns of a mapping's destination table that an index covers or that the condition of an index
    /// names. Their values are needed as a whole.
    func indexedColumns(of mapping: PlannedMapping) -> Set<Int> {
        guard let table = mapping.destinationTable else { return [] }
        let indexes = destinationSchema.indexes[table]
        let conditions = indexes.compactMap(\.condition)
        var columns = Set(indexes.flatMap { $0.terms.map(\.column) }).subtracting([StoreIndex.Term.key])
        for tree in destinationSchema.trees where tree.table == table { columns.formUnion(tree.columns) }
        for (column, description) in destinationSchema.tables[table].columns.enumerated()
        where conditions.contains(where: { $0.contains(description.name) }) {
            columns.insert(column)
        }
        return columns
    }
}
