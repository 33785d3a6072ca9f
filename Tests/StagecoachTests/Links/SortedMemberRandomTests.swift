import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Members ordered by an attribute, against the reference.
@Suite("Members ordered by an attribute: random migrations against the reference")
struct SortedMemberRandomTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(24)

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1), Variant(batchSize: 7, passes: 2, room: 20),
        Variant(batchSize: 3, isStaged: true), Variant(keys: .sequential), Variant(writer: .sqlite),
    ]

    /// Returns a migration with orders; nil if the random one has nothing to order.
    private static func migration(seed: UInt64) throws -> ComparedMigration? {
        let random = try RandomMigration.explicit(seed: seed)
        guard let sorting = RandomSorting(of: random) else { return nil }
        return try ComparedMigration(random, mapping: sorting.mapping, store: sorting.store)
    }

    /// Returns the orders of a migration, for messages.
    private static func orders(of migration: ComparedMigration) -> String {
        (migration.mapping.entityMappings ?? []).flatMap { entity in
            (entity.relationshipMappings ?? []).compactMap { property in
                property.sorting.map {
                    "\(entity.name ?? "").\(property.name ?? "") = \(property.valueExpression?.format ?? "") by \($0.keyPath)"
                }
            }
        }.joined(separator: "\n")
    }

    @Test("Many random migrations have members to order")
    func frequent() throws {
        let sorted = try Self.seeds.count { try Self.migration(seed: $0) != nil }
        #expect(sorted > Self.seeds.count / 4)
    }

    @Test("The reference's rows, keys and places, however it is cut", arguments: seeds)
    func cut(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed) else { return }
        for variant in Self.variants {
            let keys: ReferenceKeys = variant.keys == .sequential ? .sequential : .auto
            let lines = try fixture.comparison.differences(variant, keys: keys)
            #expect(
                lines.isEmpty,
                "\(variant)\n\(lines.joined(separator: "\n"))\n\(Self.orders(of: fixture))\n\(fixture.random)")
        }
    }

    @Test("Verify works out the same places", arguments: seeds)
    func verified(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed), case .success = try fixture.comparison.reference() else {
            return
        }
        let migration = fixture.migration(Variant().options, to: "new.sqlite")
        _ = try migration.run()
        let found = try StoreVerification(migration).run()
        #expect(
            found.differences.isEmpty, "\(found.differences.prefix(5))\n\(Self.orders(of: fixture))\n\(fixture.random)")
    }

    @Test("A killed run gives the same rows", arguments: seeds.prefix(6))
    func killed(seed: UInt64) throws {
        guard let fixture = try Self.migration(seed: seed) else { return }
        var generator = SeededGenerator(seed: seed &* 67 &+ 5)
        try fixture.expectSameWhenKilled(&generator)
    }
}
