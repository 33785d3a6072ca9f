import Diagnostics
import Foundation
import PersistentStore
import SpillStorage

/// The checkpoints of one run: when they are taken, what they say, and where a run goes on that was killed.
///
/// A run that ends within some hundredths of a second takes none. From the first one on there is one where pages begin to fill
/// a table and where a step in which SQLite wrote ends, and within a step every half second, on the row path for every tenth of
/// the work too. The journal's record says what the file holds, and is written when the file is on the disk; so whatever is
/// lost, the file can be brought back to what the last sound record says. In between, where pages fill a table, there are
/// states that nothing waits for (``RecentState``).
///
/// Memory: a record.
final class RunCheckpoints {
    private let journalPath: String
    private let publicationPath: String
    private let recentPath: String
    private let recents: RecentStates
    private let noted: NotedKeys
    private let storePath: String
    private let spills: WorkDirectory
    private let header: () throws -> RunRecord.Header
    private let earlier: EarlierRun?
    private let cancellation: CancellationFlag
    /// Between two states: the least of processor time, the most of the clock's time. In between a tenth of the work may be
    /// lost where a state is a few pages; what costs more, stages and SQLite's transactions, waits for the most.
    private let intervals: ClosedRange<Duration>
    /// Processor seconds of the run's thread, when it began and at the last state.
    private let start = RunCheckpoints.processorSeconds
    private var lastProcessor = RunCheckpoints.processorSeconds
    /// Until when the processor's time cannot have come so far that a state is due: each question is a call of the system.
    private var notDueBefore = ContinuousClock.now
    private let journalFailure: Int?
    private var writer: JournalWriter?
    private var last = ContinuousClock.now
    private var anchor: MigrationSession.Anchor?
    private var session: MigrationSession? { anchor?.session }
    /// The stages of a mapping model with user code; nil while none is at work.
    weak var stages: StagedCheckpoints? {
        didSet { if stages != nil { isStaged = true } }
    }
    /// Whether the mapping model at work has run in stages.
    private var isStaged = false
    /// Whether the last state of these could be kept.
    private var hasStages = false
    /// The state to go on from; nil once it was gone on from, and where there is none.
    private(set) var resumed: RunRecord.State?
    /// Whether a state has been written: from then on each step ends with one.
    private(set) var isActive = false
    /// Whether steps of the load may be gone on from.
    let isResumable: Bool
    /// Whether the journal of the earlier run is gone on with.
    private var goesOn = false
    private var destination: DestinationStore?
    /// Whether the last state is one between two steps, after which the store was not written.
    private var isBetweenSteps = false
    /// Whether rows were written since the last state that no state could be taken of.
    private var isStale = false
    /// The step at work once all its rows were appended.
    var loaded = RunRecord.LoadPosition()
    // What the next state says.
    private var unit = 0
    private var highest: [Int64] = []
    private var base: RunRecord.State?
    /// What was counted, and what was referred to, when the step or join table at work began.
    private var beginning: (counts: MigrationCounts, references: [UInt8]?)?
    private var turns = RunRecord.Turns()
    /// What the models that have run left.
    private var models: [UInt8]?
    /// The store that is appended to; nil for a fresh one.
    private var appended: RunRecord.Appended?
    /// Which file it is: ``ExistingDestination/identity``.
    var identity: [Int64] = []
    /// The store that is appended to, open for reading: what its copy was made of; nil for a fresh one.
    var original: Int32?
    /// The copy of the store that a load without rejects begins from; nil while there is none.
    var before: RunRecord.Before?
    /// States taken so far.
    private var ordinal = 0
    /// Set once objects were rejected.
    var rejects: RunRecord.Rejects?
    /// The counts before rejected objects were taken out of them: a run that goes on takes them out again.
    var countsBeforeRejects: MigrationCounts?

    /// - Parameters:
    ///   - earlier: a run that did not end, whose inputs are the same.
    ///   - isResumable: whether the load can be gone on from; else it is begun anew.
    ///   - header: what this run is begun with.
    init(
        _ area: WorkArea, earlier: EarlierRun?, isResumable: Bool, cancellation: CancellationFlag,
        options: MigrationOptions,
        header: @escaping () throws -> RunRecord.Header
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
        let asked = RunCheckpoints.setting("STAGECOACH_CHECKPOINT_INTERVAL")
        let given = options.checkpointInterval ?? asked.map { .milliseconds($0) }
        intervals = (given ?? .milliseconds(30))...(given ?? .milliseconds(500))
        recents = RecentStates(area.recentStatePath, interval: given ?? .milliseconds(4))
        noted = NotedKeys(area.notedKeysPath)
        journalFailure = options.journalFailure
    }

    /// A number that a variable of the environment gives.
    static func setting(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    // MARK: - Going on

    /// Finds the state that the store is in, brought back to where it was sound; nil where all begins anew.
    ///
    /// - Parameter bound: states from this number on are passed over.
    /// - Throws: `store.io` (74).
    func findState(vfs: String?, before bound: Int) throws(MigrationError) -> RunRecord.State? {
        guard isResumable, let earlier, !earlier.states.isEmpty, try DestinationPath.status(storePath) != nil,
            let stamp = try FileSums.rollingBack(
                storePath, { () throws(MigrationError) in try DestinationStore.recover(storePath, vfs: vfs) }),
            let found = earlier.state(bearing: stamp, before: bound)
        else { return nil }
        let recent = try RecentState.find(recentPath, after: found, of: earlier, store: storePath)
            .flatMap { $0.ordinal < bound ? $0 : nil }
        // One that does not hold never will.
        if recent == nil { unlink(recentPath) }
        let state = recent ?? found
        noted.find(of: earlier.header.uuid)
        // Later than all that stand in the journal, also those that are passed over.
        ordinal = earlier.states.reduce(state.ordinal) { max($0, $1.ordinal) }
        if bound < .max { ordinal = max(ordinal, bound) }
        resumed = state
        rejects = state.rejects
        before = state.before
        isActive = true
        goesOn = true
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

    /// Says which session's work is noted.
    func attach(_ session: MigrationSession) { anchor = session.anchor }

    /// Says which store is filled.
    func fill(_ destination: DestinationStore) {
        self.destination = destination
        destination.passed = { [weak self] writer throws(MigrationError) in try self?.passed(writer) }
        destination.willAlter = { [weak self] () throws(MigrationError) in try self?.settle() }
        destination.willCommit = { [weak self] () throws(MigrationError) in try self?.complete() }
        if isActive { destination.keepJournal() }
    }

    /// The session's counts become those of the state that is gone on from, which is used up.
    func restore() {
        guard let state = resumed, let session else { return }
        session.counts = state.progress.counts
        session.rowsWritten = state.progress.rowsWritten
        session.linksWritten = state.progress.linksWritten
        session.external?.restore(missing: state.progress.missing)
        session.progress.go(to: state.progress.rows)
        if let rejects = state.rejects, let rejected = session.validation.rejected {
            rejected.skippedRows = rejects.skippedRows
            rejected.removed = rejects.removed
        }
        if state.hasDuplicates { session.validation.ledger?.hasDuplicates = true }
        highest = state.progress.highest
        resumed = nil
    }

    // MARK: - Keys

    /// Gives an empty set the keys of a source table that an earlier run has noted.
    ///
    /// - Returns: false where there are none.
    func restoreKeys(_ index: KeyIndex, ofTable table: Int) throws(MigrationError) -> Bool {
        try noted.restore(index, ofTable: table)
    }

    /// All keys of a source table were read, and later steps look into them.
    func note(_ index: KeyIndex, ofTable table: Int) throws(MigrationError) {
        if isResumable { try noted.note(index, ofTable: table) }
    }

    // MARK: - States

    /// Whether a record was written since the run began.
    var hasWritten: Bool { writer != nil }

    /// A step or a join table begins: what is counted from now on belongs to it.
    func beginUnit() throws {
        guard isResumable, isActive, let session else {
            beginning = nil
            return
        }
        beginning = (countsBeforeRejects ?? session.counts, try references())
    }

    /// A step begins, its links resolved: what its table's first row finds.
    func enter(unit: Int, highest: [Int64]) throws {
        self.unit = unit
        self.highest = highest
        base = isActive ? try state(nil, fill: nil) : nil
    }

    /// A part of a stage was done, between two calls of user code: takes a state where it is time.
    func tickStages() throws {
        guard isResumable, isDue, let destination else { return }
        guard isFree else { return }
        guard let state = try savedState(nil, fill: nil) else {
            last = .now
            return
        }
        // Nothing is written there before the load, but the file itself is to be whole.
        if !isActive { try destination.commitStep() }
        try write(state, everything: session?.validation.ledger != nil)
    }

    /// The stages are done and the store is about to be filled: a state that was taken before says nothing of what comes to
    /// its file.
    func beginLoad() throws {
        guard isResumable, isActive, let session, let destination else { return }
        try writer?.drain()
        unit = 0
        highest = Array(repeating: 0, count: session.destinationSchema.tables.count)
        guard var state = try savedState(nil, fill: nil) else { return try invalidate() }
        state.stamp = destination.stamp + 1
        try destination.write(stamp: state.stamp)
        try journal().appendNow(RunRecord.record(state), synchronizes: false, everything: true)
        try destination.commitStep()
    }

    /// Whether files beside the store are written too.
    private var everything: Bool {
        session?.external?.isUsed ?? false || session?.validation.ledger != nil
    }

    private var isDue: Bool {
        let now = ContinuousClock.now
        let waited = last.duration(to: now)
        if waited >= intervals.upperBound || cancellation.error != nil { return true }
        // The processor's time is never more: it need not be asked for.
        guard waited >= intervals.lowerBound, now >= notDueBefore, !isStaged, turns.done == 0,
            destination?.writesPages ?? false
        else { return false }
        let processor = Self.processorSeconds
        let passed = processor - lastProcessor
        let missing = max(intervals.lowerBound / .seconds(1), (processor - start) / 10) - passed
        if missing > 0 { notDueBefore = now + .seconds(missing) }
        return missing <= 0
    }

    /// Processor time of the run's thread since the run began.
    var processorSeconds: Double { Self.processorSeconds - start }

    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A batch of a step was written: takes a state where it is time.
    func tick(_ writer: any TableWriter, _ position: () -> RunRecord.LoadPosition) throws {
        guard isResumable else { return }
        guard isDue, !recents.isAwaited else { return try tickRecent(writer, position) }
        guard let pages = writer as? PageTableWriter else { return try commit(position()) }
        guard isFree else { return try tickRecent(writer, position) }
        guard let fill = try pages.checkpoint(sorts: isPlain ? .all : .none),
            var state = try savedState(position(), fill: fill)
        else { return }
        state.namesSorts = pages.namesFiles
        recents.note(state.ordinal, of: pages)
        try write(state, everything: everything)
    }

    /// Whether a state of a table that is being filled is that of its pages and of sorts: nothing else has files.
    private var isPlain: Bool {
        stages == nil && !isStaged && turns.done == 0 && rejects == nil && appended == nil && session?.unmigrated == nil
            && !everything
    }

    /// Takes a state that nothing waits for, where it is time, and all that it tells of is what pages have filled.
    private func tickRecent(_ writer: any TableWriter, _ position: () -> RunRecord.LoadPosition) throws {
        guard isActive, let pages = writer as? PageTableWriter, let journal = self.writer else { return }
        recents.settle(journal.settled)
        guard recents.isDue(pages), isPlain, cancellation.error == nil,
            let fill = try pages.checkpoint(sorts: .standing), var state = try state(position(), fill: fill)
        else { return }
        state.namesSorts = pages.namesFiles
        recents.write(state, of: pages, run: try header().uuid)
    }

    /// Whether a state may be written: the one before stands on the disk, or this is the last one.
    private var isFree: Bool { cancellation.error != nil || !(writer?.isBusy ?? false) }

    /// Writes a state down once the store is on the disk: now where it is the last one, else while the run goes on.
    ///
    /// - Parameter everything: whether files beside the store are brought there too.
    private func write(_ state: RunRecord.State, everything: Bool) throws {
        let record = RunRecord.record(state)
        if cancellation.error != nil {
            try journal().appendNow(record, synchronizes: true, everything: everything)
        } else {
            try journal().append(record, ordinal: state.ordinal, everything: everything, trims: isStaged)
        }
        activate()
    }

    private func passed(_ writer: PageTableWriter) throws(MigrationError) {
        if isResumable { try note(writer) }
        // Large indexes take seconds. What it throws is passed on as what the canceller gave.
        if writer.isComplete { try Self.encoding { try session?.checkCancelled() } }
    }

    private func note(_ writer: PageTableWriter) throws(MigrationError) {
        isBetweenSteps = false
        try Self.encoding {
            if writer.isComplete {
                try tick(writer) { loaded }
            } else if isActive, var state = base, let fill = try writer.checkpoint(sorts: .none) {
                state.position = RunRecord.LoadPosition()
                state.fill = fill
                state.ordinal = nextOrdinal
                recents.note(state.ordinal, of: writer)
                try journal().appendNow(RunRecord.record(state), synchronizes: true, everything: everything)
                recents.settle(state.ordinal)
            }
        }
    }

    /// Does what makes a record; what cannot be encoded is `journal.encode`.
    private static func encoding(_ work: () throws -> Void) throws(MigrationError) {
        do { try work() } catch let error as MigrationError { throw error } catch {
            throw MigrationError("journal.encode", .internal, "The journal's record cannot be made", cause: error)
        }
    }

    /// A step has ended, with its indexes.
    func endStep(_ unit: Int, highest: [Int64]) throws {
        self.unit = unit + 1
        self.highest = highest
        guard isResumable, isActive || isDue else { return }
        defer { if isActive, let run = try? header().uuid { noted.write(run: run) } }
        // Where pages filled all there is, no transaction has to end: the first row of the next table is preceded by a state
        // that stands on the disk (``passed(_:)``). A store that may be gone back from is told by its number from what it
        // is gone back to (``loadAgain(_:)``).
        guard isActive, let destination, destination.writesPages, !destination.hasChanges,
            session?.validation.ledger == nil
        else { return try commit(nil) }
        isBetweenSteps = false
        guard isDue, isFree, let state = try savedState(nil, fill: nil) else { return }
        try write(state, everything: everything)
    }

    /// SQLite is about to alter what pages have filled since the last state, which a run that goes on would cut off.
    private func settle() throws(MigrationError) {
        guard isResumable, isActive, !isBetweenSteps else { return }
        // A run that goes on begins with the step, and counts again what was counted for it.
        try Self.encoding {
            try session?.validation.ledger?.synchronize()
            var known = base
            if let beginning {
                known?.progress.counts = beginning.counts
                known?.references = beginning.references
            }
            try commit(nil, known)
            base?.stamp = destination?.stamp ?? 0
        }
    }

    /// Ends the transaction with a state that says what is in the file then, and begins another.
    ///
    /// - Parameter known: the state; nil: as it is now.
    private func commit(_ position: RunRecord.LoadPosition?, _ known: RunRecord.State? = nil) throws {
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
            // Before the transaction ends: the number says whether it did.
            try journal().appendNow(RunRecord.record(state), synchronizes: false, everything: everything)
            try destination.commitAndGoOn()
            // Where they are not on the disk, a run after a failure of the machine begins anew.
            _ = FileSums.synchronize(of: storePath)
        } else {
            // The transaction that begins now is one that can be rolled back.
            destination.keepJournal()
            try destination.commitAndGoOn()
            try journal().appendNow(RunRecord.record(state), synchronizes: true, everything: everything)
            activate()
        }
        isBetweenSteps = position == nil
        last = .now
        lastProcessor = Self.processorSeconds
    }

    /// There is no state of what is done now. Where pages are written the file is not what earlier states say any more;
    /// where SQLite writes, all since the last state is one transaction that a killed process leaves undone.
    private func invalidate() throws {
        guard isActive, let destination, destination.writesPages else { return }
        try destination.write(stamp: destination.stamp + 1)
        try destination.commitStep()
    }

    /// The filled store is about to be closed, to be read and gone back from. What no state says must not look like what
    /// the last one says.
    func closeFilled() throws {
        guard isActive, isStale, let destination else { return }
        try destination.write(stamp: destination.stamp + 1)
        isStale = false
    }

    // MARK: - Several mapping models

    /// A mapping model has run, and the session has taken it in: the next one begins.
    ///
    /// - Parameters:
    ///   - isStaged: whether the model ran in stages.
    ///   - rejected: what was rejected so far; nil where nothing is.
    func endTurn(isStaged: Bool, hasRowsBefore: [Bool], rejected: RejectReport?) throws {
        guard isResumable, let session else { return }
        (self.isStaged, hasStages) = (false, false)
        (rejects, before, countsBeforeRejects) = (nil, nil, nil)
        if turns.hasRows.isEmpty { turns.hasRows = [hasRowsBefore] }
        turns.done += 1
        turns.isStaged.append(isStaged)
        turns.hasRows.append(session.hasRows)
        turns.highestKeys = session.highestKeys
        turns.hasDeletions = session.associations.hasDeletions
        turns.written = session.written
        turns.rejects = rejected
        turns.rejectingTables = session.associations.rejectingTables.sorted()
        unit = 0
        highest = Array(repeating: 0, count: session.destinationSchema.tables.count)
        guard isActive || isDue else {
            models = nil
            return
        }
        turns.isAtBeginning = true
        defer { turns.isAtBeginning = false }
        models = try FinishedModels.bytes(session)
        try commit(nil)
    }

    /// - Throws: `resume.changed` (78) where the store that is appended to was written since it was copied.
    func checkUnchanged(_ path: String) throws(MigrationError) {
        guard let appended, appended.identity != identity else { return }
        throw MigrationError(
            "resume.changed", .configuration,
            "An earlier run to this destination did not end, and the destination was written since",
            remedy: "Give --restart to begin anew", context: .init(path: path))
    }

    /// The copy of the store that is appended to stands, and nothing was added to it.
    func begin(on existing: ExistingStore) throws {
        guard isResumable, let session else { return }
        appended = RunRecord.Appended(
            identity: identity, highestKeys: existing.highestKeys, hasRows: existing.hasRows,
            rows: session.existingRows, links: session.existingLinks)
        highest = Array(repeating: 0, count: session.destinationSchema.tables.count)
        turns.hasRows = [session.hasRows]
        turns.highestKeys = session.highestKeys
        guard isDue else { return }
        turns.isAtBeginning = true
        defer { turns.isAtBeginning = false }
        try commit(nil)
    }

    /// Objects are to be rejected: the load begins anew without them, from the copy of the store as it was. The session's
    /// counts are what they were then.
    ///
    /// - Parameter changesEarlier: whether rows change that were there before: no state tells which.
    func loadAgain(_ rejects: RunRecord.Rejects, changesEarlier: Bool) throws {
        guard isResumable else { return }
        self.rejects = rejects
        resumed = nil
        unit = 0
        guard isActive, let session else { return }
        let tables = session.destinationSchema.tables.count
        highest = Array(repeating: 0, count: tables)
        guard !changesEarlier, let before, var state = try savedState(nil, fill: nil) else { return }
        state.stamp = before.stamp
        state.knowledge = before.knowledge
        try journal().appendNow(RunRecord.record(state), synchronizes: true, everything: true)
    }

    /// The store is complete and about to be committed.
    private func complete() throws(MigrationError) {
        guard isResumable, isActive else { return }
        try Self.encoding {
            guard var state = try state(nil, fill: nil) else { return }
            // The stages are over; a run that goes on needs what they made all the same.
            if isStaged {
                guard hasStages, let stages = try journal().lastState()?.stages else { return }
                state.stages = stages
            }
            state.isComplete = true
            state.stamp = destination?.knowledge.firstStamp ?? 0
            // Its own bytes come with the transaction, files beside it do not.
            try journal().appendNow(RunRecord.record(state), synchronizes: false, everything: everything)
        }
    }

    /// The files are about to get their names.
    func publish(_ publication: RunRecord.Publication) throws {
        let record = try RunRecord.record(publication)
        try journal().appendNow(record, synchronizes: false)
        // A copy that cannot be written is none: the journal says it too.
        try? EarlierRun.writeCopy(publicationPath, try header(), record)
    }

    /// The run ends before it is done, in a way that can be gone on from.
    ///
    /// - Returns: whether a journal stands.
    func keep() -> Bool {
        // What an earlier record said holds, whatever became of later ones.
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
            journalPath, header: try header(), earlier: goesOn ? earlier : nil, storePath: storePath,
            spills: spills, failure: journalFailure)
        writer = made
        return made
    }

    /// The state, once what the ledger of rejects has is on the disk too.
    private func savedState(_ position: RunRecord.LoadPosition?, fill: [UInt8]?) throws -> RunRecord.State? {
        try session?.validation.ledger?.synchronize()
        return try state(position, fill: fill)
    }

    private var nextOrdinal: Int {
        ordinal += 1
        return ordinal
    }

    private func state(_ position: RunRecord.LoadPosition?, fill: [UInt8]?) throws -> RunRecord.State? {
        guard let session, let destination else { return nil }
        let stagesBytes = try stages?.bytes()
        if stages != nil { hasStages = stagesBytes != nil }
        guard stages == nil || stagesBytes != nil else { return nil }
        if let rejected = session.validation.rejected {
            rejects?.skippedRows = rejected.skippedRows
            rejects?.removed = rejected.removed
        }
        // The models that had run when no state was taken yet.
        if turns.done > 0, models == nil { models = try FinishedModels.bytes(session) }
        return RunRecord.State(
            stamp: destination.stamp, unit: unit, position: position,
            progress: .init(
                counts: countsBeforeRejects ?? session.counts, rowsWritten: session.rowsWritten,
                linksWritten: session.linksWritten,
                highest: highest, missing: session.external?.allMissing ?? [:], rows: session.progress.snapshot.rows),
            knowledge: destination.knowledge, rejects: rejects, before: before,
            hasDuplicates: session.validation.ledger?.hasDuplicates ?? false, fill: fill, stages: stagesBytes,
            turns: turns, appended: appended, models: models, references: try references(),
            stagedFiles: session.external?.noted ?? 0, ordinal: nextOrdinal)
    }

    /// References to what was not migrated, of a mapping model without user code.
    private func references() throws -> [UInt8]? {
        guard stages == nil, let unmigrated = session?.unmigrated else { return nil }
        var writer = StateWriter()
        try unmigrated.save(to: &writer)
        return writer.bytes
    }
}
