import Diagnostics
import Foundation
import SpillStorage
import Stagecoach
import Synchronization

/// A file of metrics for a collector: replaced as a whole when the work begins, every two seconds while it runs, and at its end
/// with the exit code. It replaces a file of metrics of an earlier run, and no other file.
///
/// It holds names of files and figures, no data of a store, so everybody may read it, as far as the process's umask allows:
/// collectors are other users. Several commands may have their files in one folder, where a collector reads them all: the labels
/// of a command are in each of its series, and a name has the same type and help in every command.
enum MetricsFile {
    /// Writes the file around a piece of work.
    ///
    /// - Parameters:
    ///   - path: the file; nil for none.
    ///   - labels: what tells the work from others: names with their values.
    ///   - figures: adds what is known now; called from another thread, too.
    /// - Throws: `output.exists`, `output.folder` and others (73, 74, 77) before the work if the file cannot be made; the
    ///   errors of the work. Later failures to write it are of no consequence.
    static func during(
        _ path: String?, of labels: [(name: String, value: String)],
        _ figures: @escaping @Sendable (inout OpenMetricsText) -> Void, _ work: () throws -> Void
    ) throws {
        guard let path else { return try work() }
        let started = Date()
        @Sendable func write(exitCode: Int32?) throws(MigrationError) {
            var text = OpenMetricsText(labels, isRunning: exitCode == nil)
            text.gauge("exit_code", "The exit code; absent while the command runs", exitCode.map(Double.init))
            text.gauge("start_time_seconds", "When the command began", started.timeIntervalSince1970.rounded())
            text.gauge("update_time_seconds", "When the file was written", Date().timeIntervalSince1970.rounded())
            figures(&text)
            try ReportFile.write(path, text.text, permissions: nil, replacing: OpenMetricsText.mark)
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
        text.rows(before + now.rows)
        text.gauge("rows_expected", "Rows and links in all, an estimate", Double(before + now.totalRows))
        text.sizes(destination: outcome?.bytes ?? now.destinationBytes, spilled: outcome?.spilled ?? now.spilledBytes)
        text.phases(counter.phaseSeconds)
        text.processorSeconds(clock.processorSeconds)
        text.gauge("memory_bytes", "Resident memory", ProcessMemory.currentResident().map(Double.init))
        text.peak(ProcessMemory.peakResident())
        text.gauge(
            "memory_limit_bytes", "Limit of the resident memory",
            (counter.trace?.plans.last?.memory.limit ?? request.options.memoryLimit).map(Double.init))
        guard let outcome else { return }
        text.gauge("objects_made", "Objects of the destination that were made", outcome.objects.map(Double.init))
        text.losses(
            outcome.left.map { ($0.objects, $0.values, $0.links) } ?? (0, 0, 0), rejected: outcome.rejected,
            nilReferences: outcome.nilReferences)
    }
}

extension ProgressCounter {
    /// The seconds that each phase took so far, by its name; empty if the counter has no trace.
    var phaseSeconds: [String: Double] {
        Dictionary((trace?.spans ?? []).map { ($0.stage, $0.end - $0.begin) }, uniquingKeysWith: +)
    }
}

// The figures of a run and of a batch. Several commands' files in one folder agree in the type and help of each name.
extension OpenMetricsText {
    mutating func rows(_ count: Int) { counter("rows", "Rows and links done", Double(count)) }

    mutating func processorSeconds(_ seconds: Double) { counter("processor_seconds", "Processor time", seconds) }

    mutating func peak(_ bytes: Int?) {
        gauge("memory_peak_bytes", "Peak resident memory of a process", bytes.map(Double.init))
    }

    mutating func sizes(destination: Int, spilled: Int) {
        gauge("destination_bytes", "Size of the destinations", Double(destination))
        counter("spilled_bytes", "Bytes written to work files", Double(spilled))
    }

    /// Adds the objects that break rules, what the source has and no entity mapping reads, and the references that became nil. A series is there with a 0
    /// too, so that a collector sees it rise; one that is not counted is absent.
    mutating func losses(_ left: (objects: Int?, values: Int?, links: Int?), rejected: Int, nilReferences: Int) {
        gauge("rejected_objects", "Objects that break rules", Double(rejected))
        let counts = [("objects", left.objects), ("values", left.values), ("links", left.links)]
        let samples = counts.compactMap { kind, count in
            count.map { (labels: ["kind": kind] as KeyValuePairs, value: Double($0)) }
        }
        gauge("left_out", "Data of the source that no entity mapping reads", samples)
        gauge("nil_references", "References that became nil, as their object is not there", Double(nilReferences))
    }

    /// Adds the seconds of each phase.
    mutating func phases(_ seconds: [String: Double]) {
        counter(
            "phase_seconds", "Time by phase", seconds.sorted { $0.key < $1.key }.map { (["phase": $0.key], $0.value) })
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
        processorSeconds(summary.processorSeconds)
        rows(summary.rows)
        phases(summary.phaseSeconds)
        counter("objects", "Objects of the destinations that were made", Double(summary.objects))
        sizes(destination: summary.destinationBytes, spilled: summary.spilledBytes)
        peak(summary.peakMemory)
        losses(
            (summary.leftOutObjects, summary.leftOutValues, summary.leftOutLinks), rejected: summary.rejected,
            nilReferences: summary.nilReferences)
    }
}
