import CoreDataStore
import Diagnostics
import Foundation
import SpillStorage

/// The checkpoints of one run: when they are taken, and where a killed run resumes. ``StateDraft`` knows what they contain.
///
/// A run that ends within some hundredths of a second takes no checkpoint. After the first one, a checkpoint is taken when
/// pages begin to fill a table, when a step ends in which SQLite wrote, and every half second within a step; on the row path
/// also after every sixteenth of the time so far. The journal's record describes the contents of the store's file and is
/// written once the file is on the disk. So whatever is lost, the file can be brought back to the last sound record.
///
/// Memory: one record.
final class CheckpointScheduler {
    let draft = StateDraft()
    let area: WorkArea
    let header: () throws -> JournalRecord.Header
    /// The interrupted run whose journal is continued if this run resumes from a state of it.
    private var earlier: InterruptedRun?
    private let cancellation: CancellationFlag
    private var clock: CheckpointClock
    private(set) var writer: JournalWriter?
    /// The state to resume from; nil after it was restored, and if there is none.
    private(set) var resumed: JournalRecord.State?
    private var isResumed = false
    /// True once a state has been written. From then on each step ends with a state.
    private(set) var isActive = false
    /// True if the load can be resumed.
    let isResumable: Bool
    /// True if the last state lies between two steps and the store was not written after it.
    private var isBetweenSteps = false
    /// True after a write that no state covers, because no state could be taken.
    private var isStale = false
    /// The position of the current step once all its rows were appended.
    var loaded = LoadPosition()
    /// The state at the first row of the current step or join table.
    private var base: JournalRecord.State?
    /// The counts and unmigrated references at the beginning of the current step or join table.
    private var beginning: (counts: MigrationCounts, references: [UInt8]?)?
    /// The ``ExistingDestination/identity`` of the store that is appended to.
    var identity: [Int64] = []
    /// A read-only descriptor of the store that is appended to, from which its copy was made; nil for a fresh destination.
    var original: Int32?

    /// - Parameters:
    ///   - earlier: an interrupted run with the same inputs.
    ///   - isResumable: true if the load can be resumed; otherwise it starts anew.
    ///   - header: makes the header of this run.
    init(
        _ area: WorkArea, earlier: InterruptedRun?, isResumable: Bool, cancellation: CancellationFlag,
        conditions: RunConditions = .current,
        header: @escaping () throws -> JournalRecord.Header
    ) {
        self.area = area
        self.header = header
        self.earlier = earlier
        self.isResumable = isResumable
        self.cancellation = cancellation
        clock = CheckpointClock(intervals: conditions.checkpointIntervals)
    }

    // MARK: - Resuming

    /// Sets the state from which the run resumes.
    ///
    /// - Parameter ordinal: the highest ordinal of a state in the journal, or above.
    func resume(from state: JournalRecord.State, ordinal: Int) {
        resumed = state
        earlier = earlier?.through(state)
        (isResumed, isActive) = (true, true)
        isBetweenSteps = state.position == nil && state.fill == nil
        draft.resume(from: state, ordinal: ordinal)
    }

    /// Sets the run whose work is recorded.
    func attach(_ previous: PreviousModels, _ external: ExternalFiles) {
        (draft.run, draft.external, draft.previous) = (previous.run, external, previous)
    }

    /// Sets the store that is filled.
    func fill(_ destination: DestinationStore) {
        draft.destination = destination
        destination.passed = { [weak self] writer throws(MigrationError) in try self?.passed(writer) }
        destination.willAlter = { [weak self] () throws(MigrationError) in try self?.saveBeforeAlteration() }
        destination.willCommit = { [weak self] () throws(MigrationError) in try self?.complete() }
        if isActive { destination.keepJournal() }
    }

    /// Restores the run's counts from the state to resume from, and clears that state.
    func restore() {
        if let resumed { draft.restore(resumed) }
        resumed = nil
    }

    // MARK: - When

    /// True if a state is due, or the run was cancelled and this is the last.
    private var isDue: Bool {
        if cancellation.error != nil { return true }
        return clock.isDue(
            fillsPages: !draft.isStaged && draft.next.turns.done == 0 && draft.destination?.writesPages ?? false)
    }

    /// True if a state may be written: the one before is on the disk, or the run was cancelled and this is the last.
    private var isFree: Bool { cancellation.error != nil || !(writer?.isBusy ?? false) }

    /// Takes a state if one is due. Called after a part of a stage, between two calls of user code.
    func tickStages() throws {
        guard isResumable, isDue, isFree else { return }
        guard let state = try draft.savedState() else {
            return clock.pass()
        }
        // The stages write nothing to the store, but its file has to be complete.
        if !isActive { try draft.destination?.endTransaction() }
        try write(state)
    }

    /// Takes a state if one is due. Called after a batch of a step was written.
    func tick(_ writer: any TableWriter, _ position: () -> LoadPosition) throws {
        guard isResumable else { return }
        guard let pages = writer as? PageTableWriter else { return isDue ? try commit(position()) : () }
        let bytes = pages.byteCount
        guard isDue || clock.isDue(bytes: bytes), isFree, let fill = try pages.checkpoint(),
            let state = try draft.savedState(position(), fill: fill)
        else { return }
        try write(state)
        clock.pass(bytes: bytes)
    }

    /// Takes a state before pages fill a table, and between the steps in which its indexes are built.
    private func passed(_ writer: PageTableWriter) throws(MigrationError) {
        try Self.encoding {
            if isResumable { try note(writer) }
            // Large indexes take seconds, so cancellation is checked here. The canceller's error is passed on unchanged.
            if writer.isComplete { try draft.run?.services.checkCancelled() }
        }
    }

    private func note(_ writer: PageTableWriter) throws {
        isBetweenSteps = false
        if writer.isComplete { return try tick(writer) { loaded } }
        clock.pass(bytes: writer.byteCount)
        guard isActive, var state = base, let fill = try writer.checkpoint() else { return }
        (state.position, state.fill, state.ordinal) = (LoadPosition(), fill, draft.nextOrdinal())
        try appendNow(state)
    }

    /// Takes a state before SQLite alters pages that were filled since the last state. Without it, a resumed run would cut
    /// those pages off.
    private func saveBeforeAlteration() throws(MigrationError) {
        guard isResumable, isActive, !isBetweenSteps else { return }
        // A resumed run starts at the beginning of the step, and counts the step again.
        try Self.encoding {
            try draft.model?.validation.ledger?.synchronize()
            var known = base
            if let beginning {
                known?.progress.counts = beginning.counts
                known?.references = beginning.references
            }
            try commit(nil, known)
            base?.stamp = draft.destination?.stamp ?? 0
        }
    }

    /// Runs the making of a record, and turns encoding errors into `journal.encode`.
    private static func encoding(_ work: () throws -> Void) throws(MigrationError) {
        do { try work() } catch let error as MigrationError { throw error } catch {
            throw MigrationError("journal.encode", .internal, "The journal's record cannot be made", cause: error)
        }
    }

    // MARK: - The places of a run

    /// Marks the beginning of a step or a join table. Counts from now on belong to it.
    func beginUnit() throws { beginning = isResumable && isActive ? try draft.counted() : nil }

    /// Records the state at a step's first row, after its links were resolved.
    func enter(unit: Int, highest: [Int64]) throws {
        (draft.next.unit, draft.next.progress.highest) = (unit, highest)
        base = isActive ? try draft.state() : nil
    }

    /// Records that a step has ended, with its indexes.
    func endStep(_ unit: Int, highest: [Int64]) throws {
        (draft.next.unit, draft.next.progress.highest) = (unit + 1, highest)
        guard isResumable, isActive || isDue else { return }
        // If pages filled the whole store, no transaction has to end: a synced state precedes the first row of the next table
        // (``passed(_:)``). If a ledger of rejects exists, the load may be repeated (``loadAgain(_:)``), and the stamp has to
        // tell the filled store from its copy.
        guard isActive, let destination = draft.destination, destination.writesPages, !destination.hasChanges,
            draft.model?.validation.ledger == nil
        else { return try commit(nil) }
        isBetweenSteps = false
        if isDue, isFree, let state = try draft.savedState() { try write(state) }
    }

    /// Records that the stages are done and the store is about to be filled. Earlier states do not describe the file from here
    /// on.
    func beginLoad() throws {
        guard isResumable, isActive, let destination = draft.destination else { return }
        try writer?.drain()
        draft.beginTables()
        guard var state = try draft.savedState() else { return try invalidate() }
        state.stamp = destination.stamp + 1
        try destination.write(stamp: state.stamp)
        try journal().appendNow(JournalRecord.record(state), synchronizes: false, everything: true)
        try destination.endTransaction()
    }

    /// Records that the copy of the store that is appended to exists and that nothing was added to it yet.
    func begin(on existing: ExistingStore) throws {
        guard isResumable else { return }
        draft.begin(on: existing, identity: identity)
        if isDue { try commitBeginning() }
    }

    /// Records that all rows of a mapping model are loaded.
    func endModel() throws {
        if isResumable, isActive { try draft.saveKeys() }
        draft.model = nil
    }

    /// Records that a mapping model has finished and that ``PreviousModels`` has taken over its results.
    ///
    /// - Parameters:
    ///   - isStaged: true if the model ran in stages.
    ///   - rejected: the objects rejected so far; nil if none can be.
    func endTurn(isStaged: Bool, hasRowsBefore: [Bool], rejected: RejectReport?) throws {
        guard isResumable else { return }
        draft.endTurn(isStaged: isStaged, hasRowsBefore: hasRowsBefore, rejected: rejected)
        if isActive || isDue { try commitBeginning() }
    }

    /// Ends the transaction with a state at the beginning of a mapping model.
    private func commitBeginning() throws {
        draft.next.turns.isAtBeginning = true
        defer { draft.next.turns.isAtBeginning = false }
        try commit(nil)
    }

    /// Changes the stamp before the filled store is closed for reading, because the load may be repeated from its copy. Work
    /// that no state describes must not look like the work of the last state.
    func closeFilled() throws {
        guard isActive, isStale, let destination = draft.destination else { return }
        try destination.write(stamp: unusedStamp)
        isStale = false
    }

    /// A stamp that no state has. Loads that were repeated had greater ones.
    private var unusedStamp: Int64 { max(draft.destination?.stamp ?? 0, draft.next.rejects?.stamp ?? 0) + 1 }

    /// Records that the load starts again without the rejected objects, from the copy of the store. The run's counts have
    /// been reset to their values at the copy.
    ///
    /// - Parameter changesExisting: true if existing rows change. No state records which, so none is written.
    func loadAgain(_ rejects: JournalRecord.Rejects, changesExisting: Bool) throws {
        guard isResumable else { return }
        let stamp = unusedStamp
        draft.next.rejects = rejects
        draft.next.rejects?.stamp = stamp
        resumed = nil
        draft.beginTables()
        guard isActive, !changesExisting, let before = draft.next.before, var state = try draft.savedState() else {
            return
        }
        (state.stamp, state.knowledge) = (before.stamp, before.knowledge)
        try journal().appendNow(JournalRecord.record(state), synchronizes: true, everything: true)
    }

    /// Records that the store is complete and about to be committed.
    private func complete() throws(MigrationError) {
        guard isResumable, isActive else { return }
        try Self.encoding {
            guard var state = try draft.state() else { return }
            // The stages are over, but a resumed run needs their results.
            if draft.isStaged {
                guard draft.hasStages, let stages = try journal().lastState()?.stages else { return }
                state.stages = stages
            }
            state.isComplete = true
            state.stamp = draft.destination?.knowledge.firstStamp ?? 0
            // The transaction brings the store's bytes to the disk. Files beside the store have to be synced here.
            try appendNow(state, synchronizes: false)
        }
    }

    // MARK: - Writing

    /// True if files beside the store are written too.
    private var everything: Bool { draft.external?.isUsed ?? false || draft.model?.validation.ledger != nil }

    /// Writes a state after syncing the store: in the foreground if it is the last one, otherwise in the background.
    private func write(_ state: JournalRecord.State) throws {
        if cancellation.error != nil {
            try appendNow(state)
        } else {
            try journal().append(JournalRecord.record(state), everything: everything, trims: draft.isStaged)
        }
        activate()
    }

    /// Writes a state in the foreground.
    private func appendNow(_ state: JournalRecord.State, synchronizes: Bool = true) throws {
        try journal().appendNow(JournalRecord.record(state), synchronizes: synchronizes, everything: everything)
    }

    /// Ends the transaction with a state that describes the file at that moment, and begins another.
    ///
    /// - Parameter known: the state; nil for the state as it is now.
    private func commit(_ position: LoadPosition?, _ known: JournalRecord.State? = nil) throws {
        guard let destination = draft.destination else { return }
        try writer?.drain()
        clock.pass()
        guard var state = try known ?? draft.savedState(position) else {
            isStale = true
            return try invalidate()
        }
        state.ordinal = draft.nextOrdinal()
        isStale = false
        if isActive {
            state.stamp = destination.stamp + 1
            try destination.write(stamp: state.stamp)
            // Written before the transaction ends. The stamp in the file tells whether it did.
            try appendNow(state, synchronizes: false)
            try destination.commitAndBegin()
            // If these checksums are not on the disk, a run after a failure of the machine starts anew.
            _ = FileSums.synchronize(of: area.storePath)
        } else {
            // From here on the rollback journal is kept, so that the next transaction can be rolled back.
            destination.keepJournal()
            try destination.commitAndBegin()
            try appendNow(state)
        }
        activate()
        isBetweenSteps = position == nil
    }

    /// Invalidates earlier states, because there is no state of the present work. If pages are written, the file no longer
    /// matches the earlier states. If SQLite writes, everything since the last state is one transaction, which a killed process
    /// does not commit.
    private func invalidate() throws {
        guard isActive, let destination = draft.destination, destination.writesPages else { return }
        try destination.write(stamp: unusedStamp)
        try destination.endTransaction()
    }

    private func activate() {
        isActive = true
        clock.pass()
        draft.destination?.keepJournal()
    }

    func journal() throws -> JournalWriter {
        if let writer { return writer }
        let made = try JournalWriter(
            area.runJournalPath, header: try header(), earlier: isResumed ? earlier : nil, storePath: area.storePath,
            spills: area.spills)
        writer = made
        return made
    }
}
