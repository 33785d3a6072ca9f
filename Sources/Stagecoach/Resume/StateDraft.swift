import CoreDataStore
import Diagnostics
import SpillStorage

/// The contents of the next state of a run: what was set at the last step, and where the rest is found when a state is taken.
///
/// Memory: one state.
final class StateDraft {
    private let area: WorkArea
    /// The run whose work is recorded, its external values, and the mapping models that it has finished.
    var run: MigrationRun?
    var external: ExternalFiles?
    var previous: PreviousModels?
    var destination: DestinationStore?
    /// The run of the mapping model at work; nil between two models.
    var model: ModelRun?
    /// True if objects of the mapping model at work may be rejected.
    var mayReject: Bool { model?.validation.ledger != nil }
    /// The stages of a mapping model with user code; nil while none of them runs.
    weak var stages: PolicyCheckpoint? {
        didSet { if stages != nil { isStaged = true } }
    }
    /// True if the current mapping model has run in stages.
    var isStaged = false
    /// True if the last state of the stages could be saved.
    var hasStages = false
    /// The next state, without its counts, which are added when it is taken.
    var next = JournalRecord.State()
    /// The counts before rejected objects were subtracted. A resumed run subtracts them again.
    var countsBeforeRejects: MigrationCounts?

    init(_ area: WorkArea) { self.area = area }

    /// Sets the next state to follow one from which the run resumes.
    ///
    /// - Parameter ordinal: the highest ordinal in the journal.
    func resume(from state: JournalRecord.State, ordinal: Int) {
        hasStages = state.stages != nil
        next = state
        (next.pages, next.stages, next.references) = (nil, nil, nil)
        (next.isComplete, next.modelProgress.isAtBeginning, next.ordinal) = (false, false, ordinal)
    }

    /// Restores the run's counts from a state.
    func restore(_ state: JournalRecord.State) {
        guard let run else { return }
        run.tally.counts = state.progress.counts
        run.tally.rowsWritten = state.progress.rowsWritten
        run.tally.linksWritten = state.progress.linksWritten
        external?.missingByModel = state.progress.missing
        run.services.progress.go(to: state.progress.work)
        if let rejects = state.rejects, let rejected = model?.validation.rejected {
            rejected.skippedRows = rejects.skippedRows
        }
        if state.hasDuplicates { model?.validation.ledger?.hasDuplicates = true }
        next.progress.highest = state.progress.highest
    }

    /// Sets the next state to the beginning of a load.
    func beginTables() {
        next.unit = 0
        next.progress.highest = Array(repeating: 0, count: run?.inputs.destinationSchema.tables.count ?? 0)
    }

    /// Sets the next state to the beginning of an append to a store.
    ///
    /// - Parameter identity: the ``ExistingDestination/identity`` of the store.
    func begin(on existing: ExistingStore, identity: [Int64]) {
        guard let run, let previous else { return }
        next.appended = JournalRecord.Appended(
            identity: identity, highestKeys: existing.highestKeys, hasRows: existing.hasRows,
            rows: run.tally.existingRows, links: run.tally.existingLinks)
        beginTables()
        next.modelProgress.hasRows = [previous.keys.hasRows]
        next.modelProgress.highestKeys = previous.keys.highestKeys
    }

    /// Sets the next state to the end of a mapping model, whose results ``PreviousModels`` has taken over.
    func endModel(isStaged: Bool, hasRowsBefore: [Bool], rejected: RejectReport?) {
        guard let run, let previous else { return }
        (self.isStaged, hasStages) = (false, false)
        (next.rejects, next.before, next.models, countsBeforeRejects) = (nil, nil, nil, nil)
        if next.modelProgress.hasRows.isEmpty { next.modelProgress.hasRows = [hasRowsBefore] }
        next.modelProgress.done += 1
        next.modelProgress.isStaged.append(isStaged)
        next.modelProgress.hasRows.append(previous.keys.hasRows)
        next.modelProgress.highestKeys = previous.keys.highestKeys
        next.modelProgress.hasDeletions = previous.archive.hasDeletions
        next.modelProgress.written = run.tally.written
        next.modelProgress.rejects = rejected
        next.modelProgress.rejectingTables = previous.archive.rejectingTables.sorted()
        beginTables()
    }

    /// Sets the next state to the end of a unit of the load.
    func endUnit(_ unit: Int, highest: [Int64]) {
        next.unit = unit + 1
        next.progress.highest = highest
    }

    /// Returns the current state after syncing the ledger of rejects.
    func savedState() throws -> JournalRecord.State? {
        try model?.validation.ledger?.synchronize()
        return try state()
    }

    /// Returns the current state; nil if the stages of a mapping model cannot be saved.
    func state() throws -> JournalRecord.State? {
        guard let run, let previous, let destination else { return nil }
        let stagesBytes = try stages?.bytes()
        if stages != nil { hasStages = stagesBytes != nil }
        guard stages == nil || stagesBytes != nil else { return nil }
        if let rejected = model?.validation.rejected {
            next.rejects?.skippedRows = rejected.skippedRows
        }
        // The models that finished before the first state was taken have not been encoded yet.
        if next.modelProgress.done > 0, next.models == nil { next.models = try FinishedModels.bytes(previous) }
        next.ordinal += 1
        var state = next
        state.stages = stagesBytes
        state.references = try references()
        state.countedValues = run.inputs.source.countedValues
        (state.stamp, state.knowledge) = (destination.stamp, destination.knowledge)
        state.progress = .init(
            counts: countsBeforeRejects ?? run.tally.counts, rowsWritten: run.tally.rowsWritten,
            linksWritten: run.tally.linksWritten,
            highest: next.progress.highest, missing: external?.missingByModel ?? [:],
            work: run.services.progress.work)
        state.hasDuplicates = model?.validation.ledger?.hasDuplicates ?? false
        state.stagedFiles = external?.noted ?? 0
        state.files = try area.sizes(of: neededFiles)
        return state
    }

    /// The paths of the files beside the store that the next state needs, if they are there. Spill files are not among them:
    /// what reads one knows its size.
    private var neededFiles: [String] {
        var paths = [area.previousFilesPath]
        if next.before != nil { paths.append(area.checkpointPath) }
        if mayReject { paths.append(area.ledgerPath) }
        if next.modelProgress.rejects != nil { paths.append(area.rejectLinesPath(after: next.modelProgress.done)) }
        return paths
    }

    /// Encodes the unmigrated references of a mapping model without user code.
    private func references() throws -> [UInt8]? {
        guard stages == nil, let model, let unmigrated = model.missing.unmigrated else { return nil }
        var coder = StateCoder()
        try unmigrated.code(with: &coder, model: model.inputs.destinationSchema.model)
        return coder.bytes
    }
}
