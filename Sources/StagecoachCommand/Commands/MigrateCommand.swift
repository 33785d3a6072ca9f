import Diagnostics
import Foundation
import Stagecoach

/// `stagecoach migrate`.
struct MigrateCommand {
    private let work: MigrationWork

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        work = try MigrationWork(arguments, console: console)
    }

    /// Migrates and prints the summary or the report.
    ///
    /// - Throws: errors of the inputs, the destination and the run.
    func run() throws {
        let file = work.request.report
        let (inputs, report) = try work.run(
            preparing: { if let file { try check(file, before: $0) } }, { try $0.run() })
        var noted = report
        noted.notes += inputs.notes
        let result = MigrationResult(inputs: inputs, report: noted)
        let json = file != nil || work.printsJSON ? try result.json() : ""
        work.console.output.write(work.printsJSON ? json : SummaryWording.text(result))
        for line in ProfileWording.lines(noted) { work.console.messages.write(line + "\n") }
        if let file {
            do throws(MigrationError) {
                try OutputFile.create(file, json)
            } catch {
                var error = error
                if !work.request.options.isDryRun { error.message += "; the migration itself succeeded" }
                throw error
            }
        }
    }

    /// Refuses an impossible report file before the work, but after what is wrong with the inputs.
    private func check(_ report: String, before migration: ChainedMigration) throws {
        do throws(MigrationError) {
            try OutputFile.check(report)
        } catch {
            _ = try migration.plan()
            throw error
        }
    }
}

/// A report with what the command knows beyond it: a value that can be encoded.
struct MigrationResult: Encodable {
    let report: MigrationReport
    let sourceVersion: String?
    let destinationVersion: String?
    /// The mapping model's file; nil where it was inferred.
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
        case sourceVersion
        case destinationVersion
        case mapping
    }

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(sourceVersion, forKey: .sourceVersion)
        try container.encodeIfPresent(destinationVersion, forKey: .destinationVersion)
        try container.encodeIfPresent(mapping, forKey: .mapping)
    }

    /// One JSON object with sorted keys and a line end.
    func json() throws -> String { try JSONText.text(self) }

    /// Writes the report to a new file, after the destination is there.
    ///
    /// - Throws: what ``OutputFile`` throws, saying that the migration itself succeeded.
    func write(to file: String) throws {
        let text = try json()
        do throws(MigrationError) {
            try OutputFile.create(file, text)
        } catch {
            var error = error
            if !report.isDryRun { error.message += "; the migration itself succeeded" }
            throw error
        }
    }
}

/// Values as JSON for people and programs: sorted keys, indented, a line end.
enum JSONText {
    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }

    /// The same on one line.
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
}
