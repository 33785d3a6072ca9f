import Dispatch
import SpillStorage
import Stagecoach
import Synchronization

/// Takes samples of a run ten times a second, from a timer's thread, for its report.
///
/// Memory: a ``SampleSeries``, and the trace of the run.
final class RunRecorder: Sendable {
    private let counter: ProgressCounter
    let trace: RunTrace
    private let series = Mutex(SampleSeries())
    private let queue = DispatchQueue(label: "report")

    /// - Parameter counter: that of the run, with the trace.
    init(counter: ProgressCounter, trace: RunTrace) {
        self.counter = counter
        self.trace = trace
    }

    /// The samples so far.
    var samples: [RunSample] { series.withLock { $0.samples } }

    /// Takes samples during a piece of work, the first before it and the last after it, however it ends.
    func during<Result>(_ work: () throws -> Result) rethrows -> Result {
        sample()
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .milliseconds(20), repeating: .milliseconds(100))
        timer.setEventHandler { [self] in sample() }
        timer.activate()
        defer {
            timer.cancel()
            // A handler that is at work finishes first.
            queue.sync {}
            sample()
        }
        return try work()
    }

    private func sample() {
        let snapshot = counter.snapshot
        // The migrations of a chain count from nothing each.
        let sample = RunSample(
            elapsed: trace.elapsed, rows: snapshot.rows, memory: ProcessMemory.currentResident() ?? 0,
            spilledBytes: snapshot.spilledBytes)
        series.withLock { $0.add(sample) }
    }
}
