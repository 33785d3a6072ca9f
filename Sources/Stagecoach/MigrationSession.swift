import Diagnostics
import Foundation
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
    /// The mapping models that ran before, and where the associations of this one are kept for later ones.
    let associations: AssociationArchive
    /// Entity mappings of all mapping models of the run.
    let mappingCount: Int
    /// The highest key ever given in each destination table, before the mapping model at work.
    private(set) var highestKeys: [Int64]
    /// The highest key ever given in each destination table, before the run.
    private let highestKeysBefore: [Int64]
    /// Whether a destination table has rows from before the mapping model at work.
    private(set) var hasRows: [Bool]
    /// What becomes of broken rules.
    var validation = Validation()
    /// Rows written, by destination table.
    var rowsWritten: [Int]
    /// Links written, by join table of the destination.
    var linksWritten: [Int]
    /// Rows and links that an appended store had before the run.
    private(set) var existingRows: [Int]
    private(set) var existingLinks: [Int]
    /// Sorts that may hold memory at a time: set once the links are planned.
    var concurrentSorts = 6
    /// When gaps of the heap were last given back, or the session began.
    var trimmed = ContinuousClock.now
    /// Where the destination will be published: what policies see as its URL.
    var destinationPath = ""
    /// The rows from before that the mapping model at work changed; nil where it can change none.
    var touched: TouchedRows?
    /// The checkpoints of the run; nil where none are taken.
    var checkpoints: RunCheckpoints?
    /// Measures the stages; nil where nobody asked for it.
    var profile: RunProfile?
    /// The external binary values of the run; nil where the destination's model has none.
    var external: ExternalFiles?
    /// In a chain of versions what the source's objects were in the chain's source; nil where there is no run before.
    var earlierObjects: EarlierIDMap?
    /// Set once the keys are read.
    var sourceKeys: SourceKeys?
    /// Says what became of objects that lookups find nothing for; set with the keys.
    var fates: ReferenceFates?
    /// Whether mapping models come after the one at work.
    var hasLaterModels = false
    /// Takes references to objects that the mapping model at work does not migrate, where a policy or a later mapping
    /// model may set them; nil where they are counted at once.
    private(set) var unmigrated: UnmigratedReferences?
    /// Those of earlier mapping models.
    private(set) var earlierUnmigrated: [UnmigratedReferences] = []

    /// Leads to the session as long as it lives. A weak reference would make every strong one cost twice as much.
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

    /// Whether a row was there before the mapping model at work.
    func isExisting(_ key: Int64, table: Int) -> Bool { hasRows[table] && key <= highestKeys[table] }

    /// Whether a row was there before the run.
    func isOlder(_ key: Int64, table: Int) -> Bool { key <= highestKeysBefore[table] }

    /// Notes what an appended store holds before the run.
    func countExisting(_ counts: (tables: [Int], joinTables: [Int])) {
        existingRows = counts.tables
        existingLinks = counts.joinTables
    }

    /// A mapping model begins to look for references, maybe for a second time.
    ///
    /// - Parameter mayBeSet: whether its own policies may set what its lookups do not find.
    func beginReferences(mayBeSet: Bool) {
        unmigrated = mayBeSet || hasLaterModels ? UnmigratedReferences(session: self) : nil
    }

    /// Counts the references that are nil now that all mapping models have run.
    func countUnmigrated(in destination: DestinationStore) throws {
        for references in earlierUnmigrated {
            counts.add(try references.nilReferences(in: destination, self))
        }
    }

    /// A mapping model has run: its rows are existing ones for the next.
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

    /// Takes over what the mapping models left that a killed run was done with.
    ///
    /// - Parameter references: those of each model that kept any.
    func restoreModels(_ turns: RunRecord.Turns, _ tables: [MappingAssociations], _ references: [UnmigratedReferences])
    {
        associations.append(tables)
        associations.hasDeletions = turns.hasDeletions
        associations.rejectingTables = Set(turns.rejectingTables)
        earlierUnmigrated = references
        highestKeys = turns.highestKeys
        if let before = turns.hasRows.last { hasRows = before }
    }

    /// Ends the run where somebody asked for it. Called once a batch.
    func checkCancelled() throws {
        if let error = cancellation.error { throw error }
        progress.spilled(bytes: work.bytesWritten)
    }

    /// Memory limits up to here are small beside a program's own code.
    private static let smallLimit = 128 << 20

    /// Gives the code back that ran so far, where the limit is small: what comes next runs other code.
    func releaseCode() {
        if budget.limit <= Self.smallLimit { ProcessMemory.releaseCode() }
    }

    /// Whether policies that may be are called by two threads.
    var worksAhead: Bool { options.worksAhead ?? (ProcessInfo.processInfo.activeProcessorCount > 1) }

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
        RecordSorter(
            directory: work, name: "sort", width: width, memory: max(256 << 10, budget.sorts / concurrentSorts))
    }

    /// Brings external values into their final form and counts them, before rows are written.
    func settleExternalValues(_ batch: inout RowBatch, table: Int) throws {
        guard let external else { return }
        try external.settle(&batch, table: table, counts: &counts)
    }

    /// The bytes of an object's value that lies in an external file.
    ///
    /// - Throws: `external.missing`, `external.name` (65), `store.valueTooLarge` (78), with object and property.
    func externalData(
        _ reference: StoredReference, of object: ManagedObject, property: String,
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
