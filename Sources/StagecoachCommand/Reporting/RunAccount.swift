import Foundation
import Stagecoach

/// The content of a report on one run, however the run ended.
struct RunAccount: Encodable {
    private enum CodingKeys: CodingKey {
        case outcome, source, destination, command, folder, seconds, peakMemory, memoryLimit, spilledBytes
    }

    var outcome: RunOutcome
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

    /// The versions of each migration of a chain, `A → B`; none if there is one migration, or if the run failed.
    var steps: [String] {
        let steps = report?.steps ?? []
        return steps.count > 1 ? steps.map { Versions.text($0.sourceVersion, $0.destinationVersion) } : []
    }

    /// The counts of each migration, with its title, which is empty if there is only one, and the number of source objects.
    var counts: [(title: String, counts: MigrationCounts, objects: Int?)] {
        guard let report else { return [] }
        let steps = report.steps ?? []
        guard steps.count > 1 else { return [("", report.counts, report.sourceObjects)] }
        return zip(self.steps, steps).map { ($0, $1.report.counts, $1.report.sourceObjects) }
    }
}

/// The report of a run that did not succeed, as JSON.
struct UnfinishedRun: Encodable {
    private let account: RunAccount
    private let error: FailureWords

    init(_ account: RunAccount, _ error: any Error) {
        self.account = account
        self.error = FailureWords(error)
    }

    func encode(to encoder: any Encoder) throws {
        try account.encode(to: encoder)
        try account.names.encode(to: encoder)
        try ["report": ReportFile.unfinishedMark].encode(to: encoder)
        if let phase = account.spans.last?.stage { try ["phase": phase].encode(to: encoder) }
        try ["exitCode": error.exitCode].encode(to: encoder)
        try ["error": error].encode(to: encoder)
    }
}
