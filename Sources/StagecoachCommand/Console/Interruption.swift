import Diagnostics
import Stagecoach
import Synchronization

/// The handling of interruptions: the first signal cancels the running work; a signal without such work ends the process.
package final class Interruption: Sendable {
    /// The consequence of a signal.
    package enum Consequence: Sendable, Equatable {
        /// The work was asked to end and cleans up.
        case stopping
        /// The process must end at once.
        case atOnce
    }

    private struct State {
        var running: (flag: CancellationFlag, outcome: String)?
        var isAsked = false
    }
    private let state = Mutex(State())

    package init() {}

    /// Runs work that a flag can cancel.
    ///
    /// - Parameter outcome: the consequence of a cancellation, in words for people.
    func during<Result>(
        _ flag: CancellationFlag, outcome: String = "no destination was made", _ work: () throws -> Result
    ) rethrows -> Result {
        state.withLock { $0.running = (flag, outcome) }
        defer { state.withLock { $0.running = nil } }
        return try work()
    }

    /// Handles a signal.
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
