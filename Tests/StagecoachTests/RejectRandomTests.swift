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

    static let seeds: [UInt64] = (0..<seedCount).map { firstSeed &+ UInt64($0) }
    /// `STAGECOACH_SEED` repeats a run, `STAGECOACH_RUNS` sets how many seeds are tried.
    static let firstSeed: UInt64 =
        ProcessInfo.processInfo.environment["STAGECOACH_SEED"].flatMap(UInt64.init)
        ?? UInt64.random(in: 0..<1_000_000_000)
    static let seedCount: Int = ProcessInfo.processInfo.environment["STAGECOACH_RUNS"].flatMap(Int.init) ?? 40

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1), Variant(batchSize: 7, passes: 2, keys: .sequential),
        Variant(batchSize: 1000, keys: .sequential, isStaged: true), Variant(batchSize: 3, isStaged: true),
    ]

    @Test("An explicit mapping model", arguments: seeds)
    func explicit(seed: UInt64) throws {
        let migration = try RandomMigration.ruled(seed: seed, isExplicit: true)
        try compare(migration, try #require(migration.mapping))
    }

    @Test("An inferred mapping model", arguments: seeds)
    func inferred(seed: UInt64) throws {
        let migration = try RandomMigration.ruled(seed: seed, isExplicit: false)
        try compare(migration, try MappingModel.inferred(from: migration.source, to: migration.destination))
    }

    private func compare(_ migration: RandomMigration, _ mapping: MappingModel) throws {
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
            var lines: [String] = []
            do {
                let report = try Migration(
                    from: path, model: migration.source, mapping: mapping, to: destination,
                    model: migration.destination, options: options
                ).run()
                switch expected {
                case .success(let outcome):
                    lines = try ReferenceStore.read(path: destination, model: migration.destination)
                        .differences(from: outcome.store)
                    lines += RejectComparison.differences(
                        try RejectLine.read(destination + ".rejects"), report, from: outcome.report)
                case .failure(let failure): lines = ["the reference refuses: \(failure); the engine does not"]
                }
            } catch let error as MigrationError {
                switch expected {
                case .success: lines = ["the engine fails: \(error)"]
                case .failure: if error.category == .internal { lines = ["internal error: \(error)"] }
                }
            }
            #expect(lines.isEmpty, "\(variant)\n\(lines.prefix(12).joined(separator: "\n"))\n\(migration)")
            guard lines.isEmpty else { return }
        }
    }

    @Test("Scripted policies", arguments: seeds)
    func policies(seed: UInt64) throws {
        let migration = try RandomMigration.ruled(seed: seed, isExplicit: true)
        let mapping = try #require(migration.mapping)
        var generator = SeededGenerator(seed: seed &* 17 &+ 3)
        var actions: [String: PolicyActions] = [:]
        for entityMapping in mapping.entityMappings where entityMapping.destinationEntityName != nil {
            guard generator.chance(2) else { continue }
            let name = "Policy\(entityMapping.name ?? "")"
            entityMapping.entityMigrationPolicyClassName = name
            actions[name] = PolicyActions(
                rawValue: generator.chance(2)
                    ? generator.below(1 << PolicyActions.count) : 1 << generator.below(PolicyActions.count + 1))
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
            var lines: [String] = []
            do {
                try manager.migrateStore(
                    from: URL(fileURLWithPath: path), type: .sqlite, mapping: mapping,
                    to: URL(fileURLWithPath: destination), type: .sqlite)
                switch expected {
                case .success(let outcome):
                    lines = try ReferenceStore.read(path: destination, model: migration.destination)
                        .differences(from: outcome.store)
                    lines += RejectComparison.differences(
                        try RejectLine.read(destination + ".rejects"), try #require(manager.report),
                        from: outcome.report)
                case .failure(let failure): lines = ["the reference refuses: \(failure); the engine does not"]
                }
            } catch let error as MigrationError {
                switch expected {
                case .success: lines = ["the engine fails: \(error)"]
                case .failure: if error.category == .internal { lines = ["internal error: \(error)"] }
                }
            }
            #expect(
                lines.isEmpty, "\(variant)\n\(actions)\n\(lines.prefix(12).joined(separator: "\n"))\n\(migration)")
            guard lines.isEmpty else { return }
        }
    }
}
