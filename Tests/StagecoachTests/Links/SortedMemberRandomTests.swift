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

    /// A migration with orders, and its store in a folder.
    private struct Fixture {
        let random: RandomMigration
        let mapping: MappingModel
        let folder: TemporaryFolder
        let path: String

        init?(seed: UInt64) throws {
            random = try RandomMigration.explicit(seed: seed)
            guard let sorting = RandomSorting(of: random) else { return nil }
            mapping = sorting.mapping
            folder = try TemporaryFolder()
            path = folder.file("source.sqlite")
            try sorting.store.write(path: path)
        }

        var comparison: MigrationComparison {
            MigrationComparison(
                source: random.source, destination: random.destination, mapping: mapping, sourcePath: path,
                folder: folder)
        }

        func migration(_ options: MigrationOptions, to name: String) -> Migration {
            Migration(
                from: path, model: random.source, mapping: mapping, to: folder.file(name), model: random.destination,
                options: options)
        }

        /// The orders, for messages.
        var orders: String {
            (mapping.entityMappings ?? []).flatMap { entity in
                (entity.relationshipMappings ?? []).compactMap { property in
                    property.sorting.map {
                        "\(entity.name ?? "").\(property.name ?? "") = \(property.valueExpression?.format ?? "") by \($0.keyPath)"
                    }
                }
            }.joined(separator: "\n")
        }
    }

    @Test("Many random migrations have members to order")
    func frequent() throws {
        let sorted = try Self.seeds.count { try Fixture(seed: $0) != nil }
        #expect(sorted > Self.seeds.count / 4)
    }

    @Test("The reference's rows, keys and places, however it is cut", arguments: seeds)
    func cut(seed: UInt64) throws {
        guard let fixture = try Fixture(seed: seed) else { return }
        for variant in Self.variants {
            let keys: ReferenceKeys = variant.keys == .sequential ? .sequential : .auto
            let lines = try fixture.comparison.differences(variant, keys: keys)
            #expect(lines.isEmpty, "\(variant)\n\(lines.joined(separator: "\n"))\n\(fixture.orders)\n\(fixture.random)")
        }
    }

    @Test("Verify works out the same places", arguments: seeds)
    func verified(seed: UInt64) throws {
        guard let fixture = try Fixture(seed: seed), case .success = try fixture.comparison.reference() else { return }
        let migration = fixture.migration(Variant().options, to: "new.sqlite")
        _ = try migration.run()
        let found = try StoreVerification(migration).run()
        #expect(found.differences.isEmpty, "\(found.differences.prefix(5))\n\(fixture.orders)\n\(fixture.random)")
    }

    @Test("A killed run gives the same rows", arguments: seeds.prefix(6))
    func killed(seed: UInt64) throws {
        guard let fixture = try Fixture(seed: seed) else { return }
        var generator = SeededGenerator(seed: seed &* 67 &+ 5)
        guard case .success(let expected) = try fixture.comparison.reference() else { return }
        let run = try KilledRun(&generator, Variant(batchSize: 1).options) { fixture.migration($0, to: "new.sqlite") }
        let store = try ReferenceStore.read(path: fixture.folder.file("new.sqlite"), model: fixture.random.destination)
        let lines = store.differences(from: expected.store)
        #expect(lines.isEmpty, "\(run.attempts) attempts\n\(lines.joined(separator: "\n"))\n\(fixture.random)")
    }
}
