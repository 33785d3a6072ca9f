import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The state that the stages of one run share: the source, the destination's schema, the work directory, memory and
/// counts.
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
    /// The associations of the mapping models that ran before. Those of the current one are added for later models.
    let associations: AssociationArchive
    /// The number of entity mappings in all mapping models of the run.
    let mappingCount: Int
    /// The highest key ever given in each destination table, before the mapping model at work.
    private(set) var highestKeys: [Int64]
    /// The highest key ever given in each destination table, before the run.
    private let highestKeysBefore: [Int64]
    /// True for each destination table that has rows from before the mapping model at work.
    private(set) var hasRows: [Bool]
    /// The handling of broken rules.
    var validation = Validation()
    /// Rows written, by destination table.
    var rowsWritten: [Int]
    /// Links written, by join table of the destination.
    var linksWritten: [Int]
    /// Rows and links that an appended store held before the run.
    private(set) var existingRows: [Int]
    private(set) var existingLinks: [Int]
    /// The number of sorts that may hold memory at a time; set once the links are planned.
    var concurrentSorts = 6
    /// The time when unused heap memory was last given back, or when the session began.
    var trimmed = ContinuousClock.now
    /// The path where the destination will be published; policies see it as the store's URL.
    var destinationPath = ""
    /// The existing rows that the mapping model at work changed; nil if it cannot change any.
    var touched: TouchedRows?
    /// The checkpoints of the run; nil if none are taken.
    var checkpoints: CheckpointScheduler?
    /// The profile of the run; nil if none was asked for.
    var profile: RunProfile?
    /// The external binary values of the run; nil if the destination's model has none.
    var external: ExternalFiles?
    /// The map from this step's source objects to the objects of the chain's source; nil if no step ran before.
    var earlierObjects: PreviousStepIDMap?
    /// The keys of source objects; set once they are read.
    var sourceKeys: PlanKeys?
    /// The fates of source objects, for lookups that find nothing; set with the keys.
    var fates: ReferenceFates?
    /// True if more mapping models follow the one at work.
    var hasLaterModels = false
    /// References to objects that the mapping model at work does not migrate, kept if a policy or a later mapping model
    /// may still set them; nil if they are counted at once.
    private(set) var unmigrated: UnmigratedReferences?
    /// The unmigrated references of previous mapping models.
    private(set) var earlierUnmigrated: [UnmigratedReferences] = []

    /// Holds the session as long as it lives. A weak reference would make every strong one cost twice as much.
    final class Anchor {
        fileprivate(set) unowned(unsafe) var session: MigrationSession?
    }
    let anchor = Anchor()

    deinit { anchor.session = nil }

    init(
        source: SourceStore, layout: StoreLayout, destinationSchema: StoreSchema, work: WorkDirectory,
        budget: MemoryShares, options: MigrationOptions, progress: ProgressCounter, cancellation: CancellationFlag,
        associations: AssociationArchive, mappingCount: Int, existing: ExistingStore? = nil
    ) {
        self.associations = associations
        self.mappingCount = mappingCount
        highestKeys = existing?.highestKeys ?? Array(repeating: 0, count: destinationSchema.tables.count)
        highestKeysBefore = highestKeys
        hasRows = existing?.hasRows ?? Array(repeating: false, count: destinationSchema.tables.count)
        for table in associations.rejectingTables where hasRows.indices.contains(table) { hasRows[table] = true }
        self.source = source
        self.layout = layout
        self.destinationSchema = destinationSchema
        rowsWritten = Array(repeating: 0, count: destinationSchema.tables.count)
        linksWritten = Array(repeating: 0, count: destinationSchema.joinTables.count)
        existingRows = rowsWritten
        existingLinks = linksWritten
        self.work = work
        self.budget = budget
        self.options = options
        self.progress = progress
        self.cancellation = cancellation
        anchor.session = self
    }

    /// Tells whether a row existed before the mapping model at work.
    func isExisting(_ key: Int64, table: Int) -> Bool { hasRows[table] && key <= highestKeys[table] }

    /// Tells whether a row existed before the run.
    func isOlder(_ key: Int64, table: Int) -> Bool { key <= highestKeysBefore[table] }

    /// Notes the rows and links that an appended store held before the run.
    func countExisting(_ counts: (tables: [Int], joinTables: [Int])) {
        existingRows = counts.tables
        existingLinks = counts.joinTables
    }

    /// Begins the search for references of a mapping model; also called when its work is repeated.
    ///
    /// - Parameter mayBeSet: true if the model's own policies may set references that its lookups do not find.
    func beginReferences(mayBeSet: Bool) {
        unmigrated = mayBeSet || hasLaterModels ? UnmigratedReferences(session: self) : nil
    }

    /// Counts the references that are nil after all mapping models have run.
    func countUnmigrated(in destination: DestinationStore) throws {
        for references in earlierUnmigrated {
            counts.add(try references.nilReferences(in: destination, self))
        }
    }

    /// Ends a mapping model: its rows are existing rows for the next one.
    func endModel(highest: [Int64], _ tables: [MappingAssociations]) {
        associations.append(tables)
        if let unmigrated { earlierUnmigrated.append(unmigrated) }
        unmigrated = nil
        for table in highest.indices {
            highestKeys[table] = max(highestKeys[table], highest[table])
            if rowsWritten[table] > 0 || associations.rejectingTables.contains(table) { hasRows[table] = true }
        }
        sourceKeys = nil
        fates = nil
        validation = Validation()
        concurrentSorts = 6
        touched?.close()
        touched = nil
    }

    /// Restores the results of the mapping models that a killed run completed.
    ///
    /// - Parameter references: the unmigrated references of each model that kept any.
    func restoreModels(
        _ turns: JournalRecord.Turns, _ tables: [MappingAssociations], _ references: [UnmigratedReferences]
    ) {
        associations.append(tables)
        associations.hasDeletions = turns.hasDeletions
        associations.rejectingTables = Set(turns.rejectingTables)
        earlierUnmigrated = references
        highestKeys = turns.highestKeys
        if let before = turns.hasRows.last { hasRows = before }
    }

    /// Ends the run if a cancellation was asked for. Called once a batch.
    func checkCancelled() throws {
        if let error = cancellation.error { throw error }
        progress.spilled(bytes: work.bytesWritten)
    }

    /// The memory limit up to which the program's own code counts.
    private static let smallLimit = 128 << 20

    /// Releases the memory of code that has run, if the limit is small: the next stage runs other code.
    func releaseCode() {
        if budget.limit <= Self.smallLimit { ProcessMemory.releaseCode() }
    }

    /// True if two threads may call policies that allow it.
    var worksAhead: Bool { options.worksAhead ?? (ProcessInfo.processInfo.activeProcessorCount > 1) }

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

    /// Returns an external sorter with its share of memory.
    func sorter(width: Int) -> RecordSorter {
        RecordSorter(
            directory: work, name: "sort", width: width, memory: max(256 << 10, budget.sorts / concurrentSorts))
    }

    /// Brings external values into their final form and counts them, before rows are written.
    func settleExternalValues(_ batch: inout RowBatch, table: Int) throws {
        guard let external else { return }
        try external.settle(&batch, table: table, counts: &counts)
    }

    /// Returns the bytes of an object's value that is in an external file; nil if the run has no external values.
    ///
    /// - Throws: `external.missing`, `external.name` (65), `store.valueTooLarge` (78), with object and property.
    func externalData(
        _ reference: ExternalFileReference, of object: ManagedObject, property: String,
        _ open: (ExternalFiles) throws(MigrationError) -> ExternalFile
    ) throws(MigrationError) -> Data? {
        guard let external else { return nil }
        do throws(MigrationError) {
            return Data(try external.bytes(of: try open(external)))
        } catch {
            throw error.inside(
                .init(
                    entity: object.place.entity.definition.name, objectID: object.objectID.shortName,
                    property: property))
        }
    }

    func add(_ references: ReferenceCounts) { counts.add(references) }
}
