import Diagnostics

/// Divides the rows of a batch between two threads: rounds in which the first one has the rows that come first.
///
/// How many rows each gets follows from how long the rounds before took; what comes of it does not depend on that.
struct PolicyRounds {
    private let lane: PolicyLane
    /// Rows of a round.
    private var size = 32
    /// The lane's part of it.
    private var share = 0.5
    /// Rounds in which the lane was of no use, one after the other.
    private var waits = 0
    /// Whether it is used all the same where calls take no time.
    private let isForced: Bool

    /// The most rows of a round: a policy's results wait for its end.
    private static let mostRows = 512
    /// Rounds without use after which the lane is given up.
    private static let mostWaits = 16
    /// What a call takes at least for which another thread is worth its while: results are copied once more.
    private static let leastTime = Duration.microseconds(5)

    init(lane: PolicyLane, isForced: Bool) {
        self.lane = lane
        self.isForced = isForced
    }

    /// Whether the lane has not been of use: its calls ask for what only calls before them know, or take next to no time.
    var isOfNoUse: Bool { waits >= Self.mostWaits }

    /// Runs a round.
    ///
    /// - Parameters:
    ///   - rows: what is left of the batch, at least one.
    ///   - create: what the first thread does for rows.
    /// - Returns: how many of the rows are done, and what the lane did.
    mutating func run(
        _ rows: Range<Int>, create: (Range<Int>) throws -> Void
    ) throws -> (count: Int, lane: PolicyLane.Outcome) {
        let count = min(size, rows.count)
        let ahead = min(count - 1, Int(Double(count) * share))
        let middle = rows.lowerBound + count - ahead
        let start = ContinuousClock.now
        if ahead > 0 { lane.begin(middle..<middle + ahead) }
        var failure: (any Error)?
        do {
            try create(rows.lowerBound..<middle)
        } catch {
            failure = error
        }
        let ownTime = ContinuousClock.now - start
        guard ahead > 0 else {
            if let failure { throw failure }
            return (count, PolicyLane.Outcome())
        }
        let (outcome, wasDone) = try lane.finish(failed: failure != nil)
        if let failure { throw failure }
        if let error = outcome.error { throw error }
        let time = ContinuousClock.now - start
        // The part of who was waited for becomes smaller.
        share = min(0.6, max(0.2, share * (wasDone ? 1.05 : 0.95)))
        if count == size {
            if time < .milliseconds(4) { size = min(size * 2, Self.mostRows) }
            if time > .milliseconds(40) { size = max(size / 2, 8) }
        }
        let isCheap = !isForced && ownTime < Self.leastTime * (count - ahead)
        waits = outcome.ahead * 4 < ahead || isCheap ? waits + 1 : 0
        return (count, outcome)
    }
}
