import Foundation
import Synchronization

/// The meeting point of two threads. The giver gives the lane a part of a round, does its own part, and takes the results.
///
/// The lane works between ``give(_:)`` and ``waitForLane()``. Writes of either thread before it passes the gate are visible to
/// the other thread after it.
final class TurnGate: @unchecked Sendable {
    private let condition = NSCondition()
    private var part: Range<Int>?
    private var isOver = false
    private var isLaneDone = true
    private var isGiverDone = false
    private let isGivenUp = Atomic(false)

    // MARK: - The giver

    /// Gives the lane rows to work on.
    func give(_ rows: Range<Int>) {
        condition.withLock {
            part = rows
            (isLaneDone, isGiverDone) = (false, false)
            isGivenUp.store(false, ordering: .relaxed)
            condition.broadcast()
        }
    }

    /// Records that the giver has done its own part.
    ///
    /// - Parameter failed: true if it ended with an error; the rest of the lane's part is not needed then.
    func finishOwn(failed: Bool) {
        condition.withLock {
            isGiverDone = true
            isGivenUp.store(failed, ordering: .relaxed)
            condition.broadcast()
        }
    }

    /// Waits until the lane has done its part.
    ///
    /// - Returns: true if it was already done.
    @discardableResult
    func waitForLane() -> Bool {
        condition.withLock {
            if isLaneDone { return true }
            while !isLaneDone { condition.wait() }
            return false
        }
    }

    /// Ends the lane's thread and waits for its end.
    func end() {
        condition.withLock {
            isOver = true
            isLaneDone = false
            condition.broadcast()
            while !isLaneDone { condition.wait() }
        }
    }

    // MARK: - The lane

    /// Waits for rows. Returns nil at the end.
    func next() -> Range<Int>? {
        condition.withLock {
            while part == nil, !isOver { condition.wait() }
            defer { part = nil }
            return part
        }
    }

    /// Records that the lane has done its part, or that its thread ends.
    func finishLane() {
        condition.withLock {
            isLaneDone = true
            condition.broadcast()
        }
    }

    /// Waits until the giver has done its own part.
    func waitForGiver() {
        condition.withLock { while !isGiverDone { condition.wait() } }
    }

    /// True if the rest of the lane's part is not needed.
    var isLost: Bool { isGivenUp.load(ordering: .relaxed) }
}
