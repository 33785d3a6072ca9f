import Diagnostics
import Foundation
import SpillStorage
import Stagecoach

/// Writes the reports of one run, however it ends.
final class RunReporter {
    private let request: MigrationRequest
    private let command: [String]
    private let started = Date()
    private let clock = RunClock()
    private let recorder: RunRecorder?
    /// Counts for the run; with a trace where a page is to be written.
    let counter: ProgressCounter
    /// What was read of the inputs, as far as the run came.
    var inputs: MigrationInputs?

    /// - Parameter commandLine: without the program's name.
    init(_ request: MigrationRequest, commandLine: [String]) {
        self.request = request
        command = ["stagecoach"] + commandLine
        if request.reports.contains(where: { ReportFormat(path: $0) == .html }) {
            let trace = RunTrace()
            counter = ProgressCounter(trace: trace)
            recorder = RunRecorder(counter: counter, trace: trace)
        } else {
            counter = ProgressCounter()
            recorder = nil
        }
    }

    /// A report has values of the source: in messages, and of rejected objects.
    private var permissions: FilePermissions { FilePermissions(ofSource: request.source) }

    /// Whether there is nothing to write.
    var isEmpty: Bool { request.reports.isEmpty }

    /// Refuses impossible files before the work; makes nothing.
    ///
    /// - Throws: `output.exists`, `output.folder` (73), `output.permission` (77).
    func check() throws(MigrationError) {
        for path in request.reports { try ReportFile.check(path) }
    }

    /// Takes samples while the work is done, where a page is to show them.
    func during<Result>(_ work: () throws -> Result) rethrows -> Result {
        guard let recorder else { return try work() }
        return try recorder.during(work)
    }

    /// Writes the reports of a run that ended well.
    ///
    /// - Throws: what ``ReportFile/write(_:_:)`` throws, saying that the migration itself succeeded.
    func write(_ result: MigrationResult) throws {
        guard !isEmpty else { return }
        var account = account(result.report.isDryRun ? .dryRun : .migrated)
        account.result = result
        account.seconds = result.report.seconds
        account.processorSeconds = result.report.processorSeconds
        account.peakMemory = result.report.peakMemory
        account.memoryLimit = result.report.memoryLimit
        account.spilledBytes = result.report.spilledBytes
        for path in request.reports {
            let text = try ReportFormat(path: path).map { try Self.text(account, $0) } ?? ""
            do throws(MigrationError) {
                try ReportFile.write(path, text, permissions: permissions)
            } catch {
                var error = error
                if !result.report.isDryRun { error.message += "; the migration itself succeeded" }
                throw error
            }
        }
    }

    /// Writes the reports of a run that ended with an error.
    ///
    /// - Returns: what kept a report from being written: the run's own error is what counts.
    func write(_ error: any Error) -> [any Error] {
        guard !isEmpty else { return [] }
        let isTemporary = (error as? MigrationError)?.category == .temporary
        var account = account(isTemporary ? .interrupted : .failed)
        account.error = error
        account.seconds = clock.seconds
        account.processorSeconds = clock.processorSeconds
        account.peakMemory = ProcessMemory.peakResident() ?? 0
        account.memoryLimit = account.plans.last?.memory.limit ?? request.options.memoryLimit
        account.spilledBytes = account.samples.map(\.spilledBytes).max() ?? counter.snapshot.spilledBytes
        var problems: [any Error] = []
        for path in request.reports {
            do {
                guard let format = ReportFormat(path: path) else { continue }
                try ReportFile.check(path)
                try ReportFile.write(path, try Self.text(account, format), permissions: permissions)
            } catch let problem {
                // What the run itself ended with is said once.
                if (problem as? MigrationError)?.context.path != (error as? MigrationError)?.context.path {
                    problems.append(problem)
                }
            }
        }
        return problems
    }

    private func account(_ outcome: RunAccount.Outcome) -> RunAccount {
        var account = RunAccount(
            outcome: outcome, source: request.source, destination: request.destination,
            sourceVersion: inputs?.sourceModel.name, destinationVersion: inputs?.destinationModel.name,
            mapping: inputs.map(\.mapping) ?? request.mapping, command: command,
            folder: FileManager.default.currentDirectoryPath, started: started)
        account.rejectFile = request.options.rejectFile
        if let recorder {
            account.plans = recorder.trace.plans
            account.spans = recorder.trace.spans
            account.samples = recorder.samples
        }
        return account
    }

    private static func text(_ account: RunAccount, _ format: ReportFormat) throws -> String {
        switch format {
        case .html: return ReportPage(account).text
        case .csv: return ReportTable.text(account)
        case .json:
            if let result = account.result { return try result.json() }
            guard let error = account.error else { return "" }
            return try JSONText.text(UnfinishedRun(account, error))
        }
    }
}
