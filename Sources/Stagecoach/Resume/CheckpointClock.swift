/// The time between two states of a run.
///
/// A state of pages being filled is cheap: about a millisecond. One is taken after each sixteenth of the run's time, within
/// ``intervals``. Stages and SQLite's transactions wait for the upper bound. 128 MiB of pages are enough for a state, however
/// soon they are there.
struct CheckpointClock {
    let intervals: ClosedRange<Duration>
    private static let mostBytes = 128 << 20
    private let start = ContinuousClock.now
    private var last = ContinuousClock.now
    private var lastBytes = 0

    init(intervals: ClosedRange<Duration>) { self.intervals = intervals }

    /// Tells whether enough time has passed since the last state.
    func isDue(fillsPages: Bool) -> Bool {
        let waited = last.duration(to: .now)
        if waited < intervals.lowerBound || waited >= intervals.upperBound { return waited >= intervals.upperBound }
        return fillsPages && waited >= start.duration(to: .now) / 16
    }

    /// Tells whether a file has grown so much since the last state that the next one is due.
    func isDue(bytes: Int) -> Bool { bytes - lastBytes >= Self.mostBytes }

    /// Notes that a state was taken, or that none could be.
    mutating func pass(bytes: Int? = nil) {
        last = .now
        if let bytes { lastBytes = bytes }
    }
}
