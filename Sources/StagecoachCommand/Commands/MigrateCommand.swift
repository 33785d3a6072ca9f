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
    ///
    /// - Throws: errors of the inputs, the destination and the run.
    func run() throws {
        let result: MigrationResult
        do {
            let (inputs, report) = try work.run(
                counter: reporter.counter,
                preparing: { inputs, migration in
                    reporter.inputs = inputs
                    try check(before: migration)
                },
                { migration in try reporter.during { try migration.run() } })
            var noted = report
            noted.notes += inputs.notes
            result = MigrationResult(inputs: inputs, report: noted)
        } catch {
            for problem in reporter.write(error) { work.console.messages.write(ErrorWording.text(problem)) }
            throw error
        }
        work.console.output.write(work.printsJSON ? try result.json() : SummaryWording.text(result))
        for line in ProfileWording.lines(result.report) { work.console.messages.write(line + "\n") }
        try reporter.write(result)
    }

    /// Refuses impossible report files before the work, but after errors of the inputs.
    private func check(before migration: ChainedMigration) throws {
        do throws(MigrationError) {
            try reporter.check()
        } catch {
            _ = try migration.plan()
            throw error
        }
    }
}

/// The encodable result of a migration, with facts that only the command knows.
struct MigrationResult: Encodable {
    let report: MigrationReport
    let sourceVersion: String?
    let destinationVersion: String?
    /// The file of the mapping model; nil if it was inferred.
    let mapping: String?

    init(inputs: MigrationInputs, report: MigrationReport) {
        self.report = report
        sourceVersion = inputs.sourceModel.name
        destinationVersion = inputs.destinationModel.name
        mapping = inputs.mapping
    }

    init(report: MigrationReport, sourceVersion: String?, destinationVersion: String?, mapping: String?) {
        self.report = report
        self.sourceVersion = sourceVersion
        self.destinationVersion = destinationVersion
        self.mapping = mapping
    }

    private enum Key: String, CodingKey {
        case outcome
        case sourceVersion
        case destinationVersion
        case mapping
    }

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        let outcome = report.isDryRun ? RunAccount.Outcome.dryRun : .migrated
        try container.encode(outcome.rawValue, forKey: .outcome)
        try container.encodeIfPresent(sourceVersion, forKey: .sourceVersion)
        try container.encodeIfPresent(destinationVersion, forKey: .destinationVersion)
        try container.encodeIfPresent(mapping, forKey: .mapping)
    }

    /// Returns one JSON object with sorted keys and a line end.
    func json() throws -> String { try JSONText.text(self) }
}

/// Encodes values as JSON for people and programs: sorted keys, indented, with a line end.
enum JSONText {
    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }

    /// Returns the JSON on one line.
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
}
