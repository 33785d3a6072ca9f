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
    let counter: ProgressCounter
    /// The inputs; nil if the run ended before they were read.
    var inputs: MigrationInputs?

    /// - Parameter commandLine: the command line without the program's name.
    init(_ request: MigrationRequest, commandLine: [String]) {
        self.request = request
        command = ["stagecoach"] + commandLine
        counter = request.counter
        let isDrawn = request.reports.contains { ReportFormat(path: $0) == .html }
        recorder = isDrawn ? counter.trace.map { [counter] in RunRecorder(counter: counter, trace: $0) } : nil
    }

    /// Limited by the source's permissions, as a report contains values of the source, in messages and of rejected objects.
    private var permissions: FilePermissions { FilePermissions(ofSource: request.source) }

    var isEmpty: Bool { request.reports.isEmpty }

    /// Refuses impossible files before the work. Makes nothing.
    ///
    /// - Parameter isDone: true if a killed process has done the work. It may have written reports.
    func check(isDone: Bool = false) throws(MigrationError) {
        for path in request.reports {
            do throws(MigrationError) {
                try ReportFile.check(path)
            } catch {
                guard isDone, error.code == "output.exists" else { throw error }
            }
        }
    }

    /// Samples the run during the work, if a page will show it.
    func during<Result>(_ work: () throws -> Result) rethrows -> Result {
        try recorder?.during(work) ?? work()
    }

    /// Writes the reports of a run that succeeded.
    ///
    /// - Parameter keepsExisting: true to keep the reports that the killed process which did the work has written.
    func write(_ result: MigrationResult, keepsExisting: Bool = false) throws {
        guard !isEmpty else { return }
        var account = account(result.report.isDryRun ? .dryRun : .migrated)
        let report = result.report
        account.result = result
        (account.seconds, account.processorSeconds) = (report.seconds, report.processorSeconds)
        (account.peakMemory, account.memoryLimit) = (report.peakMemory, report.memoryLimit)
        account.spilledBytes = report.spilledBytes
        for path in request.reports {
            let text = try ReportFormat(path: path).map { try Self.text(account, $0) } ?? ""
            do throws(MigrationError) {
                try ReportFile.write(path, text, permissions: permissions)
            } catch {
                if keepsExisting, error.code == "output.exists" { continue }
                var error = error
                if !report.isDryRun { error.message += "; the migration itself succeeded" }
                throw error
            }
        }
    }

    /// Writes the reports of a run that failed.
    ///
    /// - Returns: the errors of writing reports. They are not thrown, because the run's own error counts.
    func write(_ error: any Error) -> [any Error] {
        guard !isEmpty else { return [] }
        var account = account((error as? MigrationError)?.category == .temporary ? .interrupted : .failed)
        account.error = error
        (account.seconds, account.processorSeconds) = (clock.seconds, clock.processorSeconds)
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
                // An error with the path of the run's own error is not repeated.
                if (problem as? MigrationError)?.context.path != (error as? MigrationError)?.context.path {
                    problems.append(problem)
                }
            }
        }
        return problems
    }

    private func account(_ outcome: RunOutcome) -> RunAccount {
        var account = RunAccount(
            outcome: outcome, source: request.source, destination: request.destination,
            names: inputs?.names ?? MigrationNames(mapping: request.mapping), command: command,
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
            if let result = account.result { return try JSONText.text(result) }
            guard let error = account.error else { return "" }
            return try JSONText.text(UnfinishedRun(account, error))
        }
    }
}
