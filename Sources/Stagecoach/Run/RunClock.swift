import Glibc

/// A clock of the wall and processor seconds since its creation.
package struct RunClock {
    private let wall = ContinuousClock.now
    private let processor = RunClock.processorNow

    package init() {}

    package var seconds: Double {
        let passed = wall.duration(to: .now).components
        return Double(passed.seconds) + Double(passed.attoseconds) / 1e18
    }
    package var processorSeconds: Double { RunClock.processorNow - processor }

    private static var processorNow: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
