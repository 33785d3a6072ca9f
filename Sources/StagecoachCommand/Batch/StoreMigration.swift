import Diagnostics
import Stagecoach

/// The migration of one store of a batch, in this process.
struct StoreMigration {
    let entry: BatchEntry
    let request: MigrationRequest
    let cancellation: CancellationFlag
    /// Of the batch, without the program's name: what a report tells to run again.
    let commandLine: [String]
    /// Whether an earlier run began it and a destination stands: it was killed after the rename.
    let wasBegun: Bool

    /// Migrates, and tells what became of it. No error ends the batch.
    func run() -> BatchResult {
        var result = BatchResult(status: .done, source: entry.source, destination: entry.destination)
        let clock = RunClock()
        do {
            let report = try migrate()
            result.objects = SummaryWording.objects(report.counts).reduce(0) { $0 + $1.count }
            result.rejected = report.rejects?.objects
            result.note(report)
            result.destinationBytes = report.destinationBytes
            result.peakMemory = report.peakMemory
            result.result = BatchConfiguration.result(entry.destination)
        } catch let error as MigrationError where wasBegun && error.category == .cannotCreate {
            // The killed run had done all but its line: no destination stood when it began, and one comes by a rename
            // of a finished store only. What it left of its work directory is gone now.
            result.result = BatchConfiguration.result(entry.destination)
        } catch {
            result.fail(error)
        }
        result.seconds = (clock.seconds * 1e3).rounded() / 1e3
        result.processorSeconds = (clock.processorSeconds * 1e4).rounded() / 1e4
        return result
    }

    private func migrate() throws -> MigrationReport {
        let reporter = RunReporter(request, commandLine: commandLine)
        do {
            return try reporter.during { try migrate(reporter) }
        } catch {
            // The store's own error is what its line tells.
            _ = reporter.write(error)
            throw error
        }
    }

    private func migrate(_ reporter: RunReporter) throws -> MigrationReport {
        let inputs = try MigrationInputs(request)
        reporter.inputs = inputs
        let migration = inputs.migration(progress: reporter.counter, cancellation: cancellation)
        if !wasBegun { try reporter.check() }
        // Only a store that the command line names goes where nobody has looked yet.
        if entry.place == nil, let slash = entry.destination.lastIndex(of: "/") {
            try OutputFile.makeFolder(String(entry.destination[..<slash]))
        }
        var report = try migration.run()
        report.notes += inputs.notes
        try reporter.write(MigrationResult(inputs: inputs, report: report))
        return report
    }
}

extension BatchResult {
    /// Takes over what a migration lost.
    fileprivate mutating func note(_ report: MigrationReport) {
        let runs = report.steps?.map(\.report) ?? [report]
        nilReferences = runs.reduce(report.rejects?.removedReferences ?? 0) {
            $0 + $1.counts.danglingReferences + $1.counts.unmigratedReferences
        }
        guard let left = report.leftBehind, !left.isAllowed else { return }
        (leftOutObjects, leftOutValues, leftOutLinks) = (left.objects, left.values, left.links)
    }

    /// Takes an error over: what may go well the next time is postponed, all else failed.
    mutating func fail(_ error: any Error) {
        let known = error as? MigrationError
        status = known?.category == .temporary ? .postponed : .failed
        exitCode = ErrorWording.exitCode(error)
        self.error = known?.code.rawValue
        message = (known.map(\.description) ?? "\(error)").printable
    }
}
