import CoreDataStore
import Diagnostics

/// The functions that fill a store with one mapping model's rows.
struct LoadRequest {
    /// Fills a store and returns Z_MAX by destination table. May be called several times.
    let fill: (DestinationStore) throws -> [Int64]
    /// Releases the statements on the store before it is closed.
    let release: () -> Void
    /// Continues with the reopened store and the existing rows that were changed.
    let resume: (DestinationStore, TouchedRows) throws -> Void
}

/// The optimistic load of one mapping model's rows. If objects are to be rejected and some are invalid, it computes the rejected
/// keys from the loaded rows, returns to the copy of the store, and loads again without them, until all objects are valid.
final class OptimisticLoad: ModelStage {
    /// The treatment of invalid objects.
    enum Purpose {
        /// The store is to be published; rejected objects are written to a file.
        case publish(ResultFile?)
        /// Rules are counted. Further mapping models run on the store, so its objects have to be valid.
        case count
        /// Rules are counted. The store is discarded afterwards and only serves to check its existing rows.
        case countLast
    }

    let stage: StageInputs
    /// The number of the mapping model in the run.
    private let number: Int
    private let store: PrivateStore
    /// The objects that previous mapping models rejected.
    private let previousRejects: RejectReport
    /// The number of rows that the first load made, valid or not.
    private(set) var made = 0
    /// All objects rejected so far; only those of previous mapping models if none was collected here.
    private(set) var report: RejectReport
    /// True if a load changed existing rows. No state records which.
    private var changesExisting = false
    /// The number of objects that would be rejected, if rules are only counted.
    private(set) var rejectedObjects = 0

    init(stage: StageInputs, number: Int, store: PrivateStore, previousRejects: RejectReport) {
        self.stage = stage
        self.number = number
        self.store = store
        self.previousRejects = previousRejects
        report = previousRejects
    }

    /// Returns the copy of the store to which the load can return: that of the interrupted run, or a new one.
    private func copyBeforeLoad() throws -> DestinationStore.Checkpoint {
        if resumed != nil { return try store.keptCopy(checkpoints?.copyBeforeLoad) }
        return try store.copy(modelRun.services, checkpoints)
    }

    /// Loads until the store holds valid objects only.
    ///
    /// - Returns: Z_MAX by destination table.
    /// - Throws: `validation.tooManyRejects` (65) above the limit; the errors of the filling.
    func run(_ filling: LoadRequest, for purpose: Purpose) throws -> [Int64] {
        let validation = modelRun.validation
        let before = modelRun.tally.written
        let checkpoint = try validation.ledger.map { _ in try copyBeforeLoad() }
        // A resumed run may need the copy, so it stays as long as the work directory.
        defer { if !isResumable { checkpoint?.remove() } }
        let rejects = resumed?.rejects
        if let rejects { made = rejects.made }
        try validation.ledger?.begin(after: rejects?.rounds)
        while true {
            modelRun.external.beginLoad(model: number)
            if let ledger = validation.ledger, ledger.base >= 0 { validation.rejected = try ledger.keys(modelRun.run) }
            let highest = try filling.fill(store.destination)
            try validate()
            if validation.rejected == nil {
                made = zip(modelRun.tally.rowsWritten, before.rows).reduce(0) { $0 + $1.0 - $1.1 }
            }
            guard let ledger = validation.ledger, let checkpoint, ledger.isDirty else {
                if validation.tally == nil, let broken = validation.brokenExisting { throw broken.error(nil) }
                try account(for: purpose)
                return highest
            }
            let outcome = try reject(ledger, filling)
            // Cut numbers of rejected objects are not counted, which only a load without them tells.
            if case .countLast = purpose, !outcome.mayGrow, !modelRun.keysBefore.hasRows.contains(true),
                modelRun.tally.counts.valuesCut == nil
            {
                return highest
            }
            if case .publish(let file) = purpose, !outcome.hasSuspects { try checkLimit(ledger, file) }
            modelRun.tally.written = before
            try goBack(to: checkpoint, ledger, rounds: outcome.base, filling)
        }
    }

    /// Closes the filled store and computes the rejected keys from it.
    private func reject(_ ledger: RejectLedger, _ filling: LoadRequest) throws -> RejectFixpoint.Outcome {
        if let touched = modelRun.touched {
            changesExisting = changesExisting || !touched.isEmpty
            try ledger.keep(touched)
            touched.close()
            modelRun.touched = nil
        }
        filling.release()
        try checkpoints?.closeFilled()
        try store.destination.closeUnfinished()
        let fixpoint = RejectFixpoint(
            run: modelRun.run, mappings: mappings, ledger: ledger, firstKeys: modelRun.keysBefore.firstKeys)
        if let tally = modelRun.validation.tally, modelRun.validation.rejected == nil {
            try ledger.forEachEntry(in: modelRun.inputs.destinationSchema) { entry in
                guard entry.rule == .value else { return }
                tally.count(
                    BrokenRule(
                        table: entry.table, key: entry.key, entity: entry.entity,
                        entityName: modelRun.inputs.destinationSchema.model.entity(at: entry.entity).definition.name,
                        property: entry.property, rule: entry.rule, value: entry.value, bound: nil,
                        isRelationship: false),
                    isWarning: false)
            }
            try fixpoint.countDuplicates(inStoreAt: store.path, into: tally)
        }
        let outcome = try fixpoint.run(onStoreAt: store.path)
        rejectedObjects = ledger.count
        return outcome
    }

    /// Returns to the copy of the store, for a load without the objects rejected up to a round.
    private func goBack(
        to checkpoint: DestinationStore.Checkpoint, _ ledger: RejectLedger, rounds: Int, _ filling: LoadRequest
    ) throws {
        try ledger.begin(after: rounds)
        try checkpoints?.loadAgain(.init(made: made, rounds: rounds), changesExisting: changesExisting)
        try store.goBack(to: checkpoint)
        try checkpoints?.fill(store.destination)
        guard modelRun.keysBefore.hasRows.contains(true) else { return }
        let touched = TouchedRows(store.destination)
        try ledger.restore(touched)
        modelRun.touched = touched
        try filling.resume(store.destination, touched)
    }

    /// Counts and lists the rejected objects, once no further ones were found.
    private func account(for purpose: Purpose) throws {
        guard let ledger = modelRun.validation.ledger, let rejected = modelRun.validation.rejected, ledger.count > 0,
            let origins = modelRun.validation.origins
        else { return }
        rejectedObjects = ledger.count
        modelRun.archive.hasDeletions = true
        modelRun.archive.rejectingTables.formUnion(try ledger.tables())
        var file: ResultFile?
        if case .publish(let asked) = purpose { file = asked }
        checkpoints?.willCountRejects(modelRun.tally.counts)
        report = try RejectAccount(
            run: modelRun.run, previousStepIDs: modelRun.previousStepIDs, mappings: mappings, ledger: ledger,
            rejected: rejected, origins: origins, previous: previousRejects
        ).run(file: file)
    }

    private func validate() throws {
        modelRun.services.begin(.validate)
        try CountRules(
            run: modelRun.run, keysBefore: modelRun.keysBefore, validation: modelRun.validation,
            touched: modelRun.touched, mappings: mappings, isExcused: stage.excuses
        ).check(store.destination)
    }

    /// Ends the run if too many objects are rejected. The reject file is written before, because it lists them.
    private func checkLimit(_ ledger: RejectLedger, _ file: ResultFile?) throws {
        let count = previousRejects.objects + ledger.count
        guard let limit = modelRun.inputs.options.maximumRejects, count > limit else { return }
        var first: RejectLedger.Entry?
        var byRule = previousRejects.byRule
        try ledger.forEachEntry(in: modelRun.inputs.destinationSchema) { entry in
            if first == nil { first = entry }
            byRule[entry.rule.rawValue, default: 0] += 1
        }
        let rules = byRule.sorted { $0.key < $1.key }.map { "\($0.value) by \($0.key)" }.joined(separator: ", ")
        var context = MigrationError.Context()
        if let first {
            let name = modelRun.inputs.destinationSchema.model.entity(at: first.entity).definition.name
            let origin = try modelRun.validation.origins?.origin(key: first.key, entity: first.entity)
            context = .init(
                entity: name, objectID: "\(name)/p\(first.key)", property: first.property,
                entityMapping: origin?.mappingName)
            context.sourceObjectID = origin?.sources.first
        }
        var listed = "look at them with stagecoach check or name a --reject-file"
        if let file, let origins = modelRun.validation.origins {
            try ledger.forEachObject(modelRun.run, origins, modelRun.previousStepIDs) { object, _, _ in
                try file.append(line: object.json)
            }
            try file.finish()
            try file.place()
            listed = "see them in \(file.path)"
        }
        throw MigrationError(
            "validation.tooManyRejects", .data,
            "\(count.counted("object")) would be rejected (\(rules)), and \(limit.counted("is allowed", "are allowed")); the first is named; \(listed)",
            remedy: "Change the mapping model, or allow more with --max-rejects",
            context: context)
    }
}
