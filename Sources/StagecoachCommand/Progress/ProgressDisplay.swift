import Diagnostics
import Dispatch
import Foundation
import SpillStorage
import Stagecoach
import Synchronization

/// Shows a migration's progress on standard error while it runs, from another thread. Where the system makes no thread, only the
/// beginning and the end are told.
final class ProgressDisplay: Sendable {
    /// The form in which progress is shown.
    enum Style: Equatable {
        case none
        /// One line, redrawn ten times a second.
        case redrawn
        /// A line every ten seconds.
        case lines
        /// A line of JSON every second, and at every change of phase or pass.
        case events

        /// - Parameter choice: the value of `--progress`; nil means `auto`.
        init(choice: String?, console: Console) {
            let isDumb = console.environment["TERM"] == "dumb"
            switch choice ?? "auto" {
            case "none": self = .none
            case "json": self = .events
            case "lines": self = .lines
            case "bar": self = console.isTerminal ? .redrawn : .lines
            default: self = console.isTerminal && !isDumb ? .redrawn : .lines
            }
        }
    }

    private struct State {
        /// The time and the row count of the last few looks, for the rate.
        var looks: [(elapsed: Double, rows: Int)] = []
        /// The number of JSON lines so far.
        var sequence = 0
        /// The content of the last JSON line.
        var shown: ProgressFigures?
        /// The share of work done by an interrupted run, once this run has resumed it.
        var doneBefore: Double?
        /// True if the resumption of an interrupted run has been reported.
        var hasResumed = false
    }

    private let counter: ProgressCounter
    private let console: Console
    private let style: Style
    private let start = ContinuousClock.now
    private let state = Mutex(State())
    private let run = UUID().uuidString
    private let events: DescriptorSink?

    private init(counter: ProgressCounter, console: Console, style: Style, events: DescriptorSink?) {
        self.counter = counter
        self.console = console
        self.style = style
        self.events = events
    }

    /// Shows the progress during a piece of work. The progress line is removed afterwards, also if the work throws.
    ///
    /// - Parameter events: the file for lines of JSON; nil for standard error.
    static func during<Result>(
        _ counter: ProgressCounter, console: Console, style: Style, events: DescriptorSink? = nil,
        _ work: () throws -> Result
    ) rethrows -> Result {
        guard style != .none else { return try work() }
        let display = ProgressDisplay(counter: counter, console: console, style: style, events: events)
        if style == .events { display.write(.started) }
        let looks = RepeatedWork(every: style == .lines ? .seconds(10) : .milliseconds(100)) { display.show() }
        func end(_ event: ProgressEvent.Kind, _ error: (any Error)? = nil) {
            // No look is under way when the line is removed.
            looks.end()
            if style == .events {
                display.tellResumed()
                display.write(event, error)
            } else {
                console.messages.redraw("")
            }
        }
        do {
            let result = try work()
            end(.finished)
            return result
        } catch {
            end(.failed, error)
            throw error
        }
    }

    private func write(_ kind: ProgressEvent.Kind, _ error: (any Error)? = nil) {
        let figures = figures()
        let sequence = state.withLock { state in
            state.sequence += 1
            state.shown = figures
            return state.sequence
        }
        var event = ProgressEvent(run: run, sequence: sequence, event: kind, figures: figures)
        if kind == .finished { event.exitCode = 0 }
        if let error {
            event.exitCode = ErrorWording.exitCode(error)
            let known = error as? MigrationError
            event.error = known?.code.rawValue
            event.message = known.map(\.description) ?? "\(error)"
        }
        guard let line = event.line else { return }
        if let events { events.write(line) } else { console.messages.write(line) }
    }

    /// Reports once that the run resumes an interrupted one.
    private func tellResumed() {
        guard counter.resumedAt > 0 else { return }
        let hasResumed = state.withLock { state in
            defer { state.hasResumed = true }
            return state.hasResumed
        }
        if !hasResumed { write(.resumed) }
    }

    /// True if a line is due: after a second, or at a change of phase or pass.
    private var isDue: Bool {
        let snapshot = counter.snapshot
        let passed = start.duration(to: .now)
        return state.withLock { state in
            guard let shown = state.shown else { return true }
            let before = shown.counts
            return snapshot.phase != before.phase || snapshot.pass != before.pass
                || snapshot.waitsFor != before.waitsFor || passed >= .seconds(1) + .seconds(shown.elapsed)
        }
    }

    private func show() {
        switch style {
        case .none: break
        case .events:
            tellResumed()
            if isDue { write(.progress) }
        case .redrawn: console.messages.redraw(figures().line(width: console.lineWidth))
        case .lines: console.messages.write("stagecoach: \(figures().plainLine)\n")
        }
    }

    private func figures() -> ProgressFigures {
        let snapshot = counter.snapshot
        let elapsed = start.duration(to: .now) / .seconds(1)
        let resumed = counter.resumedAt
        let (rate, doneBefore) = state.withLock { state -> (Double, Double) in
            if state.doneBefore == nil, snapshot.fraction > 0 {
                state.doneBefore = resumed > 0 ? snapshot.fraction(ofRows: resumed) : 0
            }
            let doneBefore = state.doneBefore ?? 0
            state.looks.append((elapsed, snapshot.rows))
            if state.looks.count > 30 { state.looks.removeFirst() }
            guard let first = state.looks.first, elapsed > first.elapsed else {
                return (elapsed > 0 ? Double(snapshot.rows) / elapsed : 0, doneBefore)
            }
            return (Double(snapshot.rows - first.rows) / (elapsed - first.elapsed), doneBefore)
        }
        return ProgressFigures(
            counts: snapshot, doneBefore: doneBefore, elapsed: elapsed, rate: rate,
            memory: ProcessMemory.currentResident())
    }
}

extension ProgressCounter.Snapshot {
    /// Returns the share of a number of rows of the current step, over all steps.
    fileprivate func fraction(ofRows count: Int) -> Double {
        var copy = self
        copy.rows = count
        return copy.fraction
    }
}
