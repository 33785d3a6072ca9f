import Foundation
import Stagecoach

/// Everything that a report tells of one run, however it ended.
struct RunAccount {
    /// How a run ended.
    enum Outcome: String {
        case migrated
        case dryRun
        case failed
        /// Ended by a signal, or by a source that was written meanwhile: the same command may be run again.
        case interrupted
    }

    var outcome: Outcome
    var source: String
    var destination: String
    var sourceVersion: String?
    var destinationVersion: String?
    /// The mapping models' files; nil where one was inferred.
    var mapping: String?
    /// Words of the command line, the program's name first.
    var command: [String]
    /// The folder it was run in.
    var folder: String
    var started: Date
    /// What was done; nil where the run did not end well.
    var result: MigrationResult?
    /// What it ended with; nil where it ended well.
    var error: (any Error)?
    /// The plans that were run, one for each migration of a chain.
    var plans: [MigrationPlan] = []
    var spans: [StageSpan] = []
    var samples: [RunSample] = []
    /// Seconds of wall time, and of processor time.
    var seconds = 0.0
    var processorSeconds = 0.0
    /// Bytes.
    var peakMemory = 0
    /// Bytes that the run was to stay under; nil where it did not come so far.
    var memoryLimit: Int?
    var spilledBytes = 0
    /// Where all rejected objects are listed; nil where that was not asked for.
    var rejectFile: String?

    var report: MigrationReport? { result?.report }

    /// The counts of each migration with its title, which is empty where there is one, and the objects of its source.
    var counts: [(title: String, counts: MigrationCounts, objects: Int?)] {
        guard let report else { return [] }
        let steps = report.steps ?? []
        guard steps.count > 1 else { return [("", report.counts, report.sourceObjects)] }
        return steps.map {
            (Versions.text($0.sourceVersion, $0.destinationVersion), $0.report.counts, $0.report.sourceObjects)
        }
    }
}

/// The report of a run that did not end well, as JSON.
struct UnfinishedRun: Encodable {
    /// What it ended with.
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
    /// The stage that it was at; nil where none had begun.
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
        sourceVersion = account.sourceVersion
        destinationVersion = account.destinationVersion
        mapping = account.mapping
        phase = account.spans.last?.stage
        seconds = account.seconds
        peakMemory = account.peakMemory
        memoryLimit = account.memoryLimit
        spilledBytes = account.spilledBytes
        command = account.command
        folder = account.folder
    }
}
