import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Objects that several source objects share, distinct or merged, against the reference.
@Suite("Source objects that share an object: random migrations against the reference")
struct GroupingRandomTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(24)

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1), Variant(batchSize: 7, passes: 2, room: 20),
        Variant(batchSize: 3, isStaged: true), Variant(writer: .sqlite),
    ]

    /// Returns a grouped migration; nil if the random one has nothing to group. `fill` is left out where it cannot be combined
    /// with the mappings' expressions.
    static func migration(seed: UInt64) throws -> ComparedMigration? {
        let random = try RandomMigration.explicit(seed: seed)
        guard let grouping = RandomGrouping(of: random) else { return nil }
        let made = try ComparedMigration(random, mapping: grouping.mapping, store: grouping.store)
        do { _ = try made.migration(Variant().options, to: "planned.sqlite").plan() } catch let error
            as MigrationError
            where error.code == "plan.fill"
        {
            for mapping in made.mapping.entityMappings ?? [] { mapping.grouping?.merge?.fills = false }
        }
        return made
    }

    @Test("Most random migrations have something to group, and there are merges of each kind")
    func frequent() throws {
        let made = try Self.seeds.compactMap { try Self.migration(seed: $0) }
        #expect(made.count > Self.seeds.count / 2)
        let rules = made.flatMap { $0.mapping.entityMappings ?? [] }.compactMap(\.grouping?.merge)
        #expect(rules.contains { $0.fills })
        #expect(rules.contains { $0.keep == .last } && rules.contains { $0.keep.expression != nil })
    }

    @Test("The reference's rows and keys, however it is cut", arguments: seeds)
    func cut(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed) else { return }
        for variant in Self.variants {
            let lines = try fixture.comparison.differences(variant)
            #expect(lines.isEmpty, "\(variant)\n\(lines.joined(separator: "\n"))\n\(fixture.random)")
        }
    }

    /// An owner that found a member several times, as merged objects, gave it the last of its places.
    @Test("Seeds that failed once", arguments: [93_000_300, 93_001_085, 93_001_646, 93_002_259] as [UInt64])
    func failedOnce(seed: UInt64) throws { try cut(seed: seed) }

    @Test("A killed run gives the same rows", arguments: seeds.prefix(8))
    func killed(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed) else { return }
        var generator = SeededGenerator(seed: seed &* 59 &+ 3)
        try fixture.expectSameWhenKilled(&generator)
    }

    @Test("The counts add up, and verify finds no difference", arguments: seeds)
    func counted(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed),
            case .success(let expected) = try fixture.comparison.reference()
        else { return }
        let migration = fixture.migration(Variant().options, to: "new.sqlite")
        let report = try migration.run()
        for (line, mapping) in zip(report.counts.mappings, fixture.mapping.entityMappings ?? []) {
            let own = expected.report.associations.filter { $0.mapping == line.name }
            #expect(line.migrated == own.count, "\(line.name)")
            guard mapping.grouping != nil else { continue }
            let objects = Set(own.map { "\($0.destinationEntity) \($0.destinationKey)" })
            #expect(line.shared ?? 0 == own.count - objects.count, "\(line.name)\n\(fixture.random)")
        }
        let found = try StoreVerification(migration).run()
        #expect(found.differences.isEmpty, "\(found.differences.prefix(5))\n\(fixture.random)")
    }
}
