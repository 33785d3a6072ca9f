import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Objects that are made for each member of a relationship, against the reference.
@Suite("An object for each member: random migrations against the reference")
struct ForEachRandomTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(24)

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1), Variant(batchSize: 7, passes: 2, room: 20),
        Variant(writer: .sqlite),
    ]

    private static func migration(seed: UInt64) throws -> ComparedMigration? {
        let random = try RandomMigration.explicit(seed: seed)
        guard let made = RandomForEach(of: random) else { return nil }
        return try ComparedMigration(random, mapping: made.mapping, store: random.store)
    }

    @Test("Most random migrations have a to-many relationship, and there are expressions of each kind")
    func frequent() throws {
        let made = try Self.seeds.compactMap { try Self.migration(seed: $0) }
        #expect(made.count > Self.seeds.count / 2)
        let texts = made.flatMap { $0.mapping.entityMappings ?? [] }.flatMap(\.propertyMappings)
            .compactMap(\.valueExpression?.format)
        for part in ["$index", "$member.", ", $member)", "'objectsOfEntityMapping:member:'"] {
            #expect(texts.contains { $0.contains(part) }, "\(part)")
        }
    }

    @Test("The reference's rows and keys, however it is cut", arguments: seeds)
    func cut(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed) else { return }
        for variant in Self.variants {
            let lines = try fixture.comparison.differences(variant)
            #expect(lines.isEmpty, "\(variant)\n\(lines.joined(separator: "\n"))\n\(fixture.random)")
        }
    }

    @Test("A killed run gives the same rows", arguments: seeds.prefix(8))
    func killed(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed) else { return }
        var generator = SeededGenerator(seed: seed &* 67 &+ 5)
        try fixture.expectSameWhenKilled(&generator)
    }

    @Test("Each source object is counted once, and verify finds no difference", arguments: seeds)
    func counted(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed), case .success = try fixture.comparison.reference() else {
            return
        }
        let migration = fixture.migration(Variant().options, to: "new.sqlite")
        let report = try migration.run()
        for (line, mapping) in zip(report.counts.mappings, fixture.mapping.entityMappings ?? [])
        where mapping.forEach != nil {
            #expect(line.migrated + line.filtered == line.sourceObjects, "\(line)\n\(fixture.random)")
            #expect(line.created >= line.migrated, "\(line)\n\(fixture.random)")
        }
        let found = try StoreVerification(migration).run()
        #expect(found.differences.isEmpty, "\(found.differences.prefix(5))\n\(fixture.random)")
    }
}
