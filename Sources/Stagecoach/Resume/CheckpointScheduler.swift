import CoreDataStore
import Diagnostics
import Foundation
import SpillStorage

/// The checkpoints of one run: when they are taken, what they contain, and where a killed run resumes.
///
/// A run that ends within some hundredths of a second takes no checkpoint. After the first one, a checkpoint is taken when
/// pages begin to fill a table, when a step ends in which SQLite wrote, and every half second within a step; on the row path
/// also after every tenth of the work. The journal's record describes the contents of the store's file and is written once the
/// file is on the disk. So whatever is lost, the file can be brought back to the last sound record. While pages fill a table,
/// there are additional states that are not synced (``RecentState``).
///
/// Memory: one record.
final class CheckpointScheduler {
    private let journalPath: String
    private let publicationPath: String
    private let recentPath: String
    private let recents: RecentStates
    private let noted: NotedKeys
    private let storePath: String
    private let spills: WorkDirectory
    private let header: () throws -> JournalRecord.Header
    private let earlier: InterruptedRun?
    private let cancellation: CancellationFlag
    /// The time between two states: the lower bound is in processor time, the upper bound in wall-clock time. Between the
    /// bounds a state is taken after each tenth of the work, if a state is only a few pages. More expensive states, of stages
    /// and of SQLite's transactions, wait for the upper bound.
    private let intervals: ClosedRange<Duration>
    /// The processor seconds of the run's thread when it began and at the last state.
    private let start = CheckpointScheduler.processorSeconds
    private var lastProcessor = CheckpointScheduler.processorSeconds
    /// The earliest time at which the processor time can make a state due. Each query of the processor time is a system call.
    private var notDueBefore = ContinuousClock.now
    private var writer: JournalWriter?
    private var last = ContinuousClock.now
    /// The run whose work is recorded, its external values, and the mapping models that it has finished.
    private var run: MigrationRun?
    private var external: ExternalFiles?
    private var previous: PreviousModels?
    /// The run of the mapping model at work; nil between two models.
    var model: ModelRun?
    /// The stages of a mapping model with user code; nil while none of them runs.
    weak var stages: PolicyCheckpoint? {
        didSet { if stages != nil { isStaged = true } }
    }
    /// True if the current mapping model has run in stages.
    private var isStaged = false
    /// True if the last state of the stages could be saved.
    private var hasStages = false
    /// The state to resume from; nil after it was restored, and if there is none.
    private(set) var resumed: JournalRecord.State?
    /// True once a state has been written. From then on each step ends with a state.
    private(set) var isActive = false
    /// True if the load can be resumed.
    let isResumable: Bool
    /// True if the journal of the interrupted run is continued.
    private var continuesJournal = false
    private var destination: DestinationStore?
    /// True if the last state lies between two steps and the store was not written after it.
    private var isBetweenSteps = false
    /// True after a write that no state covers, because no state could be taken.
    private var isStale = false
    /// The position of the current step once all its rows were appended.
    var loaded = LoadPosition()
    // The contents of the next state.
    private var unit = 0
    private var highest: [Int64] = []
    private var base: JournalRecord.State?
    /// The counts and unmigrated references at the beginning of the current step or join table.
    private var beginning: (counts: MigrationCounts, references: [UInt8]?)?
    private var turns = JournalRecord.Turns()
    /// The encoded results of the finished mapping models.
    private var models: [UInt8]?
    /// The store that is appended to; nil for a fresh destination.
    private var appended: JournalRecord.Appended?
    /// The ``ExistingDestination/identity`` of the store that is appended to.
    var identity: [Int64] = []
    /// A read-only descriptor of the store that is appended to, from which its copy was made; nil for a fresh destination.
    var original: Int32?
    /// The copy of the store from which a load without rejected objects starts; nil while there is none.
    var before: JournalRecord.Before?
    /// The ordinal of the last state taken.
    private var ordinal = 0
    /// The results of the first load; set once objects were rejected.
    var rejects: JournalRecord.Rejects?
    /// The counts before rejected objects were subtracted. A resumed run subtracts them again.
    var countsBeforeRejects: MigrationCounts?

    /// - Parameters:
    ///   - earlier: an interrupted run with the same inputs.
    ///   - isResumable: true if the load can be resumed; otherwise it starts anew.
    ///   - header: makes the header of this run.
    init(
        _ area: WorkArea, earlier: InterruptedRun?, isResumable: Bool, cancellation: CancellationFlag,
        conditions: RunConditions = .current,
        header: @escaping () throws -> JournalRecord.Header
    ) {
        journalPath = area.runJournalPath
        publicationPath = area.publicationPath
        recentPath = area.recentStatePath
        storePath = area.storePath
        spills = area.spills
        self.header = header
        self.earlier = earlier
        self.isResumable = isResumable
        self.cancellation = cancellation
        intervals = conditions.checkpointIntervals
        recents = RecentStates(area.recentStatePath, interval: conditions.recentStateInterval)
        noted = NotedKeys(area.notedKeysPath)
    }

    // MARK: - Resuming

    /// Finds the state that matches the store, after rolling the store back to a sound state. Returns nil if the run starts
    /// anew.
    ///
    /// - Parameter bound: states with this ordinal or a higher one are ignored.
    /// - Throws: `store.io` (74).
    func findState(vfs: String?, before bound: Int) throws(MigrationError) -> JournalRecord.State? {
        guard isResumable, let earlier, !earlier.states.isEmpty, try DestinationPath.status(storePath) != nil,
            let stamp = try FileSums.rollingBack(
                storePath, { () throws(MigrationError) in try DestinationStore.recover(storePath, vfs: vfs) }),
            let found = earlier.state(bearing: stamp, before: bound)
        else { return nil }
        let recent = try RecentState.find(recentPath, after: found, of: earlier, store: storePath)
            .flatMap { $0.ordinal < bound ? $0 : nil }
        // A recent state that does not match the store now never will.
        if recent == nil { unlink(recentPath) }
        let state = recent ?? found
        noted.find(of: earlier.header.uuid)
        // New ordinals are higher than all in the journal, including those of ignored states.
        ordinal = earlier.states.reduce(state.ordinal) { max($0, $1.ordinal) }
        if bound < .max { ordinal = max(ordinal, bound) }
        resumed = state
        rejects = state.rejects
        before = state.before
        isActive = true
        continuesJournal = true
        unit = state.unit
        highest = state.progress.highest
        turns = state.turns
        turns.isAtBeginning = false
        models = state.models
        appended = state.appended
        hasStages = state.stages != nil
        isBetweenSteps = state.position == nil && state.fill == nil
        return state
    }

    /// Sets the run whose work is recorded.
    func attach(_ previous: PreviousModels, _ external: ExternalFiles) {
        run = previous.run
        self.external = external
        self.previous = previous
    }

    /// Sets the store that is filled.
    func fill(_ destination: DestinationStore) {
        self.destination = destination
        destination.passed = { [weak self] writer throws(MigrationError) in try self?.passed(writer) }
        destination.willAlter = { [weak self] () throws(MigrationError) in try self?.saveBeforeAlteration() }
        destination.willCommit = { [weak self] () throws(MigrationError) in try self?.complete() }
        if isActive { destination.keepJournal() }
    }

    /// Restores the run's counts from the state to resume from, and clears that state.
    func restore() {
        guard let state = resumed, let run else { return }
        run.tally.counts = state.progress.counts
        run.tally.rowsWritten = state.progress.rowsWritten
        run.tally.linksWritten = state.progress.linksWritten
        external?.restore(missing: state.progress.missing)
        run.services.progress.go(to: state.progress.rows)
        if let rejects = state.rejects, let rejected = model?.validation.rejected {
            rejected.skippedRows = rejects.skippedRows
            rejected.removed = rejects.removed
        }
        if state.hasDuplicates { model?.validation.ledger?.hasDuplicates = true }
        highest = state.progress.highest
        resumed = nil
    }

    // MARK: - Keys

    /// Fills an empty set with the keys of a source table that an interrupted run has noted.
    ///
    /// - Returns: false if no keys were noted.
    func restoreKeys(_ index: KeyIndex, ofTable table: Int) throws(MigrationError) -> Bool {
        try noted.restore(index, ofTable: table)
    }

    /// Notes all keys of a source table that later steps look up.
    func note(_ index: KeyIndex, ofTable table: Int) throws(MigrationError) {
        if isResumable { try noted.note(index, ofTable: table) }
    }

    // MARK: - States

    /// True if this run has written a record.
    var hasWritten: Bool { writer != nil }

    /// Marks the beginning of a step or a join table. Counts from now on belong to it.
    func beginUnit() throws {
        guard isResumable, isActive, let run else {
            beginning = nil
            return
        }
        beginning = (countsBeforeRejects ?? run.tally.counts, try references())
    }

    /// Records the state at a step's first row, after its links were resolved.
    func enter(unit: Int, highest: [Int64]) throws {
        self.unit = unit
        self.highest = highest
        base = isActive ? try state(nil, fill: nil) : nil
    }

    /// Takes a state if one is due. Called after a part of a stage, between two calls of user code.
    func tickStages() throws {
        guard isResumable, isDue, let destination else { return }
        guard isFree else { return }
        guard let state = try savedState(nil, fill: nil) else {
            last = .now
            return
        }
        // The stages write nothing to the store, but its file has to be complete.
        if !isActive { try destination.commitStep() }
        try write(state, everything: model?.validation.ledger != nil)
    }

    /// Records that the stages are done and the store is about to be filled. Earlier states do not describe the file from here
    /// on.
    func beginLoad() throws {
        guard isResumable, isActive, let run, let destination else { return }
        try writer?.drain()
        unit = 0
        highest = Array(repeating: 0, count: run.inputs.destinationSchema.tables.count)
        guard var state = try savedState(nil, fill: nil) else { return try invalidate() }
        state.stamp = destination.stamp + 1
        try destination.write(stamp: state.stamp)
        try journal().appendNow(JournalRecord.record(state), synchronizes: false, everything: true)
        try destination.commitStep()
    }

    /// True if files beside the store are written too.
    private var everything: Bool {
        external?.isUsed ?? false || model?.validation.ledger != nil
    }

    private var isDue: Bool {
        let now = ContinuousClock.now
        let waited = last.duration(to: now)
        if waited >= intervals.upperBound || cancellation.error != nil { return true }
        // Processor time is never more than wall-clock time, so it need not be queried before the lower bound.
        guard waited >= intervals.lowerBound, now >= notDueBefore, !isStaged, turns.done == 0,
            destination?.writesPages ?? false
        else { return false }
        let processor = Self.processorSeconds
        let passed = processor - lastProcessor
        let missing = max(intervals.lowerBound / .seconds(1), (processor - start) / 10) - passed
        if missing > 0 { notDueBefore = now + .seconds(missing) }
        return missing <= 0
    }

    /// The processor time of the run's thread since the run began, in seconds.
    var processorSeconds: Double { Self.processorSeconds - start }

    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Takes a state if one is due. Called after a batch of a step was written.
    func tick(_ writer: any TableWriter, _ position: () -> LoadPosition) throws {
        guard isResumable else { return }
        guard isDue else { return try tickRecent(writer, position) }
        guard let pages = writer as? PageTableWriter else { return try commit(position()) }
        guard isFree else { return try tickRecent(writer, position) }
        guard let fill = try pages.checkpoint(sorts: isPlain ? .all : .none),
            var state = try savedState(position(), fill: fill)
        else { return }
        state.namesSorts = pages.namesFiles
        recents.note(state.ordinal, of: pages)
        try write(state, everything: everything)
    }

    /// True if a state of a table that is being filled consists of its pages and sorts alone: no other part uses files.
    private var isPlain: Bool {
        stages == nil && !isStaged && turns.done == 0 && rejects == nil && appended == nil
            && model?.missing.unmigrated == nil
            && !everything
    }

    /// Takes a state without syncing, if one is due and it describes only pages that were filled.
    private func tickRecent(_ writer: any TableWriter, _ position: () -> LoadPosition) throws {
        guard isActive, let pages = writer as? PageTableWriter, let journal = self.writer else { return }
        recents.confirm(journal.syncedOrdinal)
        guard recents.isDue(pages), isPlain, cancellation.error == nil,
            let fill = try pages.checkpoint(sorts: .standing), var state = try state(position(), fill: fill)
        else { return }
        state.namesSorts = pages.namesFiles
        recents.write(state, of: pages, run: try header().uuid)
    }

    /// True if a state may be written: the one before is on the disk, or the run was cancelled and this is the last.
    private var isFree: Bool { cancellation.error != nil || !(writer?.isBusy ?? false) }

    /// Writes a state after syncing the store: in the foreground if it is the last one, otherwise in the background.
    ///
    /// - Parameter everything: true to sync files beside the store too.
    private func write(_ state: JournalRecord.State, everything: Bool) throws {
        let record = JournalRecord.record(state)
        if cancellation.error != nil {
            try journal().appendNow(record, synchronizes: true, everything: everything)
        } else {
            try journal().append(record, ordinal: state.ordinal, everything: everything, trims: isStaged)
        }
        activate()
    }

    private func passed(_ writer: PageTableWriter) throws(MigrationError) {
        if isResumable { try note(writer) }
        // Large indexes take seconds, so cancellation is checked here. The canceller's error is passed on unchanged.
        if writer.isComplete { try Self.encoding { try run?.services.checkCancelled() } }
    }

    private func note(_ writer: PageTableWriter) throws(MigrationError) {
        isBetweenSteps = false
        try Self.encoding {
            if writer.isComplete {
                try tick(writer) { loaded }
            } else if isActive, var state = base, let fill = try writer.checkpoint(sorts: .none) {
                state.position = LoadPosition()
                state.fill = fill
                state.ordinal = nextOrdinal
                recents.note(state.ordinal, of: writer)
                try journal().appendNow(JournalRecord.record(state), synchronizes: true, everything: everything)
                recents.confirm(state.ordinal)
            }
        }
    }

    /// Runs the making of a record, and turns encoding errors into `journal.encode`.
    private static func encoding(_ work: () throws -> Void) throws(MigrationError) {
        do { try work() } catch let error as MigrationError { throw error } catch {
            throw MigrationError("journal.encode", .internal, "The journal's record cannot be made", cause: error)
        }
    }

    /// Records that a step has ended, with its indexes.
    func endStep(_ unit: Int, highest: [Int64]) throws {
        self.unit = unit + 1
        self.highest = highest
        guard isResumable, isActive || isDue else { return }
        defer { if isActive, let run = try? header().uuid { noted.write(run: run) } }
        // If pages filled the whole store, no transaction has to end: a synced state precedes the first row of the next table
        // (``passed(_:)``). If a ledger of rejects exists, the load may be repeated (``loadAgain(_:)``), and the stamp has to
        // tell the filled store from its copy.
        guard isActive, let destination, destination.writesPages, !destination.hasChanges,
            model?.validation.ledger == nil
        else { return try commit(nil) }
        isBetweenSteps = false
        guard isDue, isFree, let state = try savedState(nil, fill: nil) else { return }
        try write(state, everything: everything)
    }

    /// Takes a state before SQLite alters pages that were filled since the last state. Without it, a resumed run would cut
    /// those pages off.
    private func saveBeforeAlteration() throws(MigrationError) {
        guard isResumable, isActive, !isBetweenSteps else { return }
        // A resumed run starts at the beginning of the step, and counts the step again.
        try Self.encoding {
            try model?.validation.ledger?.synchronize()
            var known = base
            if let beginning {
                known?.progress.counts = beginning.counts
                known?.references = beginning.references
            }
            try commit(nil, known)
            base?.stamp = destination?.stamp ?? 0
        }
    }

    /// Ends the transaction with a state that describes the file at that moment, and begins another.
    ///
    /// - Parameter known: the state; nil for the state as it is now.
    private func commit(_ position: LoadPosition?, _ known: JournalRecord.State? = nil) throws {
        guard let destination else { return }
        try writer?.drain()
        last = .now
        guard var state = try known ?? savedState(position, fill: nil) else {
            isStale = true
            return try invalidate()
        }
        state.ordinal = nextOrdinal
        recents.forget()
        isStale = false
        if isActive {
            state.stamp = destination.stamp + 1
            try destination.write(stamp: state.stamp)
            // Written before the transaction ends. The stamp in the file tells whether it did.
            try journal().appendNow(JournalRecord.record(state), synchronizes: false, everything: everything)
            try destination.commitAndBegin()
            // If these checksums are not on the disk, a run after a failure of the machine starts anew.
            _ = FileSums.synchronize(of: storePath)
        } else {
            // From here on the rollback journal is kept, so that the next transaction can be rolled back.
            destination.keepJournal()
            try destination.commitAndBegin()
            try journal().appendNow(JournalRecord.record(state), synchronizes: true, everything: everything)
            activate()
        }
        isBetweenSteps = position == nil
        last = .now
        lastProcessor = Self.processorSeconds
    }

    /// Invalidates earlier states, because there is no state of the present work. If pages are written, the file no longer
    /// matches the earlier states. If SQLite writes, everything since the last state is one transaction, which a killed process
    /// does not commit.
    private func invalidate() throws {
        guard isActive, let destination, destination.writesPages else { return }
        try destination.write(stamp: destination.stamp + 1)
        try destination.commitStep()
    }

    /// Changes the stamp before the filled store is closed for reading, because the load may be repeated from its copy. Work
    /// that no state describes must not look like the work of the last state.
    func closeFilled() throws {
        guard isActive, isStale, let destination else { return }
        try destination.write(stamp: destination.stamp + 1)
        isStale = false
    }

    // MARK: - Several mapping models

    /// Records that a mapping model has finished and that ``PreviousModels`` has taken over its results.
    ///
    /// - Parameters:
    ///   - isStaged: true if the model ran in stages.
    ///   - rejected: the objects rejected so far; nil if none can be.
    func endTurn(isStaged: Bool, hasRowsBefore: [Bool], rejected: RejectReport?) throws {
        guard isResumable, let run, let previous else { return }
        (self.isStaged, hasStages) = (false, false)
        (rejects, before, countsBeforeRejects) = (nil, nil, nil)
        if turns.hasRows.isEmpty { turns.hasRows = [hasRowsBefore] }
        turns.done += 1
        turns.isStaged.append(isStaged)
        turns.hasRows.append(previous.keys.hasRows)
        turns.highestKeys = previous.keys.highestKeys
        turns.hasDeletions = previous.archive.hasDeletions
        turns.written = run.tally.written
        turns.rejects = rejected
        turns.rejectingTables = previous.archive.rejectingTables.sorted()
        unit = 0
        highest = Array(repeating: 0, count: run.inputs.destinationSchema.tables.count)
        guard isActive || isDue else {
            models = nil
            return
        }
        turns.isAtBeginning = true
        defer { turns.isAtBeginning = false }
        models = try FinishedModels.bytes(previous)
        try commit(nil)
    }

    /// Checks that the store that is appended to was not written since it was copied.
    ///
    /// - Throws: `resume.changed` (78) if it was.
    func checkUnchanged(_ path: String) throws(MigrationError) {
        guard let appended, appended.identity != identity else { return }
        throw MigrationError(
            "resume.changed", .configuration,
            "A run to this destination was interrupted, and the destination was written since",
            remedy: "Give --restart to begin anew", context: .init(path: path))
    }

    /// Records that the copy of the store that is appended to exists and that nothing was added to it yet.
    func begin(on existing: ExistingStore) throws {
        guard isResumable, let run, let previous else { return }
        appended = JournalRecord.Appended(
            identity: identity, highestKeys: existing.highestKeys, hasRows: existing.hasRows,
            rows: run.tally.existingRows, links: run.tally.existingLinks)
        highest = Array(repeating: 0, count: run.inputs.destinationSchema.tables.count)
        turns.hasRows = [previous.keys.hasRows]
        turns.highestKeys = previous.keys.highestKeys
        guard isDue else { return }
        turns.isAtBeginning = true
        defer { turns.isAtBeginning = false }
        try commit(nil)
    }

    /// Records that the load starts again without the rejected objects, from the copy of the store. The run's counts have
    /// been reset to their values at the copy.
    ///
    /// - Parameter changesEarlier: true if existing rows change. No state records which, so none is written.
    func loadAgain(_ rejects: JournalRecord.Rejects, changesEarlier: Bool) throws {
        guard isResumable else { return }
        self.rejects = rejects
        resumed = nil
        unit = 0
        guard isActive, let run else { return }
        let tables = run.inputs.destinationSchema.tables.count
        highest = Array(repeating: 0, count: tables)
        guard !changesEarlier, let before, var state = try savedState(nil, fill: nil) else { return }
        state.stamp = before.stamp
        state.knowledge = before.knowledge
        try journal().appendNow(JournalRecord.record(state), synchronizes: true, everything: true)
    }

    /// Records that the store is complete and about to be committed.
    private func complete() throws(MigrationError) {
        guard isResumable, isActive else { return }
        try Self.encoding {
            guard var state = try state(nil, fill: nil) else { return }
            // The stages are over, but a resumed run needs their results.
            if isStaged {
                guard hasStages, let stages = try journal().lastState()?.stages else { return }
                state.stages = stages
            }
            state.isComplete = true
            state.stamp = destination?.knowledge.firstStamp ?? 0
            // The transaction brings the store's bytes to the disk. Files beside the store have to be synced here.
            try journal().appendNow(JournalRecord.record(state), synchronizes: false, everything: everything)
        }
    }

    /// Records that the files are about to be renamed to their final paths.
    func publish(_ publication: JournalRecord.Publication) throws {
        let record = try JournalRecord.record(publication)
        try journal().appendNow(record, synchronizes: false)
        // The copy is optional, because the journal holds the same record.
        try? InterruptedRun.writeCopy(publicationPath, try header(), record)
    }

    /// Ends an unfinished run that can be resumed.
    ///
    /// - Returns: true if a journal exists.
    func keep() -> Bool {
        // Earlier records hold even if later ones failed.
        if let writer {
            try? writer.drain()
            return true
        }
        return (try? journal()) != nil
    }

    private func activate() {
        isActive = true
        last = .now
        lastProcessor = Self.processorSeconds
        destination?.keepJournal()
    }

    private func journal() throws -> JournalWriter {
        if let writer { return writer }
        let made = try JournalWriter(
            journalPath, header: try header(), earlier: continuesJournal ? earlier : nil, storePath: storePath,
            spills: spills)
        writer = made
        return made
    }

    /// Returns the current state after syncing the ledger of rejects.
    private func savedState(_ position: LoadPosition?, fill: [UInt8]?) throws -> JournalRecord.State? {
        try model?.validation.ledger?.synchronize()
        return try state(position, fill: fill)
    }

    private var nextOrdinal: Int {
        ordinal += 1
        return ordinal
    }

    private func state(_ position: LoadPosition?, fill: [UInt8]?) throws -> JournalRecord.State? {
        guard let run, let previous, let destination else { return nil }
        let stagesBytes = try stages?.bytes()
        if stages != nil { hasStages = stagesBytes != nil }
        guard stages == nil || stagesBytes != nil else { return nil }
        if let rejected = model?.validation.rejected {
            rejects?.skippedRows = rejected.skippedRows
            rejects?.removed = rejected.removed
        }
        // The models that finished before the first state was taken have not been encoded yet.
        if turns.done > 0, models == nil { models = try FinishedModels.bytes(previous) }
        return JournalRecord.State(
            stamp: destination.stamp, unit: unit, position: position,
            progress: .init(
                counts: countsBeforeRejects ?? run.tally.counts, rowsWritten: run.tally.rowsWritten,
                linksWritten: run.tally.linksWritten,
                highest: highest, missing: external?.allMissing ?? [:], rows: run.services.progress.snapshot.rows),
            knowledge: destination.knowledge, rejects: rejects, before: before,
            hasDuplicates: model?.validation.ledger?.hasDuplicates ?? false, fill: fill, stages: stagesBytes,
            turns: turns, appended: appended, models: models, references: try references(),
            stagedFiles: external?.noted ?? 0, ordinal: nextOrdinal)
    }

    /// Encodes the unmigrated references of a mapping model without user code.
    private func references() throws -> [UInt8]? {
        guard stages == nil, let unmigrated = model?.missing.unmigrated else { return nil }
        var writer = StateWriter()
        try unmigrated.save(to: &writer)
        return writer.bytes
    }
}
