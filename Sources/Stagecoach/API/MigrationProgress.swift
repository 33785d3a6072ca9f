import Diagnostics
import Synchronization

/// The progress of a migration, counted while the rows flow and readable from any thread.
///
/// ```swift
/// let counter = manager.progress
/// Task {
///     for await figures in counter.updates { print(figures.phase.label, Int(figures.fraction * 100), "%") }
/// }
/// ```
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
        /// Rows and links done so far. Each counts once, however many phases it goes through: one that has gone through half
        /// of the work counts half.
        public var rows = 0
        /// Rows and links expected in all.
        public var totalRows = 0
        /// The pass at work, counted from 1; 0 before the first.
        public var pass = 0
        /// The number of passes.
        public var passes = 0
        /// Bytes written to spill files and association tables.
        public var spilledBytes = 0
        /// The size of the destination's file so far, in bytes; 0 before the file exists.
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
        /// The work so far and in all: a row counts once for each phase that goes over it.
        var work = 0
        var totalWork = 0
        /// The rows and links of the steps of a chain before the one at work.
        var rowsBefore = 0
        /// The work that a killed run completed, if this run resumes it.
        var resumedWork = 0
        var runsBegun = 0
        var runsEnded = 0
        /// The Foundation progress that shows the same share; nil between runs.
        var mirror: ProgressMirror?
        var file = GrowingFile()

        /// Returns the rows that stand for an amount of work; 0 before the whole work is known.
        func rows(_ work: Int) -> Int {
            guard totalWork > 0 else { return 0 }
            return totalWork == shown.totalRows
                ? work : Int(Double(work) / Double(totalWork) * Double(shown.totalRows))
        }
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
            shown.rows = state.rows(max(state.work, state.resumedWork))
            // Rows of rejected objects are never written.
            if shown.phase == .done { shown.rows = max(shown.rows, shown.totalRows) }
            (shown.destinationBytes, shown.expectedBytes) = (state.file.current, state.file.expected)
            shown.waitsFor = waits.reason?.rawValue
            return shown
        }
    }

    /// Begins a step of a chain of versions: rows and passes are counted from zero again.
    func enter(step number: Int, of count: Int) {
        let before = number > 1 ? state.withLock { $0.rowsBefore + $0.shown.totalRows } : 0
        reset()
        state.withLock { ($0.shown.step, $0.shown.steps, $0.rowsBefore) = (number, count, before) }
    }

    /// Rows and links of the steps of a chain that are done, which the figures of the step at work do not count.
    package var rowsBefore: Int { state.withLock { $0.rowsBefore } }

    /// Sets all figures to zero, for another run.
    func reset() {
        state.withLock { ($0.shown, $0.totalWork, $0.rowsBefore) = (Snapshot(), 0, 0) }
        beginAgain()
    }

    /// Sets the work to zero because the run begins again, from an earlier point or from the start.
    func beginAgain() {
        state.withLock { ($0.work, $0.resumedWork, $0.file) = (0, 0, GrowingFile()) }
    }

    /// Notes that the run resumes a killed one. Until it has done as much work, that work is shown.
    func resume(at work: Int) { state.withLock { $0.resumedWork = work } }

    /// Rows that a killed run completed, if this run resumes it; 0 if it began at the start.
    public var resumedAt: Int { state.withLock { $0.rows($0.resumedWork) } }

    /// The work done so far, as ``resume(at:)`` and ``go(to:)`` take it.
    var work: Int { state.withLock { max($0.work, $0.resumedWork) } }

    /// Sets the work that counts as done, for work that is repeated.
    func go(to work: Int) { state.withLock { $0.work = work } }

    func begin(_ next: Phase, _ subject: @autoclosure () -> String = "") {
        let shown = state.withLock { state in
            state.shown.phase = next
            return state.shown
        }
        trace?.begin(next, subject(), pass: shown.pass, step: shown.step)
        reflect()
    }

    func advance(rows count: Int) {
        state.withLock { $0.work &+= count }
        reflect()
    }

    /// Sets the number of rows and links, and the work on all of them.
    func expect(rows count: Int, work: Int) {
        state.withLock { ($0.shown.totalRows, $0.totalWork) = (count > 0 ? count : work, work) }
    }

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
