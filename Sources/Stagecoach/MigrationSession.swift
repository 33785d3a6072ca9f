import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import Rows
import SpillStorage

/// What the stages of one run share: the source, the destination's schema, the work directory, memory and counts.
final class MigrationSession {
    let source: SourceStore
    let layout: StoreLayout
    let destinationSchema: StoreSchema
    let work: WorkDirectory
    let budget: MemoryShares
    let options: MigrationOptions
    let progress: ProgressCounter
    let cancellation: CancellationFlag
    var counts = MigrationCounts()
    /// Set once the keys are read.
    var sourceKeys: SourceKeys?

    init(
        source: SourceStore, layout: StoreLayout, destinationSchema: StoreSchema, work: WorkDirectory,
        budget: MemoryShares, options: MigrationOptions, progress: ProgressCounter, cancellation: CancellationFlag
    ) {
        self.source = source
        self.layout = layout
        self.destinationSchema = destinationSchema
        self.work = work
        self.budget = budget
        self.options = options
        self.progress = progress
        self.cancellation = cancellation
    }

    /// Ends the run where somebody asked for it. Called once a batch.
    func checkCancelled() throws {
        if let error = cancellation.error { throw error }
        progress.spilled(bytes: work.bytesWritten)
    }

    /// Rows a batch of so many slots takes: what the user asked for, or what its share of memory holds.
    func rowCapacity(slots: Int) -> Int {
        let bytesPerRow = 16 * max(1, slots) + 8
        let fitting = max(1, budget.batch / bytesPerRow)
        return min(options.batchSize ?? 2000, fitting)
    }

    /// An empty batch for source rows.
    func sourceBatch(slots: Int) -> RowBatch {
        RowBatch(slots: slots, rowCapacity: rowCapacity(slots: slots), byteTarget: budget.batch)
    }

    /// An empty batch for destination rows.
    func destinationBatch(slots: Int) -> RowBatch {
        RowBatch(slots: slots, rowCapacity: rowCapacity(slots: slots), byteTarget: budget.batch)
    }

    /// An external sort with its share of memory.
    func sorter(width: Int) -> RecordSorter {
        RecordSorter(directory: work, name: "sort", width: width, memory: budget.sort)
    }

    func add(_ references: ReferenceCounts) {
        counts.danglingReferences += references.dangling
        counts.unmigratedReferences += references.unmigrated
        counts.surplusToOne += references.surplus
    }
}
