import CoreDataStore
import Diagnostics
import Foundation
import SpillStorage

/// The checkpoints of one run: when they are taken, and where a killed run resumes. ``StateDraft`` knows what they contain.
///
/// A state describes the store at the end of a unit of the load (a table or join table with its indexes), or the results of the
/// stages between two calls of user code. One is taken at most every half second, and a run that ends before takes none.
///
///                  the first state is due               the stages cannot be saved
///      waiting ----------------------------> recording ----------------------------> stale
///                                              ^   ^                                   |
///                                              +---+-----------------------------------+
///                                            the next state
///
/// - *waiting*: no state was written, and SQLite keeps no rollback journal.
/// - *recording*: the last state holds. What SQLite writes has to end with a state, in one transaction with its stamp; what pages
///   fill beyond it is cut off. So each loss of the process leaves a store that fits a state.
/// - *stale*: the store holds work that no state describes. If it were closed, its stamp would have to change first.
///
/// The journal's record is written once the store's file is on the disk; within a transaction of SQLite it is written before the
/// transaction ends, and the stamp in the file tells whether it did.
///
/// Memory: one record.
final class CheckpointScheduler {
    private enum Phase { case waiting, recording, stale }

    let area: WorkArea
    let header: () throws -> JournalRecord.Header
    /// True if the load can be resumed; otherwise no state is written.
    let isResumable: Bool
    /// The ``ExistingDestination/identity`` of the store that is appended to; empty if there is none.
    private var identity: [Int64] = []
    private let draft: StateDraft
    private let cancellation: CancellationFlag
    private var clock: CheckpointClock
    private var phase = Phase.waiting
    /// The state to resume from; nil after it was restored, and if there is none.
    private(set) var resumed: JournalRecord.State?
    /// The interrupted run whose journal is continued; nil if this run begins a journal.
    private var continued: InterruptedRun?
    private var writer: JournalWriter?

    /// - Parameters:
    ///   - isResumable: true if the load can be resumed; otherwise it starts anew.
    ///   - header: makes the header of this run.
    init(
        _ area: WorkArea, isResumable: Bool, cancellation: CancellationFlag, conditions: RunConditions = .current,
        header: @escaping () throws -> JournalRecord.Header
    ) {
        self.area = area
        draft = StateDraft(area)
        self.header = header
        self.isResumable = isResumable
        self.cancellation = cancellation
        clock = CheckpointClock(interval: conditions.checkpointInterval)
    }

    /// True once a state has been written.
    var isActive: Bool { phase != .waiting }
    /// True if this run has written to the journal.
    var hasJournal: Bool { writer != nil }

    // MARK: - Resuming

    /// Sets the state from which the run resumes.
    ///
    /// - Parameters:
    ///   - run: the interrupted run, whose journal is continued behind the state.
    ///   - ordinal: the highest ordinal of a state in the journal, or above.
    func resume(_ run: InterruptedRun, from state: JournalRecord.State, ordinal: Int) {
        resumed = state
        continued = run.through(state)
        phase = .recording
        draft.resume(from: state, ordinal: ordinal)
    }

    /// Restores the run's counts from the state to resume from, and clears that state.
    func restore() {
        if let resumed { draft.restore(resumed) }
        resumed = nil
    }

    /// The store's copy from before the load that was interrupted; nil if it made none.
    var copyBeforeLoad: JournalRecord.Before? { draft.next.before }

    // MARK: - The parts of a run

    /// Sets the run whose work is recorded.
    ///
    /// - Parameter identity: the ``ExistingDestination/identity`` of the store that is appended to; empty if there is none.
    func attach(_ previous: PreviousModels, _ external: ExternalFiles, appendingTo identity: [Int64]) {
        draft.run = previous.run
        draft.external = external
        draft.previous = previous
        external.notesFiles = isResumable
        self.identity = identity
    }

    /// Sets the store that is filled.
    func fill(_ destination: DestinationStore) throws(MigrationError) {
        let isFirst = draft.destination == nil
        draft.destination = destination
        destination.willCommit = { [weak self] () throws(MigrationError) in try self?.complete() }
        if isFirst, isResumable, resumed == nil { try stampNew(destination) }
        guard isActive else { return }
        // From here on unfinished work can be rolled back.
        destination.keepJournal()
        try destination.endTransaction()
    }

    /// Gives a store a stamp that its copy has too: a load without rejects begins from a copy with this stamp.
    private func stampNew(_ destination: DestinationStore) throws(MigrationError) {
        let first = destination.stamp
        try destination.write(stamp: (0..<1 << 30).contains(first) ? first + 1 : 1)
    }

    /// Records that the copy of the store that is appended to exists and that nothing was added to it yet.
    func begin(on existing: ExistingStore) throws {
        guard isResumable else { return }
        draft.begin(on: existing, identity: identity)
        if isDue { try commitBeginning() }
    }

    /// Sets the mapping model at work.
    func beginModel(_ model: ModelRun) { draft.model = model }

    /// Sets the stages of a mapping model with user code; nil when they are over.
    func stages(_ stages: PolicyCheckpoint?) { draft.stages = stages }

    /// Notes the copy of the store to which the load may return. The store gets another stamp than the copy, which tells the two
    /// apart.
    ///
    /// - Throws: `store.io` (74).
    func keep(copy: DestinationStore.Checkpoint) throws(MigrationError) {
        if isResumable, let destination = draft.destination { try destination.write(stamp: destination.stamp + 1) }
        draft.next.before = JournalRecord.Before(
            knowledge: copy.knowledge, stamp: copy.stamp, pages: try draft.destination?.filledPages)
    }

    /// Takes a state if one is due. Called between two calls of user code.
    func tickStages() throws {
        guard isResumable, isDue, isFree else { return }
        guard let state = try describedState() else { return clock.pass() }
        // The stages write nothing to the store, but its file has to be complete.
        if !isActive { try draft.destination?.endTransaction() }
        try write(state)
    }

    /// Records that the stages are done and the store is about to be filled. The states before do not describe the file from here
    /// on.
    func beginLoad() throws {
        guard isResumable, isActive, let destination = draft.destination else { return }
        try writer?.drain()
        draft.beginTables()
        guard var state = try describedState() else { return try invalidate() }
        state.stamp = destination.stamp + 1
        try destination.write(stamp: state.stamp)
        try journal().appendNow(JournalRecord.record(state), synchronizes: false, everything: true)
        try destination.endTransaction()
    }

    /// Records that a unit of the load has ended, with its indexes.
    ///
    /// - Parameter highest: Z_MAX by destination table.
    func endUnit(_ unit: Int, highest: [Int64]) throws {
        draft.endUnit(unit, highest: highest)
        guard isResumable, isActive || isDue else { return }
        // If pages filled the unit, no transaction has to end. Where objects may be rejected the load may be repeated
        // (``loadAgain(_:changesExisting:)``), and the stamp has to tell the filled store from its copy.
        guard phase == .recording, let destination = draft.destination, destination.filling.writesPages,
            !destination.hasChanges, !draft.mayReject
        else { return try commit() }
        if isDue, isFree, let state = try describedState() { try write(state) }
    }

    /// Records that the counts are about to lose rejected objects. A resumed run subtracts them again.
    func willCountRejects(_ counts: MigrationCounts) { draft.countsBeforeRejects = counts }

    /// Changes the stamp before the filled store is closed for reading, because the load may be repeated from its copy. Work
    /// that no state describes must not look like the work of the last state.
    func closeFilled() throws {
        guard phase == .stale, let destination = draft.destination else { return }
        try destination.write(stamp: unusedStamp)
        phase = .recording
    }

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
        state.stamp = before.stamp
        state.knowledge = before.knowledge
        state.pages = before.pages
        try journal().appendNow(JournalRecord.record(state), synchronizes: true, everything: true)
    }

    /// Records that all rows of a mapping model are loaded.
    func endLoad() { draft.model = nil }

    /// Records that a mapping model has finished and that ``PreviousModels`` has taken over its results.
    ///
    /// - Parameters:
    ///   - isStaged: true if the model ran in stages.
    ///   - rejected: the objects rejected so far; nil if none can be.
    func endModel(isStaged: Bool, hasRowsBefore: [Bool], rejected: RejectReport?) throws {
        guard isResumable else { return }
        draft.endModel(isStaged: isStaged, hasRowsBefore: hasRowsBefore, rejected: rejected)
        if isActive || isDue { try commitBeginning() }
    }

    /// Records that the store is complete and about to be committed.
    private func complete() throws(MigrationError) {
        guard isResumable, isActive else { return }
        do {
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
        } catch let error as MigrationError {
            throw error
        } catch {
            throw MigrationError("journal.encode", .internal, "The journal's record cannot be made", cause: error)
        }
    }

    // MARK: - Writing

    /// Returns a state of the present work and of the store's file; nil if the stages of a mapping model cannot be saved.
    private func describedState() throws -> JournalRecord.State? {
        guard var state = try draft.savedState() else { return nil }
        state.pages = try draft.destination?.filledPages
        return state
    }

    /// True if a state is due, or the run was cancelled and this is the last.
    private var isDue: Bool { cancellation.error != nil || clock.isDue }

    /// True if a state may be written: the one before is on the disk, or the run was cancelled and this is the last.
    private var isFree: Bool { cancellation.error != nil || !(writer?.isBusy ?? false) }

    /// A stamp that no state has. Loads that were repeated had greater ones.
    private var unusedStamp: Int64 { max(draft.destination?.stamp ?? 0, draft.next.rejects?.stamp ?? 0) + 1 }

    /// True if files beside the store are written too.
    private var everything: Bool { draft.external?.isUsed ?? false || draft.mayReject }

    /// Writes a state after syncing the store: in the foreground if it is the last one, otherwise in the background.
    private func write(_ state: JournalRecord.State) throws {
        if cancellation.error != nil {
            try appendNow(state)
        } else {
            try journal().append(JournalRecord.record(state), everything: everything, trims: draft.isStaged)
        }
        record()
    }

    /// Writes a state in the foreground.
    private func appendNow(_ state: JournalRecord.State, synchronizes: Bool = true) throws {
        try journal().appendNow(JournalRecord.record(state), synchronizes: synchronizes, everything: everything)
    }

    /// Ends the transaction with a state at the beginning of a mapping model.
    private func commitBeginning() throws {
        draft.next.modelProgress.isAtBeginning = true
        defer { draft.next.modelProgress.isAtBeginning = false }
        try commit()
    }

    /// Ends the transaction with a state that describes the file at that moment, and begins another.
    private func commit() throws {
        guard let destination = draft.destination else { return }
        try writer?.drain()
        clock.pass()
        guard var state = try describedState() else {
            if isActive { phase = .stale }
            return try invalidate()
        }
        if isActive {
            state.stamp = destination.stamp + 1
            try destination.write(stamp: state.stamp)
            // Written before the transaction ends. The stamp in the file tells whether it did.
            try appendNow(state, synchronizes: false)
            try destination.commitAndBegin()
        } else {
            // From here on the rollback journal is kept, so that the next transaction can be rolled back.
            destination.keepJournal()
            try destination.commitAndBegin()
            try appendNow(state)
        }
        record()
    }

    /// Invalidates the states before, because there is none of the present work. If pages are written, the file no longer
    /// matches them. If SQLite writes, everything since the last state is one transaction, which a killed process does not
    /// commit.
    private func invalidate() throws {
        guard isActive, let destination = draft.destination, destination.filling.writesPages else { return }
        try destination.write(stamp: unusedStamp)
        try destination.endTransaction()
    }

    private func record() {
        phase = .recording
        clock.pass()
        draft.destination?.keepJournal()
    }

    func journal() throws -> JournalWriter {
        if let writer { return writer }
        let made = try JournalWriter(
            area.runJournalPath, header: try header(), continuing: continued, storePath: area.storePath,
            spills: area.spills)
        writer = made
        return made
    }

    /// Ends an unfinished run that can be resumed. Returns true if a journal exists.
    func keep() -> Bool {
        // The records that were written hold even if later ones failed.
        if let writer {
            try? writer.drain()
            return true
        }
        return (try? journal()) != nil
    }
}
