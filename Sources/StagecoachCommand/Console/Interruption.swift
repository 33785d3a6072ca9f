import Diagnostics
import Stagecoach
import Synchronization

/// The wish to stop: what the first signal cancels, and what a signal means where nothing can be cancelled.
package final class Interruption: Sendable {
    /// What a signal is to be followed by.
    package enum Consequence: Sendable, Equatable {
        /// The work was asked to end; it cleans up.
        case stopping
        /// The process is to end at once.
        case atOnce
    }

    private struct State {
        var running: (flag: CancellationFlag, outcome: String)?
        var isAsked = false
    }
    private let state = Mutex(State())

    package init() {}

    /// Runs work that a flag can stop.
    ///
    /// - Parameter outcome: what a stop means, in words for people.
    func during<Result>(
        _ flag: CancellationFlag, outcome: String = "no destination was made", _ work: () throws -> Result
    ) rethrows -> Result {
        state.withLock { $0.running = (flag, outcome) }
        defer { state.withLock { $0.running = nil } }
        return try work()
    }

    /// Takes note of a signal.
    ///
    /// - Parameter signal: its name, `SIGINT`.
    package func interrupt(by signal: String) -> Consequence {
        let running = state.withLock { state in
            defer { state.isAsked = true }
            return state.isAsked ? nil : state.running
        }
        guard let running else { return .atOnce }
        running.flag.cancel(
            MigrationError(
                "interrupted", .temporary, "Interrupted by \(signal); \(running.outcome)",
                remedy: "Run the same command again"))
        return .stopping
    }
}
