import Foundation
import Stagecoach
import TestSupport
import Testing

/// Rejects of several mapping models and of appends, in runs whose journal cannot be written any more after some records,
/// again and again until they are done: destination, reject file and counts are the reference's.
@Suite("Rejects of several mapping models and appends, in resumed runs")
struct ResumedRejectTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(6)

    private static func options(_ variant: Variant, _ rejects: String) -> MigrationOptions {
        var options = variant.options
        options.onInvalid = .reject
        options.rejectFile = rejects
        return options
    }

    /// Returns the lines that only the reject file and the report have, and those that only the reference has.
    private func differences(
        _ path: String, _ report: MigrationReport, _ expected: Result<ReferenceOutcome, ReferenceFailure>
    ) throws -> [String] {
        guard case .success(let outcome) = expected else { return [] }
        let found = RejectComparison.texts(try RejectLine.read(path), beside: outcome.report).sorted()
        let wanted = RejectComparison.texts(outcome.report).sorted()
        var lines: [String] = []
        if found != wanted { lines.append("rejected \(found), expected \(wanted)") }
        if report.rejects?.objects != wanted.count { lines.append("\(report.rejects?.objects ?? -1) rejects counted") }
        for line in report.counts.mappings where line.sourceEntity != nil && line.destinationEntity != nil {
            if line.rejected != outcome.report.rejected[line.name] ?? 0
                || line.migrated != outcome.report.migrated[line.name] ?? 0
            {
                lines.append("\(line.name): \(line.migrated) migrated, \(line.rejected) rejected")
            }
        }
        return lines
    }

    @Test("A mapping model cut into several", arguments: seeds)
    func split(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed, isRuled: true)
        var generator = SeededGenerator(seed: seed &* 53 &+ 3)
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: fixture.models, rejectsInvalid: true)
        for variant in ResumedModelsTests.variants {
            var (attempts, rejects) = (0, [String]())
            let lines = try fixture.differences(expected, "\(variant)") { path in
                let run = try KilledRun(&generator, Self.options(variant, path + ".rejects")) { options in
                    Migration(
                        from: fixture.path, model: fixture.migration.source, mappings: fixture.models, to: path,
                        model: fixture.migration.destination, options: options)
                }
                attempts = run.attempts
                rejects = try differences(path + ".rejects", run.report, expected)
                return nil
            }
            #expect(lines + rejects == [], "\(variant), \(attempts) attempts")
        }
    }

    @Test("A second store appended to the first one's destination", arguments: seeds)
    func append(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed, isRuled: true)
        var generator = SeededGenerator(seed: seed &* 59 &+ 3)
        let mapping = try #require(fixture.migration.mapping)
        let first = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: [mapping],
            rejectsInvalid: true)
        guard case .success(let outcome) = first else { return }
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: [mapping],
            destination: outcome.store, rejectsInvalid: true)
        for variant in ResumedModelsTests.variants {
            var (attempts, rejects) = (0, [String]())
            let lines = try fixture.differences(expected, "append, \(variant)") { path in
                func make(_ options: MigrationOptions) throws -> Migration {
                    Migration(
                        from: fixture.path, model: fixture.migration.source, mapping: mapping, to: path,
                        model: fixture.migration.destination, options: options)
                }
                var options = Self.options(variant, path + "-1.rejects")
                options.appendsToExisting = true
                _ = try make(options).run()
                options.rejectFile = path + "-2.rejects"
                let run = try KilledRun(&generator, options, make)
                attempts = run.attempts
                rejects = try differences(path + "-2.rejects", run.report, expected)
                return nil
            }
            #expect(lines + rejects == [], "\(variant), \(attempts) attempts")
        }
    }
}
