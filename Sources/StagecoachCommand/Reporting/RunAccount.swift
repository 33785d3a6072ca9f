import Foundation
import Stagecoach

/// The content of a report on one run, however the run ended.
struct RunAccount {
    /// The outcome of a run.
    enum Outcome: String {
        case migrated
        case dryRun
        case failed
        /// Ended by a signal, or because the source was written meanwhile. The same command may be run again.
        case interrupted
    }

    var outcome: Outcome
    var source: String
    var destination: String
    var names: MigrationNames
    /// The words of the command line, with the program's name first.
    var command: [String]
    /// The folder in which it was run.
    var folder: String
    var started: Date
    /// The result; nil if the run failed.
    var result: MigrationResult?
    /// The error; nil if the run succeeded.
    var error: (any Error)?
    /// The plans that were run, one for each migration of a chain.
    var plans: [MigrationPlan] = []
    var spans: [StageSpan] = []
    var samples: [RunSample] = []
    /// The wall time; ``processorSeconds`` is the processor time.
    var seconds = 0.0
    var processorSeconds = 0.0
    /// The peak resident memory in bytes.
    var peakMemory = 0
    /// The memory limit in bytes; nil if the run ended before it was set.
    var memoryLimit: Int?
    var spilledBytes = 0
    /// The file of all rejected objects; nil if none was requested.
    var rejectFile: String?

    var report: MigrationReport? { result?.report }

    /// The counts of each migration, with its title, which is empty if there is only one, and the number of source objects.
    var counts: [(title: String, counts: MigrationCounts, objects: Int?)] {
        guard let report else { return [] }
        let steps = report.steps ?? []
        guard steps.count > 1 else { return [("", report.counts, report.sourceObjects)] }
        return steps.map {
            (Versions.text($0.sourceVersion, $0.destinationVersion), $0.report.counts, $0.report.sourceObjects)
        }
    }
}

/// The report of a run that did not succeed, as JSON.
struct UnfinishedRun: Encodable {
    /// The error of the run.
    struct Failure: Encodable {
        var code: String?
        var message: String
        var remedy: String?
    }

    var report = ReportFile.unfinishedMark
    let outcome: String
    let exitCode: Int32
    let error: Failure
    let source: String
    let destination: String
    let sourceVersion: String?
    let destinationVersion: String?
    let mapping: String?
    /// The stage at the end; nil if none had begun.
    let phase: String?
    let seconds: Double
    let peakMemory: Int
    let memoryLimit: Int?
    let spilledBytes: Int
    let command: [String]
    let folder: String

    init(_ account: RunAccount, _ error: any Error) {
        outcome = account.outcome.rawValue
        exitCode = ErrorWording.exitCode(error)
        self.error = FailureWords(error).failure
        source = account.source
        destination = account.destination
        sourceVersion = account.names.sourceVersion
        destinationVersion = account.names.destinationVersion
        mapping = account.names.mapping
        phase = account.spans.last?.stage
        seconds = account.seconds
        peakMemory = account.peakMemory
        memoryLimit = account.memoryLimit
        spilledBytes = account.spilledBytes
        command = account.command
        folder = account.folder
    }
}
