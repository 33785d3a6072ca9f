import Dispatch
import SpillStorage
import Stagecoach
import Synchronization

/// Shows a migration's progress on standard error while it runs, from a timer's thread.
final class ProgressDisplay: Sendable {
    /// How the progress is shown.
    enum Style: Equatable {
        case none
        /// One line, redrawn ten times a second.
        case redrawn
        /// A line every ten seconds.
        case lines

        /// - Parameter choice: the value of `--progress`; nil means `auto`.
        init(choice: String?, console: Console) {
            let isDumb = console.environment["TERM"] == "dumb"
            switch choice ?? "auto" {
            case "none": self = .none
            case "bar": self = console.isTerminal && !isDumb ? .redrawn : .lines
            default: self = !console.isTerminal ? .none : isDumb ? .lines : .redrawn
            }
        }
    }

    private struct State {
        /// Moment and rows of the last few looks, for the rate.
        var looks: [(elapsed: Double, rows: Int)] = []
    }

    private let counter: ProgressCounter
    private let console: Console
    private let style: Style
    private let start = ContinuousClock.now
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "progress")

    private init(counter: ProgressCounter, console: Console, style: Style) {
        self.counter = counter
        self.console = console
        self.style = style
    }

    /// Shows the progress during a piece of work; the line is gone afterwards, however the work ends.
    static func during<Result>(
        _ counter: ProgressCounter, console: Console, style: Style, _ work: () throws -> Result
    ) rethrows -> Result {
        guard style != .none else { return try work() }
        let display = ProgressDisplay(counter: counter, console: console, style: style)
        let timer = DispatchSource.makeTimerSource(queue: display.queue)
        let interval: DispatchTimeInterval = style == .redrawn ? .milliseconds(100) : .seconds(10)
        timer.schedule(deadline: .now() + interval, repeating: interval)
        timer.setEventHandler { display.show() }
        timer.activate()
        defer {
            timer.cancel()
            // A handler that is at work finishes before the line is taken away.
            display.queue.sync {}
            console.messages.redraw("")
        }
        return try work()
    }

    private func show() {
        let figures = figures()
        switch style {
        case .none: break
        case .redrawn: console.messages.redraw(figures.line(width: console.lineWidth))
        case .lines: console.messages.write("stagecoach: \(figures.plainLine)\n")
        }
    }

    private func figures() -> ProgressFigures {
        let snapshot = counter.snapshot
        let passed = start.duration(to: .now).components
        let elapsed = Double(passed.seconds) + Double(passed.attoseconds) / 1e18
        let rate = state.withLock { state -> Double in
            state.looks.append((elapsed, snapshot.rows))
            if state.looks.count > 30 { state.looks.removeFirst() }
            guard let first = state.looks.first, elapsed > first.elapsed else {
                return elapsed > 0 ? Double(snapshot.rows) / elapsed : 0
            }
            return Double(snapshot.rows - first.rows) / (elapsed - first.elapsed)
        }
        return ProgressFigures(
            phase: snapshot.phase, pass: snapshot.pass, passes: snapshot.passes,
            step: snapshot.step, steps: snapshot.steps, rows: snapshot.rows,
            totalRows: snapshot.totalRows, share: snapshot.fraction, elapsed: elapsed, rate: rate,
            memory: ProcessMemory.currentResident(), spilledBytes: snapshot.spilledBytes)
    }
}
