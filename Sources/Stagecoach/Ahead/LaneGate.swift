import Foundation
import Synchronization

/// Where two threads wait for each other: one gives the other a part of a round, does its own part, and takes the results.
///
/// Between ``give(_:)`` and ``waitForLane()`` the lane works; what either writes before it passes the gate the other sees after.
final class LaneGate: @unchecked Sendable {
    private let condition = NSCondition()
    private var part: Range<Int>?
    private var isOver = false
    private var isLaneDone = true
    private var isGiverDone = false
    private let isGivenUp = Atomic(false)

    // MARK: - Who gives

    /// Gives the lane rows to work on.
    func give(_ rows: Range<Int>) {
        condition.withLock {
            part = rows
            (isLaneDone, isGiverDone) = (false, false)
            isGivenUp.store(false, ordering: .relaxed)
            condition.broadcast()
        }
    }

    /// The giver has done its own part.
    ///
    /// - Parameter failed: whether it ended with an error: nobody needs the rest of the lane's.
    func finishOwn(failed: Bool) {
        condition.withLock {
            isGiverDone = true
            isGivenUp.store(failed, ordering: .relaxed)
            condition.broadcast()
        }
    }

    /// Waits until the lane has done its part.
    ///
    /// - Returns: whether it was done already.
    @discardableResult
    func waitForLane() -> Bool {
        condition.withLock {
            if isLaneDone { return true }
            while !isLaneDone { condition.wait() }
            return false
        }
    }

    /// Lets the lane's thread end, and waits for that.
    func end() {
        condition.withLock {
            isOver = true
            isLaneDone = false
            condition.broadcast()
            while !isLaneDone { condition.wait() }
        }
    }

    // MARK: - The lane

    /// Waits for rows; nil at the end.
    func next() -> Range<Int>? {
        condition.withLock {
            while part == nil, !isOver { condition.wait() }
            defer { part = nil }
            return part
        }
    }

    /// The lane has done its part, or its thread ends.
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

    /// Whether nobody needs the rest of the lane's part.
    var isLost: Bool { isGivenUp.load(ordering: .relaxed) }
}
