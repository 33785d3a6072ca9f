import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Random rules that random rows break: the destination, the rejected objects and their reasons equal the reference's.
@Suite("Rejects against the reference")
struct RejectRandomTests {
    typealias Variant = MigrationComparison.Variant

    /// Cases in which an object was kept or rejected by when it was asked whether it gets another one (see ``RejectFixpoint``).
    static let known: [UInt64] = [990_000_248, 990_000_546, 990_001_077, 990_001_115]

    static let seeds = RandomSeeds.seeds(24) + known

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1), Variant(batchSize: 7, passes: 2, keys: .sequential),
        Variant(batchSize: 1000, keys: .sequential, isStaged: true), Variant(batchSize: 3, isStaged: true),
    ]

    @Test("An explicit mapping model", arguments: seeds)
    func explicit(seed: UInt64) throws {
        let migration = try RandomMigration.ruled(seed: seed, isExplicit: true)
        let lines = try differences(migration, try #require(migration.mapping))
        #expect(lines == [])
    }

    @Test("An inferred mapping model", arguments: seeds)
    func inferred(seed: UInt64) throws {
        let migration = try RandomMigration.ruled(seed: seed, isExplicit: false)
        let mapping = try migration.inferredMapping()
        let lines = try differences(migration, mapping)
        #expect(lines == [])
    }

    /// The differences of the first variant that has any, with all that it takes to repeat it.
    private func differences(_ migration: RandomMigration, _ mapping: MappingModel) throws -> [String] {
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try migration.store.write(path: path)
        let before = try ReferenceStore.read(path: path, model: migration.source)
        for variant in Self.variants {
            let keys: ReferenceKeys = variant.keys == .sequential ? .sequential : .auto
            let expected = ReferenceMigrator(
                source: before, destinationModel: migration.destination, mappingModel: mapping, keys: keys,
                rejectsInvalid: true
            ).migrate()
            let destination = folder.file("out-\(UUID().uuidString).sqlite")
            var options = variant.options
            options.onInvalid = .reject
            options.rejectFile = destination + ".rejects"
            var report: MigrationReport?
            let lines = try expected.differences {
                report = try Migration(
                    from: path, model: migration.source, mapping: mapping, to: destination,
                    model: migration.destination, options: options
                ).run()
            } comparing: { outcome in
                try ReferenceStore.read(path: destination, model: migration.destination)
                    .differences(from: outcome.store)
                    + RejectComparison.differences(
                        RejectLine.read(destination + ".rejects"), #require(report), from: outcome.report)
            }
            guard lines.isEmpty else { return ["\(variant)"] + lines.prefix(12) + ["\(migration)"] }
        }
        return []
    }

    @Test("Scripted policies", arguments: seeds)
    func policies(seed: UInt64) throws {
        let migration = try RandomMigration.ruled(seed: seed, isExplicit: true)
        let mapping = try #require(migration.mapping)
        var generator = SeededGenerator(seed: seed &* 17 &+ 3)
        let actions = PolicyActions.chosen(for: mapping.entityMappings, &generator) {
            PolicyActions(
                rawValue: $0.chance(2) ? $0.below(1 << PolicyActions.count) : 1 << $0.below(PolicyActions.count + 1))
        }
        guard !actions.isEmpty else { return }
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try migration.store.write(path: path)
        let expected = ReferenceMigrator(
            source: try ReferenceStore.read(path: path, model: migration.source),
            destinationModel: migration.destination, mappingModel: mapping, rejectsInvalid: true,
            policies: actions.mapValues { actions in { ScriptedReferencePolicy(actions, PolicyLog()) } }
        ).migrate()
        for variant in [Variant(), Variant(batchSize: 1, passes: 1, isStaged: true)] {
            let manager = MigrationManager(sourceModel: migration.source, destinationModel: migration.destination)
            manager.policies = PolicyRegistry()
            for (name, actions) in actions {
                manager.policies.register(name) {
                    let policy = EnginePolicy()
                    policy.script = PolicyScript(actions, PolicyLog())
                    return policy
                }
            }
            manager.options = variant.options
            manager.options.onInvalid = .reject
            manager.usesStoreSpecificMigrationManager = !variant.isStaged
            let destination = folder.file("out-\(UUID().uuidString).sqlite")
            manager.options.rejectFile = destination + ".rejects"
            let lines = try expected.differences {
                try manager.migrateStore(
                    from: URL(fileURLWithPath: path), type: .sqlite, mapping: mapping,
                    to: URL(fileURLWithPath: destination), type: .sqlite)
            } comparing: { outcome in
                try ReferenceStore.read(path: destination, model: migration.destination)
                    .differences(from: outcome.store)
                    + RejectComparison.differences(
                        RejectLine.read(destination + ".rejects"), #require(manager.report), from: outcome.report)
            }
            #expect(
                lines.isEmpty, "\(variant)\n\(actions)\n\(lines.prefix(12).joined(separator: "\n"))\n\(migration)")
            guard lines.isEmpty else { return }
        }
    }
}
