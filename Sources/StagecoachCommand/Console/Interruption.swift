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
        var running: CancellationFlag?
        var isAsked = false
    }
    private let state = Mutex(State())

    package init() {}

    /// Runs work that a flag can stop.
    func during<Result>(_ flag: CancellationFlag, _ work: () throws -> Result) rethrows -> Result {
        state.withLock { $0.running = flag }
        defer { state.withLock { $0.running = nil } }
        return try work()
    }

    /// Takes note of a signal.
    ///
    /// - Parameter signal: its name, `SIGINT`.
    package func interrupt(by signal: String) -> Consequence {
        let flag = state.withLock { state -> CancellationFlag? in
            defer { state.isAsked = true }
            return state.isAsked ? nil : state.running
        }
        guard let flag else { return .atOnce }
        flag.cancel(
            MigrationError(
                "interrupted", .temporary, "Interrupted by \(signal); no destination was made",
                remedy: "Run the same command again"))
        return .stopping
    }
}
