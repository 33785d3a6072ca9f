import Diagnostics
import SpillStorage
import Stagecoach
import Synchronization

/// Samples a run ten times a second, from another thread, for its report. Where the system makes no thread, there are the first
/// and the last sample.
///
/// Memory: a ``SampleSeries``, and the trace of the run.
final class RunRecorder: Sendable {
    private let counter: ProgressCounter
    let trace: RunTrace
    private let series = Mutex(SampleSeries())

    /// - Parameter counter: the counter of the run, with the trace.
    init(counter: ProgressCounter, trace: RunTrace) {
        self.counter = counter
        self.trace = trace
    }

    /// The samples so far.
    var samples: [RunSample] { series.withLock { $0.samples } }

    /// Samples during a piece of work, first before and last after it, also if it throws.
    func during<Result>(_ work: () throws -> Result) rethrows -> Result {
        sample()
        let samples = RepeatedWork(after: .milliseconds(20), every: .milliseconds(100)) { [self] in sample() }
        defer {
            samples.end()
            sample()
        }
        return try work()
    }

    private func sample() {
        let snapshot = counter.snapshot
        // Each migration of a chain counts from 0.
        let sample = RunSample(
            elapsed: trace.elapsed, rows: snapshot.rows, memory: ProcessMemory.currentResident() ?? 0,
            spilledBytes: snapshot.spilledBytes)
        series.withLock { $0.add(sample) }
    }
}
