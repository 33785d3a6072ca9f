import Synchronization

/// The reason why a run waits, in words for people.
package enum WaitReason: String, Sendable {
    /// Another process writes the source or has locked it.
    case sourceLock = "another process to release its lock on the source"
    /// Written data is on its way to the disk.
    case disk = "the disk to take what was written"
}

/// A board on which the parts of a run note that they wait, and for what, so that a progress display can tell the user.
package final class WaitBoard: Sendable {
    /// The board of the run in this task; nil if nobody reads one.
    @TaskLocal package static var current: WaitBoard?

    private struct State {
        var reason: WaitReason?
        var began = ContinuousClock.now
        /// The time at which a wait without a known end counts as over; nil if the wait ends by itself.
        var ends: ContinuousClock.Instant?
    }

    /// Shorter waits are not reported.
    private static let patience = Duration.milliseconds(200)

    private let state = Mutex(State())

    package init() {}

    /// The reason why the run has been waiting for some tenths of a second now; nil while it works.
    package var reason: WaitReason? {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard let reason = state.reason, state.ends.map({ now < $0 }) ?? true,
                now - state.began >= Self.patience
            else { return nil }
            return reason
        }
    }

    /// Notes a wait while a closure runs.
    package static func during<Result, Failure: Error>(
        _ reason: WaitReason, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let board = current else { return try work() }
        board.state.withLock { $0 = State(reason: reason) }
        defer { board.state.withLock { $0.reason = nil } }
        return try work()
    }

    /// Notes a wait whose end will not be reported: it counts as over if it is not noted again.
    package func tell(_ reason: WaitReason) {
        let now = ContinuousClock.now
        state.withLock { state in
            if state.reason != reason || state.ends.map({ $0 < now }) ?? true {
                state.reason = reason
                state.began = now
            }
            state.ends = now + .milliseconds(100)
        }
    }
}
