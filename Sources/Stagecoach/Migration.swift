import Diagnostics
import Foundation
import ManagedModel
import Mapping
import PersistentStore
import Rows
import SpillStorage

/// One migration of a store to a fresh destination: this screen runs the stages.
///
///     open → resolve the mapping model → plan
///       → no user code: keys first, then each table's rows once     (``FusedMigration``)
///       → user code:    create, relate, validate over all mappings  (``StagedMigration``)
///     → indexes, metadata → publish
public final class Migration {
    public let sourcePath: String
    public let destinationPath: String
    public let sourceModel: ManagedObjectModel
    public let destinationModel: ManagedObjectModel
    public let mappingModel: MappingModel
    public let options: MigrationOptions
    /// The manager that policies see.
    let manager: MigrationManager
    public let progress: ProgressCounter
    public let cancellation: CancellationFlag

    /// A migration; nothing is read yet.
    public init(
        from sourcePath: String, model sourceModel: ManagedObjectModel, mapping mappingModel: MappingModel,
        to destinationPath: String, model destinationModel: ManagedObjectModel, options: MigrationOptions = .init(),
        manager: MigrationManager? = nil, progress: ProgressCounter = .init(), cancellation: CancellationFlag = .init()
    ) {
        self.sourcePath = sourcePath
        self.destinationPath = destinationPath
        self.sourceModel = sourceModel
        self.destinationModel = destinationModel
        self.mappingModel = mappingModel
        self.options = options
        self.manager = manager ?? MigrationManager(sourceModel: sourceModel, destinationModel: destinationModel)
        self.progress = progress
        self.cancellation = cancellation
    }

    /// Migrates. A run that throws leaves no destination and no work directory.
    ///
    /// - Returns: what was done.
    /// - Throws: ``MigrationError``, or the error of a policy or of the cancellation.
    /// - Complexity: O(rows), O(links log links); memory stays under the limit.
    @discardableResult
    public func run() throws -> MigrationReport {
        let clock = RunClock()
        guard !DestinationPath.isSameFile(sourcePath, destinationPath) else {
            throw MigrationError(
                "destination.isSource", .usage, "Source and destination are the same file",
                context: .init(path: destinationPath))
        }
        let place = DestinationPath(path: destinationPath)
        let prepared = try prepare(place)
        let (source, schema, tables) = (prepared.source, prepared.schema, prepared.tables)

        try place.checkFresh()
        let area = try WorkArea(beside: place, spills: options.workDirectory)
        defer { area.close() }
        let session = MigrationSession(
            source: source, layout: prepared.layout, destinationSchema: schema, work: area.spills,
            budget: prepared.budget, options: options, progress: progress, cancellation: cancellation)
        session.counts = prepared.census.counts(for: prepared.mappings)
        session.validation = try validation(session, area)
        let rejectFile = try options.rejectFile.map { path throws(MigrationError) in try RejectFile(path: path) }
        // Where objects may be rejected, everything may be loaded twice.
        progress.expect(rows: try prepared.expectedRows() * (options.onInvalid == .reject ? 2 : 1))
        let finished: String
        let rejects: RejectReport?
        do {
            (finished, rejects) = try load(
                session, mappings: prepared.mappings, tables: tables, policies: prepared.policies, area: area,
                rejectFile: rejectFile)
        } catch {
            // A statement that the cancellation ended reports an interruption; the caller wants the reason.
            throw cancellation.error ?? error
        }
        progress.begin(.publish)
        try source.checkUnchanged()
        try session.counts.checkBalance()
        session.counts.links = session.linksWritten.reduce(0, +)
        try PublicationCheck(session: session).run(finished)
        let bytes = try FileSize.bytes(of: finished)
        try rejectFile?.place()
        do {
            if !options.isDryRun { try place.publish(finished) }
        } catch {
            rejectFile?.withdraw()
            throw error
        }
        progress.begin(.done)
        return MigrationReport(
            source: sourcePath, destination: destinationPath, counts: session.counts,
            rejects: rejects, passes: prepared.plan.passes.count, isStaged: prepared.plan.isStaged,
            keys: Dictionary(
                tables.filter { !$0.mappings.isEmpty }.map {
                    (destinationModel.entity(at: schema.tables[$0.table].root).definition.name, $0.keys.rawValue)
                }, uniquingKeysWith: { first, _ in first }),
            seconds: clock.seconds, processorSeconds: clock.processorSeconds,
            peakMemory: ProcessMemory.peakResident() ?? 0, memoryLimit: prepared.limit,
            spilledBytes: area.spills.bytesWritten, destinationBytes: bytes, isDryRun: options.isDryRun,
            notes: RunNotes.notes(
                counts: session.counts, tables: tables, schema: schema, options: options, source: source,
                rejects: rejects))
    }

    /// The passes of the migration, their tables and keys. Nothing is written anywhere.
    ///
    /// - Throws: ``MigrationError`` for inputs that ``run()`` would refuse; the destination is not looked at.
    /// - Complexity: O(rows) to count the source's objects.
    public func plan() throws -> MigrationPlan { try prepare(DestinationPath(path: destinationPath)).plan }

    /// What is known before anything is written.
    struct Prepared {
        let limit: Int
        let budget: MemoryShares
        let source: SourceStore
        let layout: StoreLayout
        let schema: StoreSchema
        let mappings: [PlannedMapping]
        let census: SourceCensus
        let tables: [PlannedTable]
        let plan: MigrationPlan
        /// Nil where no user code runs and the stages are fused.
        let policies: Policies?

        /// Rows that the run will count: keys scanned, rows made, related by policies and loaded, links.
        func expectedRows() throws(MigrationError) -> Int {
            let scanned = Set(mappings.compactMap(\.sourceTable)).reduce(0) { sum, table in
                sum + census.rows[table].values.reduce(0, +)
            }
            let loaded = plan.passes.flatMap(\.tables).reduce(0) { $0 + $1.sourceRows }
            var links = 0
            for join in layout.joinTables.indices { links += try source.estimatedCount(joinTable: join, in: layout) }
            let related = mappings.reduce(0) { sum, mapping in
                sum + (mapping.hasPolicy ? mapping.source.map(census.count(of:)) ?? 0 : 0)
            }
            return scanned + loaded * (plan.isStaged ? 2 : 1) + links + related
        }
    }

    /// Opens the source, resolves the mapping model and plans.
    func prepare(_ place: DestinationPath) throws -> Prepared {
        let limit = options.memoryLimit ?? MemoryLimit.standard()
        ProcessMemory.returnFreedBlocks()
        let resident = ProcessMemory.currentResident() ?? 0
        let budget = try MemoryShares(limit: limit, resident: resident)
        // SQLite's own sorts of source rows go where the spills go, once that place is made.
        let source = try SourceStore(
            path: sourcePath, cacheBytes: budget.sourceCache, valueLimit: budget.value,
            temporaryDirectory: place.spillDirectory(in: options.workDirectory))
        source.limitNeeded = { MemoryShares.limit(forValueOf: $0, resident: resident) }
        try StoreMatch.check(source.metadata, against: sourceModel, path: sourcePath)
        try mappingModel.validate(source: sourceModel, destination: destinationModel)
        let layout = try source.layout(for: sourceModel)
        let schema = StoreSchema(model: destinationModel)
        let mappings = try MappingResolution(model: mappingModel, source: layout.schema, destination: schema).resolve()
        let census = try SourceCensus(source: source, layout: layout)
        let planner = Planner(
            mappings: mappings, source: layout, destination: schema, keys: options.keys, passes: options.passes,
            rowCounts: census.rows)
        let tables = try planner.tables()
        let isStaged = mappings.contains(where: \.hasPolicy) || !options.usesStoreSpecificMigrationManager
        let policies = isStaged ? try Policies(mappings: mappings, registry: manager.policies) : nil
        return Prepared(
            limit: limit, budget: budget, source: source, layout: layout, schema: schema, mappings: mappings,
            census: census, tables: tables, plan: planner.plan(tables, isStaged: isStaged), policies: policies)
    }

    /// Fills a fresh store in the work area and returns its path.
    ///
    /// - Parameters:
    ///   - policies: nil where no user code runs and the stages are fused.
    ///   - rejectFile: where rejected objects are listed.
    private func load(
        _ session: MigrationSession, mappings: [PlannedMapping], tables: [PlannedTable], policies: Policies?,
        area: WorkArea, rejectFile: RejectFile?
    ) throws -> (path: String, rejects: RejectReport?) {
        let load = try optimisticLoad(session, mappings: mappings, area: area)
        let uuid = options.newUUID ? UUID().uuidString : session.source.metadata.uuid
        let publication = Publication(session: session, uuid: uuid)
        try stages(session, mappings: mappings, tables: tables, policies: policies, uuid: uuid) { fill in
            try load.run(file: rejectFile, fill: fill) { try publication.finish($0, highest: $1) }
        }
        return (area.storePath, load.report)
    }

    /// Where a store is filled: the first one is made at once.
    func optimisticLoad(
        _ session: MigrationSession, mappings: [PlannedMapping], area: WorkArea
    ) throws -> OptimisticLoad {
        let cancellation = cancellation
        return try OptimisticLoad(
            session: session, mappings: mappings, excuses: excuses, storePath: area.storePath
        ) {
            let destination = try DestinationStore(
                creating: area.storePath, schema: session.destinationSchema,
                cacheBytes: session.budget.destinationCache, vfs: area.vfsName)
            destination.connection.interrupt { cancellation.error != nil }
            return destination
        }
    }

    /// Runs the stages up to the load.
    ///
    /// - Parameter body: gets what fills a store, as often as it is called.
    func stages(
        _ session: MigrationSession, mappings: [PlannedMapping], tables: [PlannedTable], policies: Policies?,
        uuid: String, _ body: ((DestinationStore) throws -> [Int64]) throws -> Void
    ) throws {
        if let policies {
            try StagedMigration(
                session: session, mappings: mappings, tables: tables, policies: policies, manager: manager,
                excuses: excuses, storeUUID: uuid
            ).run(body)
        } else {
            let excuses = excuses
            try body { destination in
                try FusedMigration(session: session, mappings: mappings, tables: tables, excuses: excuses)
                    .run(into: destination)
            }
        }
    }

    /// Whether a value copied unchanged under a rule that the source model had already is a warning: where the mapping
    /// was inferred.
    private var excuses: Bool { mappingModel.isInferred && !options.strictValidation }

    /// What becomes of broken rules.
    private func validation(_ session: MigrationSession, _ area: WorkArea) throws -> Validation {
        guard options.onInvalid == .reject else { return Validation() }
        return Validation(ledger: try ledger(session, area))
    }

    /// A fresh ledger of rejected objects.
    func ledger(_ session: MigrationSession, _ area: WorkArea) throws -> RejectLedger {
        let ledger = try RejectLedger(
            path: area.spills.file(named: "rejects"), schema: session.destinationSchema,
            cacheBytes: session.budget.sourceCache, vfs: area.vfsName)
        let cancellation = cancellation
        ledger.connection.interrupt { cancellation.error != nil }
        return ledger
    }
}
