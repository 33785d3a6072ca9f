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
        public var phase = Phase.opening
        /// Rows processed so far, over all phases.
        public var rows = 0
        /// Rows expected over all phases.
        public var totalRows = 0
        /// The pass at work, counted from 1; 0 before the first.
        public var pass = 0
        /// The number of passes.
        public var passes = 0
        /// Bytes written to spill files and association tables.
        public var spilledBytes = 0
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

    private struct State {
        var shown = Snapshot()
        /// Rows that a killed run completed, if this run resumes it.
        var resumedRows = 0
        var runsBegun = 0
        var runsEnded = 0
        /// The Foundation progress that shows the same share; nil between runs.
        var mirror: ProgressMirror?
        var file = GrowingFile()
    }

    private let state = Mutex(State())
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
    var runsBegun: Int { state.withLock { $0.runsBegun } }
    var runsEnded: Int { state.withLock { $0.runsEnded } }

    /// Notes that a run begins.
    func beginRun(mirror: ProgressMirror? = nil) {
        state.withLock { state in
            state.mirror = mirror
            state.runsBegun += 1
        }
        mirror?.begin()
    }

    /// Notes that the run has ended, with or without an error.
    func endRun() {
        reflect()
        state.withLock { state in
            state.mirror?.end()
            state.mirror = nil
            state.runsEnded += 1
        }
    }

    private func reflect() { state.withLock { $0.mirror }?.show(snapshot.fraction) }

    /// The current figures.
    public var snapshot: Snapshot {
        state.withLock { state in
            var shown = state.shown
            shown.rows = max(shown.rows, state.resumedRows)
            (shown.destinationBytes, shown.expectedBytes) = (state.file.current, state.file.expected)
            shown.waitsFor = waits.reason?.rawValue
            return shown
        }
    }

    /// Begins a step of a chain of versions: rows and passes are counted from zero again.
    func enter(step number: Int, of count: Int) {
        reset()
        state.withLock { ($0.shown.step, $0.shown.steps) = (number, count) }
    }

    /// Sets all figures to zero, for another run.
    func reset() {
        state.withLock { $0.shown = Snapshot() }
        beginAgain()
    }

    /// Sets the rows to zero because the run begins again, from an earlier point or from the start.
    func beginAgain() {
        state.withLock { ($0.shown.rows, $0.resumedRows, $0.file) = (0, 0, GrowingFile()) }
    }

    /// Notes that the run resumes a killed one. Until it has reached the same count, that count is shown.
    func resume(at count: Int) { state.withLock { $0.resumedRows = count } }

    /// Rows that a killed run completed, if this run resumes it; 0 if it began at the start.
    public var resumedAt: Int { state.withLock { $0.resumedRows } }

    /// Sets the number of rows that count as done, for work that is repeated.
    func go(to count: Int) { state.withLock { $0.shown.rows = count } }

    func begin(_ next: Phase, _ subject: @autoclosure () -> String = "") {
        let shown = state.withLock { state in
            state.shown.phase = next
            return state.shown
        }
        trace?.begin(next, subject(), pass: shown.pass, step: shown.step)
        reflect()
    }

    func advance(rows count: Int) {
        state.withLock { $0.shown.rows &+= count }
        reflect()
    }

    func expect(rows count: Int) { state.withLock { $0.shown.totalRows = count } }

    /// Sets the path where the destination is built and its expected size in bytes.
    func expect(bytes count: Int, at path: String) {
        state.withLock { $0.file = GrowingFile(path: path, planned: count) }
    }

    /// Notes that the destination is complete, with its size in bytes.
    func complete(bytes count: Int) { state.withLock { $0.file = GrowingFile(complete: count) } }

    func enter(pass number: Int, of count: Int) {
        state.withLock { ($0.shown.pass, $0.shown.passes) = (number, count) }
    }

    func spilled(bytes: Int) { state.withLock { $0.shown.spilledBytes = bytes } }
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
