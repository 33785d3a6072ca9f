import Diagnostics
import Stagecoach

/// The migration of one store of a batch, in this process.
struct StoreMigration {
    let entry: BatchEntry
    let request: MigrationRequest
    let cancellation: CancellationFlag
    /// The command line of the batch, without the program's name; a report shows it as the command to run again.
    let commandLine: [String]
    /// True if an previous run started it and the destination exists: that run was killed after the rename.
    let wasBegun: Bool

    /// Runs the migration and returns its outcome. No error ends the batch.
    func run() -> BatchResult {
        var result = BatchResult(status: .done, source: entry.source, destination: entry.destination)
        let clock = RunClock()
        let reporter = RunReporter(request, commandLine: commandLine)
        do {
            let (report, inputs) = try reporting(reporter)
            if inputs.isAtTarget { result.isAtTarget = true }
            result.objects = SummaryWording.total(report.counts)
            result.rejected = report.rejects?.objects
            result.note(report)
            (result.destinationBytes, result.spilledBytes) = (report.destinationBytes, report.spilledBytes)
            result.peakMemory = report.peakMemory
            result.result = BatchConfiguration.result(entry.destination)
        } catch let error as MigrationError where wasBegun && error.category == .cannotCreate {
            // The killed run had finished all but its line: there was no destination when it started, and only the rename of a
            // finished store makes one. Its leftover work directory is removed by now.
            result.result = BatchConfiguration.result(entry.destination)
        } catch {
            result.fail(error)
        }
        let counter = reporter.counter
        result.rows = counter.rowsBefore + counter.snapshot.rows
        result.phaseSeconds = counter.phaseSeconds.mapValues { ($0 * 1e4).rounded() / 1e4 }
        result.seconds = (clock.seconds * 1e3).rounded() / 1e3
        result.processorSeconds = (clock.processorSeconds * 1e4).rounded() / 1e4
        return result
    }

    private func reporting(_ reporter: RunReporter) throws -> (MigrationReport, MigrationInputs) {
        do {
            for file in [entry.report, entry.rejectFile, entry.idMap].compactMap(\.self) {
                try OutputFile.makeFolder(PathIdentity.folder(of: file))
            }
            return try reporter.during { try migrate(reporter) }
        } catch {
            // The result line gives the store's own error, not that of the report.
            _ = reporter.write(error)
            throw error
        }
    }

    private func migrate(_ reporter: RunReporter) throws -> (MigrationReport, MigrationInputs) {
        try AtomicArgument.during(request, makes: true, cancellation: cancellation) { try migrateStore(reporter) }
    }

    private func migrateStore(_ reporter: RunReporter) throws -> (MigrationReport, MigrationInputs) {
        var inputs = try MigrationInputs(request)
        reporter.inputs = inputs
        try inputs.swiftModels?.checkWriting()
        try OutputFile.makeFolder(PathIdentity.folder(of: entry.destination))
        // Killed before its report is written, the store's migration is found done, and told by the next run.
        let traces = LastTraces()
        defer { traces.remove() }
        let made = try AtomicArgument.making(
            request, inputs, leavingTo: traces, cancellation: cancellation
        ) { [inputs] destination in
            let migration = inputs.migration(to: destination, progress: reporter.counter, cancellation: cancellation)
            migration.traces = traces
            if !wasBegun { try reporter.check() }
            return try migration.run()
        }
        inputs.numbering = made.note
        var report = made.value
        report.notes += inputs.notes
        report.place(at: entry.destination)
        try reporter.write(
            MigrationResult(report: report, names: inputs.names), keepsExisting: traces.areOfInterruptedRun)
        return (report, inputs)
    }
}

extension MigrationReport {
    /// The number of references that became nil because their object is missing, was not migrated or was rejected.
    var nilReferences: Int {
        (steps?.map(\.report) ?? [self]).reduce(rejects?.removedReferences ?? 0) {
            $0 + $1.counts.danglingReferences + $1.counts.unmigratedReferences
        }
    }
}

extension BatchResult {
    /// Records the losses of a migration.
    fileprivate mutating func note(_ report: MigrationReport) {
        nilReferences = report.nilReferences
        if let left = report.leftBehind, !left.isAllowed {
            (leftOutObjects, leftOutValues, leftOutLinks) = (left.objects, left.values, left.links)
        }
        if report.lostLinks > 0 { leftOutLinks = (leftOutLinks ?? 0) + report.lostLinks }
        if report.lostParts > 0 { leftOutValues = (leftOutValues ?? 0) + report.lostParts }
        let gaps = SummaryWording.gaps(report).filter { $0.isLost && $0.isAllowed != true }
        if !gaps.isEmpty { leftOutObjects = (leftOutObjects ?? 0) + gaps.reduce(0) { $0 + ($1.objects ?? 0) } }
    }

    /// Records an error. An error that may not recur is postponed; any other is a failure.
    mutating func fail(_ error: any Error) {
        let known = error as? MigrationError
        status = known?.category == .temporary ? .postponed : .failed
        exitCode = ErrorWording.exitCode(error)
        self.error = known?.code.rawValue
        message = (known.map(\.description) ?? MigrationError.words(error)).printable
    }
}
