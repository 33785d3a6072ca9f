import Diagnostics
import Synchronization

/// How far a migration is: counted while the rows flow, readable from any thread.
public final class ProgressCounter: Sendable {
    /// What is being done.
    public enum Phase: Int, Sendable {
        /// Stores, models and mapping models are read, and the work is planned.
        case opening
        /// New keys are handed out, and source keys brought into tables.
        case keys
        /// Objects are made.
        case create
        /// Relationships are set.
        case relate
        /// Rules are checked.
        case validate
        /// Rows are written.
        case load
        /// Indexes are built.
        case indexes
        /// The destination gets its name.
        case publish
        /// A destination is compared with what the source makes.
        case verify
        /// All is done.
        case done

        /// The word for people.
        public var label: String {
            switch self {
            case .opening: "opening"
            case .keys: "keys"
            case .create: "create"
            case .relate: "relate"
            case .validate: "validate"
            case .load: "load"
            case .indexes: "indexes"
            case .publish: "publish"
            case .verify: "verify"
            case .done: "done"
            }
        }
    }

    /// A moment's figures.
    public struct Snapshot: Sendable, Equatable {
        /// What is being done.
        public var phase: Phase
        /// Rows worked on so far, over all phases.
        public var rows: Int
        /// Rows expected over all phases.
        public var totalRows: Int
        /// Pass, from 1; 0 before the first.
        public var pass: Int
        /// Passes in all.
        public var passes: Int
        /// Bytes written to spill files and association tables.
        public var spilledBytes: Int
        /// Bytes of the destination's file so far; 0 where neither this nor the next is known yet.
        public var destinationBytes = 0
        /// Bytes that it is expected to have in the end, about.
        public var expectedBytes = 0
        /// What the run waits for at this moment, in words for people; nil while it works.
        public var waitsFor: String?
        /// Step of a chain of versions, from 1, whose rows and passes these are; 1 of 1 where there is no chain.
        public var step = 1
        /// Migrations of a chain in all.
        public var steps = 1

        /// Share done, 0 to 1, over all steps.
        public var fraction: Double {
            let own = phase == .done ? 1 : totalRows > 0 ? min(0.999, Double(rows) / Double(totalRows)) : 0
            return steps > 1 ? (Double(step - 1) + own) / Double(steps) : own
        }
    }

    private let phase = Atomic<Int>(0)
    private let rows = Atomic<Int>(0)
    private let total = Atomic<Int>(0)
    private let pass = Atomic<Int>(0)
    private let passes = Atomic<Int>(0)
    private let spilled = Atomic<Int>(0)
    private let step = Atomic<Int>(1)
    private let steps = Atomic<Int>(1)
    /// Rows that a killed run had done, from where this one goes on.
    private let resumedRows = Atomic<Int>(0)
    private let begun = Atomic<Int>(0)
    private let ended = Atomic<Int>(0)
    /// Shows the share done elsewhere too; nil between runs.
    private let mirror = Mutex<ProgressMirror?>(nil)
    private let hasMirror = Atomic<Bool>(false)
    private let file = Mutex(GrowingFile())
    /// What a run waits for.
    package let waits = WaitBoard()
    /// Keeps what a report tells of the run's course; nil where none was asked for.
    package let trace: RunTrace?

    /// A counter of a run that has not begun.
    public init() { trace = nil }

    /// - Parameter trace: takes down plans and stages.
    package init(trace: RunTrace?) { self.trace = trace }

    /// Runs that began and that ended.
    var runsBegun: Int { begun.load(ordering: .acquiring) }
    var runsEnded: Int { ended.load(ordering: .acquiring) }

    /// A run begins.
    func beginRun(mirror: ProgressMirror? = nil) {
        self.mirror.withLock { $0 = mirror }
        hasMirror.store(mirror != nil, ordering: .releasing)
        begun.add(1, ordering: .releasing)
        mirror?.begin()
    }

    /// The run has ended, well or not.
    func endRun() {
        reflect()
        mirror.withLock { mirror in
            mirror?.end()
            mirror = nil
        }
        hasMirror.store(false, ordering: .releasing)
        ended.add(1, ordering: .releasing)
    }

    private func reflect() {
        guard hasMirror.load(ordering: .acquiring) else { return }
        mirror.withLock { $0 }?.show(snapshot.fraction)
    }

    /// How far the run is now.
    public var snapshot: Snapshot {
        let bytes = file.withLock { file in (file.current, file.expected) }
        return Snapshot(
            phase: Phase(rawValue: phase.load(ordering: .relaxed)) ?? .opening,
            rows: max(rows.load(ordering: .relaxed), resumedRows.load(ordering: .relaxed)),
            totalRows: total.load(ordering: .relaxed), pass: pass.load(ordering: .relaxed),
            passes: passes.load(ordering: .relaxed), spilledBytes: spilled.load(ordering: .relaxed),
            destinationBytes: bytes.0, expectedBytes: bytes.1, waitsFor: waits.reason?.rawValue,
            step: step.load(ordering: .relaxed), steps: steps.load(ordering: .relaxed))
    }

    /// A step of a chain of versions begins: rows and passes count from nothing again.
    func enter(step number: Int, of count: Int) {
        reset()
        step.store(number, ordering: .relaxed)
        steps.store(count, ordering: .relaxed)
    }

    /// Begins at nothing again, for another run.
    func reset() {
        phase.store(0, ordering: .relaxed)
        rows.store(0, ordering: .relaxed)
        resumedRows.store(0, ordering: .relaxed)
        total.store(0, ordering: .relaxed)
        pass.store(0, ordering: .relaxed)
        passes.store(0, ordering: .relaxed)
        spilled.store(0, ordering: .relaxed)
        step.store(1, ordering: .relaxed)
        steps.store(1, ordering: .relaxed)
        file.withLock { $0 = GrowingFile() }
    }
    /// The run begins once more, from an earlier place or from nothing.
    func beginAgain() {
        rows.store(0, ordering: .relaxed)
        resumedRows.store(0, ordering: .relaxed)
        file.withLock { $0 = GrowingFile() }
    }
    /// The run goes on from where a killed one was: until it is there again, that is what is shown.
    func resume(at count: Int) { resumedRows.store(count, ordering: .releasing) }
    /// Rows that a killed run had done, from where this one goes on; 0 where it began at nothing.
    public var resumedAt: Int { resumedRows.load(ordering: .acquiring) }
    /// What a killed run had done is done again.
    func go(to count: Int) { rows.store(count, ordering: .relaxed) }
    func begin(_ next: Phase, _ subject: @autoclosure () -> String = "") {
        phase.store(next.rawValue, ordering: .relaxed)
        trace?.begin(
            next, subject(), pass: pass.load(ordering: .relaxed), step: step.load(ordering: .relaxed))
        reflect()
    }
    func advance(rows count: Int) {
        rows.wrappingAdd(count, ordering: .relaxed)
        reflect()
    }
    func expect(rows count: Int) { total.store(count, ordering: .relaxed) }
    /// Says where the destination is built, and how many bytes it is expected to have.
    func expect(bytes count: Int, at path: String) {
        file.withLock { $0 = GrowingFile(path: path, planned: count) }
    }
    /// The destination is complete: so many bytes.
    func complete(bytes count: Int) { file.withLock { $0 = GrowingFile(complete: count) } }
    func enter(pass number: Int, of count: Int) {
        pass.store(number, ordering: .relaxed)
        passes.store(count, ordering: .relaxed)
    }
    func spilled(bytes: Int) { spilled.store(bytes, ordering: .relaxed) }
}

/// Stops a migration from any thread, with the error it is to end with.
public final class CancellationFlag: Sendable {
    private let state = Mutex<(any Error)?>(nil)
    private let isSet = Atomic<Bool>(false)

    /// A flag that nobody has raised.
    public init() {}

    /// Asks for the end; the first error stays.
    public func cancel(_ error: any Error) {
        state.withLock { if $0 == nil { $0 = error } }
        isSet.store(true, ordering: .releasing)
    }

    /// The error to end with, or nil.
    public var error: (any Error)? {
        guard isSet.load(ordering: .acquiring) else { return nil }
        return state.withLock { $0 }
    }

    func reset() {
        state.withLock { $0 = nil }
        isSet.store(false, ordering: .releasing)
    }
}
