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

    static let seeds = RandomSeeds.seeds(24)

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1, room: 20), Variant(batchSize: 3, passes: 2, isStaged: true),
        Variant(batchSize: 7, passes: 9),
    ]

    @Test("A policy that does one thing", arguments: seeds)
    func single(seed: UInt64) throws {
        let found = try differences(seed, Self.one)
        #expect(found == [], "\(found.joined(separator: "\n"))")
    }

    @Test("Policies that do many things", arguments: seeds)
    func mixed(seed: UInt64) throws {
        let found = try differences(seed, Self.many)
        #expect(found == [], "\(found.joined(separator: "\n"))")
    }

    /// Their links are found by keys where nobody can tell, and object by object elsewhere: both ways have to be taken.
    @Test("Policies that take over creation only")
    func creation() throws {
        var ways = Ways()
        for seed in RandomSeeds.seeds(80) {
            let found = try differences(seed, Self.creating, isCreationOnly: true, ways: &ways)
            #expect(found == [], "seed \(seed)")
        }
        #expect(ways.byKeys > 0 && ways.byObject > 0)
    }

    /// The numbers of runs whose links were found by keys, and object by object.
    private struct Ways {
        var byKeys = 0
        var byObject = 0
    }

    private static func creating(_ generator: inout SeededGenerator) -> PolicyActions {
        let all: [PolicyActions] = [
            [], [], [], .drops, .drops, .splits, .merges, .createsByHand, .insertsExtra, .setsEarly, .deletesEarly,
        ]
        return all[generator.below(all.count)]
    }

    @Test("Seeds that failed once", arguments: [54472, 100_080, 596_165_730] as [UInt64])
    func known(seed: UInt64) throws {
        #expect(try differences(seed, Self.one) == [])
        #expect(try differences(seed, Self.many) == [])
    }

    private static func one(_ generator: inout SeededGenerator) -> PolicyActions {
        PolicyActions(rawValue: 1 << generator.below(PolicyActions.count + 1))
    }

    private static func many(_ generator: inout SeededGenerator) -> PolicyActions {
        PolicyActions(rawValue: generator.below(1 << PolicyActions.count))
    }

    /// Most objects are related by the default method before a policy looks at the links: they are left to the load, made when
    /// the first object is looked at, or when the default method is not called.
    @Test("Policies that look at a few objects", arguments: RandomSeeds.seeds(30))
    func rare(seed: UInt64) throws {
        #expect(try differences(seed) { Self.many(&$0).union(.isRare).subtracting([.merges, .drops]) } == [])
        #expect(try differences(seed) { Self.one(&$0).union(.isRare) } == [])
    }

    /// Source objects are changed and deleted while and before mappings read them.
    @Test("Policies that change and delete source objects", arguments: RandomSeeds.seeds(60))
    func sources(seed: UInt64) throws {
        let changing: PolicyActions = [.changesSources, .deletesSources]
        let choices: [(inout SeededGenerator) -> PolicyActions] = [
            { $0.chance(2) ? .changesSources : .deletesSources }, { _ in changing },
            { Self.many(&$0).subtracting([.merges, .drops]).union(changing) },
        ]
        for choose in choices {
            let found = try differences(seed, choose)
            #expect(found == [], "\(found.joined(separator: "\n"))")
        }
    }

    /// Links of the source to rows that do not exist counted when a member was added after the last.
    @Test("Seeds that failed once", arguments: [94_000_015] as [UInt64])
    func failedOnce(seed: UInt64) throws { try sources(seed: seed) }

    /// The differences of the first variant that has any, with all that it takes to repeat it.
    private func differences(
        _ seed: UInt64, _ choose: (inout SeededGenerator) -> PolicyActions
    ) throws -> [String] {
        var ways = Ways()
        return try differences(seed, choose, isCreationOnly: false, ways: &ways)
    }

    private func differences(
        _ seed: UInt64, _ choose: (inout SeededGenerator) -> PolicyActions, isCreationOnly: Bool, ways: inout Ways
    ) throws -> [String] {
        let migration = try RandomMigration.explicit(seed: seed)
        let mapping = try #require(migration.mapping)
        var generator = SeededGenerator(seed: seed &* 31 &+ 7)
        let actions = PolicyActions.chosen(for: mapping.entityMappings, &generator, choose)
        guard !actions.isEmpty else { return [] }
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try migration.store.write(path: path)

        let expectedLog = PolicyLog()
        let before = try ReferenceStore.read(path: path, model: migration.source)
        let reference = ReferenceMigrator(
            source: before, destinationModel: migration.destination, mappingModel: mapping,
            policies: actions.mapValues { actions in
                {
                    isCreationOnly
                        ? ScriptedReferenceCreationPolicy(actions, expectedLog)
                        : ScriptedReferencePolicy(actions, expectedLog)
                }
            }
        ).migrate()

        for variant in Self.variants {
            let log = PolicyLog()
            let manager = MigrationManager(sourceModel: migration.source, destinationModel: migration.destination)
            manager.policies = PolicyRegistry()
            let shared = Unchecked(log)
            for (name, actions) in actions {
                manager.policies.register(name) {
                    let policy = isCreationOnly ? EngineCreationPolicy() : EnginePolicy()
                    policy.script = PolicyScript(actions, shared.value)
                    return policy
                }
            }
            manager.options = variant.options
            manager.options.profiles = true
            manager.usesStoreSpecificMigrationManager = !variant.isStaged
            let destination = folder.file("out-\(UUID().uuidString).sqlite")
            var lines = try reference.differences {
                try manager.migrateStore(
                    from: URL(fileURLWithPath: path), type: .sqlite, mapping: mapping,
                    to: URL(fileURLWithPath: destination), type: .sqlite)
            } comparing: { outcome in
                let store = try ReferenceStore.read(path: destination, model: migration.destination)
                return try store.differences(from: outcome.store)
                    + Self.differences(#require(manager.report).counts, from: outcome.report)
            }
            if let profile = manager.report?.profile {
                let isByObject = profile.contains { $0.stage == "relate" && !$0.subject.isEmpty }
                if isByObject { ways.byObject += 1 } else { ways.byKeys += 1 }
            }
            if let difference = zip(log.lines, expectedLog.lines).first(where: { $0 != $1 }) {
                lines.append("a policy saw\n  \(difference.0)\nexpected\n  \(difference.1)")
            } else if case .success = reference, log.lines.count != expectedLog.lines.count {
                lines.append("\(log.lines.count) calls, expected \(expectedLog.lines.count)")
            }
            guard lines.isEmpty else { return ["\(variant)", "\(actions)"] + lines.prefix(12) + ["\(migration)"] }
        }
        return []
    }

    private static func differences(_ counts: MigrationCounts, from expected: ReferenceReport) -> [String] {
        var lines: [String] = []
        for line in counts.mappings where line.sourceEntity != nil && line.destinationEntity != nil {
            // The reference does not ask whether a policy made anything for a source object that it did not associate.
            let dropped = line.droppedByPolicy + line.unassociated
            if dropped != expected.droppedByPolicy[line.name] ?? 0 {
                lines.append("\(line.name): dropped \(dropped)")
            }
            if line.migrated != expected.migrated[line.name] ?? 0 {
                lines.append("\(line.name): migrated \(line.migrated)")
            }
        }
        return lines
    }
}

/// Carries a reference into a closure that is called on the same thread.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
