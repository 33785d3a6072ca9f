import Diagnostics
import Foundation
import SpillStorage
import Stagecoach
import Synchronization

/// A file of metrics for a collector: replaced as a whole when the work begins, every two seconds while it runs, and at its end
/// with the exit code. It replaces a file of metrics of an earlier run, and no other file.
///
/// It holds names of files and figures, no data of a store, so it is as readable as the process's umask lets it be.
enum MetricsFile {
    /// Writes the file around a piece of work.
    ///
    /// - Parameters:
    ///   - path: the file; nil for none.
    ///   - figures: adds what is known now; called from another thread, too.
    /// - Throws: `output.exists`, `output.folder` and others (73, 74, 77) before the work if the file cannot be made; the
    ///   errors of the work. Later failures to write it are of no consequence.
    static func during(
        _ path: String?, _ figures: @escaping @Sendable (inout OpenMetricsText) -> Void, _ work: () throws -> Void
    ) throws {
        guard let path else { return try work() }
        let started = Date()
        @Sendable func write(exitCode: Int32?) throws(MigrationError) {
            var text = OpenMetricsText(isRunning: exitCode == nil)
            text.gauge("exit_code", "The exit code; absent while the command runs", exitCode.map(Double.init))
            text.gauge("start_time_seconds", "When the command began", started.timeIntervalSince1970.rounded())
            text.gauge("update_time_seconds", "When the file was written", Date().timeIntervalSince1970.rounded())
            figures(&text)
            try ReportFile.write(path, text.text, replacing: OpenMetricsText.mark)
        }
        try ReportFile.check(path, replacing: OpenMetricsText.mark)
        try write(exitCode: nil)
        let updates = RepeatedWork(every: .seconds(2)) { try? write(exitCode: nil) }
        func end(_ exitCode: Int32) {
            updates.end()
            try? write(exitCode: exitCode)
        }
        do {
            try work()
            end(0)
        } catch {
            end(ErrorWording.exitCode(error))
            throw error
        }
    }
}

/// The metrics of one run of `migrate`, `check` or `verify`.
final class RunMetrics: Sendable {
    /// The figures of what became of the data.
    struct Outcome {
        var objects: Int?
        var rejected: Int
        /// The data left behind; nil if there is none.
        var left: LeftBehind?
        var nilReferences: Int
        var bytes: Int?
        var spilled: Int?
    }

    private let request: MigrationRequest
    private let counter: ProgressCounter
    private let clock = RunClock()
    private let outcome = Mutex<Outcome?>(nil)

    /// - Parameter counter: the counter of the run, with a trace.
    init(_ request: MigrationRequest, _ counter: ProgressCounter) {
        (self.request, self.counter) = (request, counter)
    }

    /// Notes the outcome of the run.
    func note(_ outcome: Outcome) { self.outcome.withLock { $0 = outcome } }

    /// Adds the figures of this moment.
    func add(to text: inout OpenMetricsText) {
        let (now, before, outcome) = (counter.snapshot, counter.rowsBefore, outcome.withLock { $0 })
        text.gauge(
            "run", "1, with the stores", [(["source": request.source, "destination": request.destination], 1)])
        text.counter("rows", "Rows and links done", Double(before + now.rows))
        text.gauge("rows_expected", "Rows and links in all, an estimate", Double(before + now.totalRows))
        text.gauge(
            "destination_bytes", "Size of the destination's file", Double(outcome?.bytes ?? now.destinationBytes))
        text.counter("spilled_bytes", "Bytes written to work files", Double(outcome?.spilled ?? now.spilledBytes))
        text.phases("Time by phase", counter.phaseSeconds)
        text.counter("processor_seconds", "Processor time", clock.processorSeconds)
        text.gauge("memory_bytes", "Resident memory", ProcessMemory.currentResident().map(Double.init))
        text.gauge("memory_peak_bytes", "Peak resident memory", ProcessMemory.peakResident().map(Double.init))
        text.gauge(
            "memory_limit_bytes", "Limit of the resident memory",
            (counter.trace?.plans.last?.memory.limit ?? request.options.memoryLimit).map(Double.init))
        guard let outcome else { return }
        text.gauge("objects_made", "Objects of the destination that were made", outcome.objects.map(Double.init))
        text.gauge("rejected_objects", "Objects that break rules", Double(outcome.rejected))
        text.losses(
            outcome.left.map { ($0.objects, $0.values, $0.links) } ?? (0, 0, 0), nilReferences: outcome.nilReferences)
    }
}

extension ProgressCounter {
    /// The seconds that each phase took so far, by its name; empty if the counter has no trace.
    var phaseSeconds: [String: Double] {
        Dictionary((trace?.spans ?? []).map { ($0.stage, $0.end - $0.begin) }, uniquingKeysWith: +)
    }
}

extension OpenMetricsText {
    /// Adds what the source has and no entity mapping reads, and the references that became nil. A series is there with a 0
    /// too, so that a collector sees it rise; one that is not counted is absent.
    mutating func losses(_ left: (objects: Int?, values: Int?, links: Int?), nilReferences: Int) {
        let counts = [("objects", left.objects), ("values", left.values), ("links", left.links)]
        let samples = counts.compactMap { kind, count in
            count.map { (labels: ["kind": kind] as KeyValuePairs, value: Double($0)) }
        }
        gauge("left_out", "Data of the source that no entity mapping reads", samples)
        gauge("nil_references", "References that became nil, as their object is not there", Double(nilReferences))
    }

    /// Adds the seconds of each phase.
    mutating func phases(_ help: String, _ seconds: [String: Double]) {
        counter("phase_seconds", help, seconds.sorted { $0.key < $1.key }.map { (["phase": $0.key], $0.value) })
    }

    /// Adds the figures of a batch.
    mutating func batch(_ summary: BatchSummary, of count: Int, seconds: Double) {
        let stores = [
            ("done", summary.done), ("skipped", summary.skipped), ("failed", summary.failed),
            ("postponed", summary.postponed),
        ]
        gauge("stores", "Stores by outcome", stores.map { (["status": $0], Double($1)) })
        gauge("stores_expected", "Stores in all", Double(count))
        gauge("batch_seconds", "Time since the batch began", seconds)
        counter("store_seconds", "Time, summed over the stores", summary.seconds)
        counter("processor_seconds", "Processor time, summed over the stores", summary.processorSeconds)
        counter("rows", "Rows and links done, summed over the stores", Double(summary.rows))
        phases("Time by phase, summed over the stores", summary.phaseSeconds)
        counter("objects", "Objects of the destinations that were made", Double(summary.objects))
        gauge("destination_bytes", "Size of the destinations", Double(summary.destinationBytes))
        counter("spilled_bytes", "Bytes written to work files", Double(summary.spilledBytes))
        gauge("memory_peak_bytes", "Peak resident memory of a process", Double(summary.peakMemory))
        gauge("rejected_objects", "Objects that break rules", Double(summary.rejected))
        losses(
            (summary.leftOutObjects, summary.leftOutValues, summary.leftOutLinks), nilReferences: summary.nilReferences)
    }
}
