import Diagnostics
import Synchronization

/// The progress of a migration, counted while the rows flow and readable from any thread.
public final class ProgressCounter: Sendable {
    /// A phase of a migration.
    public enum Phase: Int, Sendable {
        /// Stores, models and mapping models are read, and the work is planned.
        case opening
        /// New keys are given, and source keys are gathered in tables.
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
        /// The destination is renamed to its final path.
        case publish
        /// A destination is compared with the objects that the source gives.
        case verify
        /// Everything is done.
        case done

        /// The phase's name, for people.
        public var label: String { "\(self)" }
    }

    /// The figures of one moment.
    public struct Snapshot: Sendable, Equatable {
        /// The phase at work.
        public var phase: Phase
        /// Rows processed so far, over all phases.
        public var rows: Int
        /// Rows expected over all phases.
        public var totalRows: Int
        /// The pass at work, counted from 1; 0 before the first.
        public var pass: Int
        /// The number of passes.
        public var passes: Int
        /// Bytes written to spill files and association tables.
        public var spilledBytes: Int
        /// The size of the destination's file so far, in bytes; 0 if neither this nor the expected size is known yet.
        public var destinationBytes = 0
        /// The size that the destination's file is expected to have in the end, in bytes; an estimate.
        public var expectedBytes = 0
        /// The reason why the run waits at this moment, for people; nil while it works.
        public var waitsFor: String?
        /// The step of a chain of versions that rows and passes refer to, counted from 1; 1 if there is no chain.
        public var step = 1
        /// The number of migrations in the chain; 1 if there is no chain.
        public var steps = 1

        /// The share done, 0 to 1, over all steps.
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
    /// Rows that a killed run completed, if this run resumes it.
    private let resumedRows = Atomic<Int>(0)
    private let begun = Atomic<Int>(0)
    private let ended = Atomic<Int>(0)
    /// The Foundation progress that shows the same share; nil between runs.
    private let mirror = Mutex<ProgressMirror?>(nil)
    private let hasMirror = Atomic<Bool>(false)
    private let file = Mutex(GrowingFile())
    /// The board on which the run notes what it waits for.
    package let waits = WaitBoard()
    /// The trace of the run for a report; nil if none was asked for.
    package let trace: RunTrace?

    /// Creates a counter of a run that has not begun.
    public init() { trace = nil }

    /// Creates a counter that also keeps a trace.
    ///
    /// - Parameter trace: records plans and stages.
    package init(trace: RunTrace?) { self.trace = trace }

    /// The numbers of runs that began and that ended.
    var runsBegun: Int { begun.load(ordering: .acquiring) }
    var runsEnded: Int { ended.load(ordering: .acquiring) }

    /// Notes that a run begins.
    func beginRun(mirror: ProgressMirror? = nil) {
        self.mirror.withLock { $0 = mirror }
        hasMirror.store(mirror != nil, ordering: .releasing)
        begun.add(1, ordering: .releasing)
        mirror?.begin()
    }

    /// Notes that the run has ended, with or without an error.
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

    /// The current figures.
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

    /// Begins a step of a chain of versions: rows and passes are counted from zero again.
    func enter(step number: Int, of count: Int) {
        reset()
        step.store(number, ordering: .relaxed)
        steps.store(count, ordering: .relaxed)
    }

    /// Sets all figures to zero, for another run.
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
    /// Sets the rows to zero because the run begins again, from an earlier point or from the start.
    func beginAgain() {
        rows.store(0, ordering: .relaxed)
        resumedRows.store(0, ordering: .relaxed)
        file.withLock { $0 = GrowingFile() }
    }
    /// Notes that the run resumes a killed one. Until it has reached the same count, that count is shown.
    func resume(at count: Int) { resumedRows.store(count, ordering: .releasing) }
    /// Rows that a killed run completed, if this run resumes it; 0 if it began at the start.
    public var resumedAt: Int { resumedRows.load(ordering: .acquiring) }
    /// Sets the number of rows that count as done, for work that is repeated.
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
    /// Sets the path where the destination is built and its expected size in bytes.
    func expect(bytes count: Int, at path: String) {
        file.withLock { $0 = GrowingFile(path: path, planned: count) }
    }
    /// Notes that the destination is complete, with its size in bytes.
    func complete(bytes count: Int) { file.withLock { $0 = GrowingFile(complete: count) } }
    func enter(pass number: Int, of count: Int) {
        pass.store(number, ordering: .relaxed)
        passes.store(count, ordering: .relaxed)
    }
    func spilled(bytes: Int) { spilled.store(bytes, ordering: .relaxed) }
}

/// Stops a migration from any thread; the migration ends with the given error.
public final class CancellationFlag: Sendable {
    private let state = Mutex<(any Error)?>(nil)
    private let isSet = Atomic<Bool>(false)

    /// Creates a flag that is not set.
    public init() {}

    /// Asks the migration to end. If called several times, the first error counts.
    public func cancel(_ error: any Error) {
        state.withLock { if $0 == nil { $0 = error } }
        isSet.store(true, ordering: .releasing)
    }

    /// The error to end with; nil if nobody asked for the end.
    public var error: (any Error)? {
        guard isSet.load(ordering: .acquiring) else { return nil }
        return state.withLock { $0 }
    }

    func reset() {
        state.withLock { $0 = nil }
        isSet.store(false, ordering: .releasing)
    }
}
