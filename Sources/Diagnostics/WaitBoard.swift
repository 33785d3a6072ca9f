import Synchronization

/// What a run may have to wait for, in words for people.
package enum WaitReason: String, Sendable {
    /// Another process writes the source, or has it locked.
    case sourceLock = "another process to release its lock on the source"
    /// What was written is on its way to the disk.
    case disk = "the disk to take what was written"
}

/// Where the parts of a run say that they wait, and for what, so that whoever shows its progress can say so too.
package final class WaitBoard: Sendable {
    /// The board of the run at work in this thread; nil where nobody looks at one.
    @TaskLocal package static var current: WaitBoard?

    private struct State {
        var reason: WaitReason?
        var began = ContinuousClock.now
        /// When a wait that has no end of its own was last told.
        var ends: ContinuousClock.Instant?
    }

    /// Shorter waits are not worth a word.
    private static let patience = Duration.milliseconds(200)

    private let state = Mutex(State())

    package init() {}

    /// What the run has been waiting for, for some tenths of a second now; nil while it works.
    package var reason: WaitReason? {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard let reason = state.reason, state.ends.map({ now < $0 }) ?? true,
                now - state.began >= Self.patience
            else { return nil }
            return reason
        }
    }

    /// Says of work that it is a wait.
    package static func during<Result, Failure: Error>(
        _ reason: WaitReason, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let board = current else { return try work() }
        board.state.withLock { $0 = State(reason: reason) }
        defer { board.state.withLock { $0.reason = nil } }
        return try work()
    }

    /// Says that there is a wait now, which nobody tells the end of: it counts as over when it is not told again.
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
