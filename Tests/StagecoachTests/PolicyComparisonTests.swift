import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Scripted policies over random stores: the engine's destination, and all that its policies saw on the way, equal the
/// reference's.
@Suite("Policies against the reference")
struct PolicyComparisonTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds: [UInt64] = (0..<seedCount).map { firstSeed &+ UInt64($0) }
    /// `STAGECOACH_SEED` repeats a run, `STAGECOACH_RUNS` sets how many seeds are tried.
    static let firstSeed: UInt64 =
        ProcessInfo.processInfo.environment["STAGECOACH_SEED"].flatMap(UInt64.init)
        ?? UInt64.random(in: 0..<1_000_000_000)
    static let seedCount: Int = ProcessInfo.processInfo.environment["STAGECOACH_RUNS"].flatMap(Int.init) ?? 40

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1, room: 20), Variant(batchSize: 3, passes: 2, isStaged: true),
    ]

    @Test("A policy that does one thing", arguments: seeds)
    func single(seed: UInt64) throws {
        try compare(seed) { generator in PolicyActions(rawValue: 1 << generator.below(PolicyActions.count + 1)) }
    }

    @Test("Policies that do many things", arguments: seeds)
    func mixed(seed: UInt64) throws {
        try compare(seed) { generator in PolicyActions(rawValue: generator.below(1 << PolicyActions.count)) }
    }

    @Test("Seeds that failed once", arguments: [54472] as [UInt64])
    func known(seed: UInt64) throws {
        try single(seed: seed)
        try mixed(seed: seed)
    }

    private func compare(_ seed: UInt64, _ choose: (inout SeededGenerator) -> PolicyActions) throws {
        let migration = try RandomMigration.explicit(seed: seed)
        let mapping = try #require(migration.mapping)
        var generator = SeededGenerator(seed: seed &* 31 &+ 7)
        var actions: [String: PolicyActions] = [:]
        for entityMapping in mapping.entityMappings where entityMapping.destinationEntityName != nil {
            guard generator.chance(2) else { continue }
            let name = "Policy\(entityMapping.name ?? "")"
            entityMapping.entityMigrationPolicyClassName = name
            actions[name] = choose(&generator)
        }
        guard !actions.isEmpty else { return }
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try migration.store.write(path: path)

        let expectedLog = PolicyLog()
        let before = try ReferenceStore.read(path: path, model: migration.source)
        let reference = ReferenceMigrator(
            source: before, destinationModel: migration.destination, mappingModel: mapping,
            policies: actions.mapValues { actions in { ScriptedReferencePolicy(actions, expectedLog) } }
        ).migrate()

        for variant in Self.variants {
            let log = PolicyLog()
            let manager = MigrationManager(sourceModel: migration.source, destinationModel: migration.destination)
            manager.policies = PolicyRegistry()
            let shared = Unchecked(log)
            for (name, actions) in actions {
                manager.policies.register(name) {
                    let policy = EnginePolicy()
                    policy.script = PolicyScript(actions, shared.value)
                    return policy
                }
            }
            manager.options = variant.options
            manager.usesStoreSpecificMigrationManager = !variant.isStaged
            let destination = folder.file("out-\(UUID().uuidString).sqlite")
            var lines: [String] = []
            do {
                try manager.migrateStore(
                    from: URL(fileURLWithPath: path), type: .sqlite, mapping: mapping,
                    to: URL(fileURLWithPath: destination), type: .sqlite)
                switch reference {
                case .success(let outcome):
                    let store = try ReferenceStore.read(path: destination, model: migration.destination)
                    lines = store.differences(from: outcome.store)
                    if let counts = manager.report?.counts {
                        for line in counts.mappings where line.sourceEntity != nil && line.destinationEntity != nil {
                            if line.droppedByPolicy != outcome.report.droppedByPolicy[line.name] ?? 0 {
                                lines.append("\(line.name): dropped \(line.droppedByPolicy)")
                            }
                            if line.migrated != outcome.report.migrated[line.name] ?? 0 {
                                lines.append("\(line.name): migrated \(line.migrated)")
                            }
                        }
                    }
                case .failure(let failure): lines = ["the reference refuses: \(failure); the engine does not"]
                }
            } catch let error as MigrationError {
                switch reference {
                case .success: lines = ["the engine fails: \(error)"]
                case .failure: if error.category == .internal { lines = ["internal error: \(error)"] }
                }
            }
            if let difference = zip(log.lines, expectedLog.lines).first(where: { $0 != $1 }) {
                lines.append("a policy saw\n  \(difference.0)\nexpected\n  \(difference.1)")
            } else if case .success = reference, log.lines.count != expectedLog.lines.count {
                lines.append("\(log.lines.count) calls, expected \(expectedLog.lines.count)")
            }
            #expect(
                lines.isEmpty,
                "\(variant)\n\(actions)\n\(lines.prefix(12).joined(separator: "\n"))\n\(migration)")
            guard lines.isEmpty else { return }
        }
    }
}

/// Carries a reference into a closure that is called on the same thread.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
