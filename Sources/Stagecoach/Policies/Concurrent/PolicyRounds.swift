/// The division of a batch's rows between two threads, in rounds. In each round the first thread has the first rows.
///
/// The shares follow from the time that earlier rounds took. The result does not depend on them.
struct PolicyRounds {
    private let lane: ConcurrentCaller
    /// The number of rows in a round.
    private var size = 32
    /// The lane's share of a round.
    private var share = 0.5
    /// The number of consecutive rounds in which the lane was of no use.
    private var waits = 0
    /// The shortest call that is worth the lane.
    private let leastCall: Duration

    /// The maximum number of rows in a round. The results of a policy wait for the round's end.
    private static let mostRows = 512
    /// The number of useless rounds after which the lane is given up.
    private static let mostWaits = 16

    init(lane: ConcurrentCaller, leastCall: Duration) {
        self.lane = lane
        self.leastCall = leastCall
    }

    /// True if the lane was of no use: its calls need the results of earlier calls, or take next to no time.
    var isOfNoUse: Bool { waits >= Self.mostWaits }

    /// Runs a round.
    ///
    /// - Parameters:
    ///   - rows: the remaining rows of the batch, at least one.
    ///   - create: processes the first thread's rows.
    /// - Returns: the number of rows done, and the lane's outcome.
    mutating func run(
        _ rows: Range<Int>, create: (Range<Int>) throws -> Void
    ) throws -> (count: Int, lane: ConcurrentCaller.Outcome) {
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
            return (count, ConcurrentCaller.Outcome())
        }
        let (outcome, wasDone) = try lane.finish(failed: failure != nil)
        if let failure { throw failure }
        if let error = outcome.error { throw error }
        let time = ContinuousClock.now - start
        // The share of the thread for which the other waited becomes smaller.
        share = min(0.6, max(0.2, share * (wasDone ? 1.05 : 0.95)))
        if count == size {
            if time < .milliseconds(4) { size = min(size * 2, Self.mostRows) }
            if time > .milliseconds(40) { size = max(size / 2, 8) }
        }
        let isCheap = ownTime < leastCall * (count - ahead)
        waits = outcome.ahead * 4 < ahead || isCheap ? waits + 1 : 0
        return (count, outcome)
    }
}
