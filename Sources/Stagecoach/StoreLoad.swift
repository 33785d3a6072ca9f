import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage

/// The load of the private store in the work area, mapping model after mapping model.
struct StoreLoad {
    /// The purpose of a load.
    enum Mode {
        case publish(ResultFile?)
        case check(CheckCount)
    }

    private let migration: Migration
    private let prepared: Migration.Prepared
    private let run: MigrationRun
    private let previous: PreviousModels
    private let external: ExternalFiles
    private let previousStepIDs: PreviousStepIDMap?
    private let existing: ExistingStore?
    private let area: WorkArea
    private let checkpoints: CheckpointScheduler?
    private let mode: Mode
    private let store: PrivateStore
    /// The state of a killed run from which the load resumes.
    private let resumed: JournalRecord.State?
    /// True if a killed run can be resumed.
    private let keeps: Bool
    private let uuid: String

    private var schema: StoreSchema { run.inputs.destinationSchema }

    /// Creates or opens the private store.
    ///
    /// - Parameters:
    ///   - existing: the store that is appended to; nil for a fresh one.
    ///   - checkpoints: nil if none are taken.
    ///   - previousStepIDs: the map from this step's source objects to the objects of the chain's source; nil if no step
    ///     ran before.
    init(
        _ migration: Migration, _ prepared: Migration.Prepared, _ previous: PreviousModels, _ external: ExternalFiles,
        existing: ExistingStore?, area: WorkArea, checkpoints: CheckpointScheduler?,
        previousStepIDs: PreviousStepIDMap?, mode: Mode
    ) throws {
        self.migration = migration
        self.prepared = prepared
        self.previous = previous
        self.external = external
        self.previousStepIDs = previousStepIDs
        self.existing = existing
        self.area = area
        self.checkpoints = checkpoints
        self.mode = mode
        run = previous.run
        resumed = checkpoints?.resumed
        keeps = checkpoints?.isResumable ?? false
        uuid = existing?.metadata.uuid ?? migration.newUUID ?? run.inputs.source.metadata.uuid
        store = try PrivateStore(in: area, run: run, resumed: resumed, isAppended: existing != nil)
    }

    /// Fills the store, and completes it if it is to be published.
    func load() throws -> LoadedStore {
        try begin()
        var loaded = LoadedStore()
        loaded.rejects = resumed?.modelProgress.rejects
        for number in prepared.models.indices { try load(number, &loaded) }
        // A check ends with a closed store if objects would be rejected.
        try store.reopenFilled()
        try previous.countUnmigrated(in: store.destination)
        try countLosses(&loaded)
        if case .publish = mode { try complete(&loaded) }
        return loaded
    }

    private func begin() throws {
        let destination = store.destination
        try checkpoints?.fill(destination)
        let services = run.services
        destination.checkCancelled = { () throws(MigrationError) in
            guard let error = services.cancellation.error else { return }
            throw error as? MigrationError
                ?? MigrationError("interrupted", .temporary, "The migration was cancelled", cause: error)
        }
        if existing == nil {
            destination.filling.carriedIndexes = prepared.carriedIndexes
            destination.filling.carried = prepared.carried
        }
        destination.filling.derived = DerivedSelection(
            anew: DerivedColumns.anew(
                migration.mappingModels, source: migration.sourceModel, destination: migration.destinationModel),
            now: EvaluationScope.current.now ?? Date().timeIntervalSinceReferenceDate)
        guard let existing else { return }
        if let appended = resumed?.appended {
            run.tally.countExisting((appended.rows, appended.links))
        } else {
            run.tally.countExisting(try destination.rowCounts())
            try checkpoints?.begin(on: existing)
        }
    }

    // MARK: - One mapping model

    /// Loads the rows of one mapping model, unless a killed run has loaded them.
    private func load(_ number: Int, _ loaded: inout LoadedStore) throws {
        let planned = prepared.models[number]
        let isLast = number == prepared.models.count - 1
        let done = resumed?.modelProgress.done ?? 0
        migration.manager.begin(planned.model)
        store.destination.filling.defersEmptyIndexes = !isLast
        // Later mapping models read and change rows through SQLite while they write, so only the first may write pages.
        store.destination.filling.writesPages =
            run.inputs.options.writer == .pages && number == 0 && !previous.keys.hasRows.contains(true)
        if let resumed, number == done { try restoreModels(from: resumed) }
        let hasRows = number < done ? resumed?.modelProgress.hasRows[number] ?? [] : previous.keys.hasRows
        store.destination.filling.indexSorts = IndexSorts(
            directory: area.spills, memory: run.inputs.budget.destinationCache)
        // The tables filled by previous mapping models are known only now.
        let work =
            hasRows == planned.hasRows
            ? planned.work
            : try migration.planner(
                number, planned.mappings, firstOwn: planned.previousCount, prepared, schema, hasRows
            ).work()
        if number < done {
            loaded.add(
                work, isStaged: resumed?.modelProgress.isStaged[number] ?? false, schema, migration.destinationModel)
            return
        }
        let isStaged = try load(planned, number, work, isLast: isLast, &loaded)
        loaded.add(work, isStaged: isStaged, schema, migration.destinationModel)
        guard !isLast, let checkpoints else { return }
        if keeps, loaded.rejects != nil, case .publish(let file) = mode {
            try file?.keep(at: area.rejectLinesPath(after: number + 1))
        }
        try checkpoints.endModel(isStaged: isStaged, hasRowsBefore: hasRows, rejected: loaded.rejects)
    }

    /// Runs the stages of a mapping model. Returns true if they were barriers.
    private func load(
        _ planned: Migration.PlannedModel, _ number: Int, _ work: PlannedWork, isLast: Bool, _ loaded: inout LoadedStore
    ) throws -> Bool {
        let validation = try validation(ofModel: number)
        validation.excuse = planned.model.excuse(run.inputs.options)
        // A value copied unchanged under a rule that the source model has too gives only a warning, if the mapping model
        // says so. Inferred mapping models do.
        let excuses = planned.model.rulesOfTheSource == .warn && !run.inputs.options.strictValidation
        let modelRun = ModelRun(
            previous, validation: validation, external: external, previousStepIDs: previousStepIDs,
            hasLaterModels: !isLast)
        checkpoints?.beginModel(modelRun)
        let stage = StageInputs(
            modelRun: modelRun, checkpoints: checkpoints, mappings: planned.mappings, work: work, excuses: excuses,
            manager: migration.manager)
        let optimistic = OptimisticLoad(
            stage: stage, number: number, store: store, previousRejects: loaded.rejects ?? RejectReport())
        func fill(_ request: LoadRequest) throws -> [Int64] {
            let highest = try optimistic.run(request, for: purpose(isLast: isLast))
            // The origins of objects are known only as long as the stages exist.
            if case .check(let count) = mode { try count.add(optimistic, modelRun, planned.mappings) }
            return highest
        }
        let archive = previous.archive
        let isStaged =
            planned.isStaged
            || PreviousModelLookups(mappings: planned.mappings, previousCount: planned.previousCount).needObjects(
                hasDeletions: archive.hasDeletions, hasPairs: { archive.tables[$0].hasPairs })
        let outcome =
            try isStaged
            ? PolicyPath(stage: stage, policies: planned.policies, storeUUID: uuid).run(
                into: store.destination, load: fill)
            : RowPath(stage: stage).run(load: fill)
        if validation.ledger != nil { loaded.rejects = optimistic.report }
        checkpoints?.endLoad()
        previous.end(modelRun, highest: outcome.highest, outcome.associations)
        return isStaged
    }

    private func purpose(isLast: Bool) -> OptimisticLoad.Purpose {
        switch mode {
        case .publish(let file): .publish(file)
        case .check: isLast ? .countLast : .count
        }
    }

    /// Restores the results of the mapping models that a killed run completed.
    private func restoreModels(from state: JournalRecord.State) throws {
        if let models = state.models {
            try FinishedModels.restore(models, state.modelProgress, in: previous, mappings: prepared.mappings)
        }
        run.inputs.source.resumeCounting(from: state.countedValues)
        // Other states claim their files when they read them.
        if state.stages == nil, state.references == nil { try run.inputs.work.removeUnclaimed() }
        if state.modelProgress.isAtBeginning {
            checkpoints?.restore()
        } else if let written = state.modelProgress.written {
            run.tally.written = written
        }
    }

    /// Returns the handling of broken rules for one mapping model.
    private func validation(ofModel number: Int) throws -> Validation {
        switch mode {
        case .publish:
            guard run.inputs.options.onInvalid == .reject else { return Validation(previous.keys) }
            return Validation(previous.keys, ledger: try ledger(ofModel: number))
        case .check: return Validation(previous.keys, ledger: try ledger(ofModel: number), tally: ViolationTally())
        }
    }

    /// Returns an empty ledger of rejected objects.
    private func ledger(ofModel number: Int) throws -> RejectLedger {
        let ledger = try RejectLedger(
            path: keeps ? area.ledgerPath : area.spills.file(named: "rejects-\(number)"), schema: schema,
            cacheBytes: run.inputs.budget.sourceCache, vfs: area.vfsName, keeps: keeps,
            resumes: checkpoints?.resumed != nil)
        let cancellation = run.services.cancellation
        ledger.connection.interrupt { cancellation.error != nil }
        return ledger
    }

    // MARK: - The end

    /// Counts the links that were not made and the orders that are not kept.
    private func countLosses(_ loaded: inout LoadedStore) throws {
        let account = LinkAccount(
            run: run, archive: previous.archive, destination: store.destination, census: prepared.census)
        loaded.linksNotMade = migration.marking(try account.linksNotMade(), prepared)
        loaded.ordersNotKept = try migration.ordersNotKept(prepared)
    }

    /// Completes the store once all mapping models have run.
    private func complete(_ loaded: inout LoadedStore) throws {
        let history = try HistoryPlan(
            source: prepared.source, layout: prepared.layout, schema: prepared.schema, mappings: prepared.mappings,
            models: prepared.models.count, isMirrored: prepared.mirroringTables > 0, keys: loaded.keys,
            options: run.inputs.options, isAppended: existing != nil)
        loaded.historyNote = history.note
        if resumed?.isComplete ?? false {
            try store.destination.closeComplete()
        } else {
            try StoreCompletion(
                run: run, maximumKeys: previous.keys.highestKeys, uuid: uuid, isAppended: existing != nil,
                history: history.copy
            ).finish(store.destination)
        }
        loaded.missing = store.destination.missing
    }
}

/// The result of a load.
struct LoadedStore {
    var passes = 0
    var isStaged = false
    /// The keys of each root entity; `sequential` if any mapping model numbered its objects.
    var keys: [String: String] = [:]
    var tables: [PlannedTable] = []
    /// A note on the source's persistent history; nil if it has none.
    var historyNote: String?
    /// The rejected objects; nil if the first invalid object would have ended the run.
    var rejects: RejectReport?
    /// Links that were not made, and orders that are not kept.
    var linksNotMade: [LinksNotMade] = []
    var ordersNotKept: [OrdersNotKept] = []
    /// Numbers of which a conversion cut something off; nil if there are none.
    var valuesCut: [ValuesCut]?
    /// A sentence for each object of the schema that could not be made.
    var missing: [String] = []

    /// Adds the work of one mapping model.
    mutating func add(_ work: PlannedWork, isStaged: Bool, _ schema: StoreSchema, _ model: ManagedObjectModel) {
        passes += work.passes.count
        self.isStaged = self.isStaged || isStaged
        tables += work.tables
        for table in work.tables where !table.mappings.isEmpty {
            let root = model.entity(at: schema.tables[table.table].root).definition.name
            if keys[root] != KeyMode.sequential.rawValue { keys[root] = table.keys.rawValue }
        }
    }
}
