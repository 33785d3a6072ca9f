/// The time between two states of a run.
struct CheckpointClock {
    let interval: Duration
    private var last = ContinuousClock.now

    init(interval: Duration) { self.interval = interval }

    /// True if enough time has passed since the last state.
    var isDue: Bool { last.duration(to: .now) >= interval }

    /// Notes that a state was taken, or that none could be.
    mutating func pass() { last = .now }
}
