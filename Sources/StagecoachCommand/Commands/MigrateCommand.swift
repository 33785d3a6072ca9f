import Diagnostics
import Foundation
import Stagecoach

/// `stagecoach migrate`.
struct MigrateCommand {
    private let work: MigrationWork
    private let reporter: RunReporter

    /// - Parameter commandLine: the command line without the program's name.
    init(_ arguments: ParsedArguments, commandLine: [String], console: Console) throws(UsageError) {
        work = try MigrationWork(arguments, console: console)
        reporter = RunReporter(work.request, commandLine: commandLine)
    }

    /// Migrates, prints the summary or the report, and writes the report files, also if the run fails.
    func run() throws {
        let traces = LastTraces()
        defer { traces.remove() }
        try work.measured("migrate", reporter.counter) { try migrate($0, traces) }
    }

    private func migrate(_ metrics: RunMetrics, _ traces: LastTraces) throws {
        let result: MigrationResult
        do {
            let (inputs, report) = try work.run(
                counter: reporter.counter, leavingTo: traces,
                preparing: { inputs, migration in
                    reporter.inputs = inputs
                    migration.traces = traces
                    if !work.request.options.isDryRun { try inputs.swiftModels?.checkWriting() }
                    try check(before: migration)
                },
                { migration in try reporter.during { try migration.run() } })
            var noted = report
            noted.notes += inputs.notes
            noted.place(at: work.request.destination)
            result = MigrationResult(report: noted, names: inputs.names)
            metrics.note(
                .init(
                    objects: SummaryWording.total(report.counts), rejected: report.rejects?.objects ?? 0,
                    left: report.leftBehind, nilReferences: report.nilReferences, bytes: noted.destinationBytes,
                    spilled: report.spilledBytes))
        } catch {
            for problem in reporter.write(error) { work.console.messages.write(ErrorWording.text(problem)) }
            throw error
        }
        work.console.output.write(work.printsJSON ? try JSONText.text(result) : SummaryWording.text(result))
        for line in ProfileWording.lines(result.report) { work.console.messages.write(line + "\n") }
        try reporter.write(result, keepsExisting: traces.areOfInterruptedRun)
    }

    /// Refuses impossible report files before the work, but after errors of the inputs and of the destination.
    private func check(before migration: ChainedMigration) throws {
        do throws(MigrationError) {
            try reporter.check(isDone: migration.isDone())
        } catch {
            _ = try migration.plan()
            try migration.checkDestination()
            throw error
        }
    }
}
