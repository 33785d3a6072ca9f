import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A migration whose journal cannot be written any more after some records, again and again until it is done.
struct KilledRun {
    let report: MigrationReport
    /// Runs, the last one included.
    let attempts: Int
    /// True if the last run resumed another.
    let isResumed: Bool

    init(
        _ generator: inout SeededGenerator, _ options: MigrationOptions, _ make: (MigrationOptions) throws -> Migration
    ) throws {
        var attempts = 0
        while true {
            attempts += 1
            // Later ones get further, so that there is an end.
            let conditions = RunConditions.savingOften(failingAfter: 1 + generator.below(6 + attempts))
            do {
                report = try RunConditions.$current.withValue(conditions) { try make(options).run() }
                break
            } catch let error as MigrationError where error.code == "journal.io" {
                continue
            }
        }
        self.attempts = attempts
        isResumed = report.notes.contains { $0.contains("resumed one") }
    }
}

/// Several mapping models and appended stores, in resumed runs.
@Suite("Several mapping models and appends, in resumed runs")
struct ResumedModelsTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(3)

    /// Cases in which a policy of the first mapping model changes source objects that the second one reads.
    static let changingSource: [UInt64] = [31_000_022, 31_000_039, 31_000_356]

    static let variants: [Variant] = [
        Variant(batchSize: 1, passes: 1), Variant(batchSize: 3, isStaged: true), Variant(batchSize: 2, writer: .sqlite),
    ]

    @Test("A mapping model cut into several", arguments: seeds)
    func split(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed)
        var generator = SeededGenerator(seed: seed &* 41 &+ 3)
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: fixture.models)
        for variant in Self.variants {
            var attempts = 0
            let lines = try fixture.differences(expected, "\(variant)") { path in
                let run = try KilledRun(&generator, variant.options) { options in
                    Migration(
                        from: fixture.path, model: fixture.migration.source, mappings: fixture.models, to: path,
                        model: fixture.migration.destination, options: options)
                }
                attempts = run.attempts
                return run.report.counts.danglingReferences
            }
            #expect(lines == [], "\(attempts) attempts: \(lines.joined(separator: "\n"))")
        }
    }

    @Test("Several mapping models with policies", arguments: seeds + changingSource)
    func policies(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed)
        var generator = SeededGenerator(seed: seed &* 43 &+ 3)
        let actions = PolicyActions.chosen(for: fixture.models.flatMap { $0.entityMappings ?? [] }, &generator) {
            PolicyActions(rawValue: 1 << $0.below(PolicyActions.count + 1))
        }
        guard !actions.isEmpty else { return }
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: fixture.models,
            policies: actions.mapValues { actions in { ScriptedReferencePolicy(actions, PolicyLog()) } })
        for variant in Self.variants {
            let lines = try fixture.differences(expected, "\(variant), \(actions)") { path in
                _ = try KilledRun(&generator, variant.options) { options in
                    let manager = fixture.manager(variant)
                    for (name, actions) in actions {
                        manager.policies.register(name) {
                            let policy = ResumedPolicy()
                            policy.script = PolicyScript(actions, policy.course.log)
                            return policy
                        }
                    }
                    return Migration(
                        from: fixture.path, model: fixture.migration.source, mappings: fixture.models, to: path,
                        model: fixture.migration.destination, options: options, manager: manager)
                }
                return nil
            }
            #expect(lines == [], "\(lines.joined(separator: "\n"))")
        }
    }

    @Test("A second store appended to the first one's destination", arguments: seeds)
    func append(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed)
        var generator = SeededGenerator(seed: seed &* 47 &+ 3)
        let mapping = try #require(fixture.migration.mapping)
        let reference = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination, mappingModels: [mapping]
        )
        guard case .success(let outcome) = reference else { return }
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: [mapping],
            destination: outcome.store)
        for variant in Self.variants {
            var resumed = false
            let lines = try fixture.differences(expected, "append, \(variant)") { path in
                func make(_ options: MigrationOptions) throws -> Migration {
                    Migration(
                        from: fixture.path, model: fixture.migration.source, mapping: mapping, to: path,
                        model: fixture.migration.destination, options: options)
                }
                var options = variant.options
                options.appendsToExisting = true
                _ = try make(options).run()
                resumed = try KilledRun(&generator, options, make).isResumed
                return nil
            }
            #expect(lines == [], "resumed \(resumed): \(lines.joined(separator: "\n"))")
        }
    }
}
