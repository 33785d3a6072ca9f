import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Random migrations against the reference")
struct RandomMigrationTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(24)

    static let variants: [Variant] = [
        Variant(),
        Variant(batchSize: 1, passes: 1),
        Variant(batchSize: 7, passes: 2, room: 20),
        Variant(batchSize: 1000, passes: 3),
        Variant(batchSize: 3, isStaged: true),
        Variant(passes: 2, isStaged: true),
        Variant(batchSize: 7, writer: .sqlite),
        Variant(isStaged: true, writer: .sqlite),
    ]

    @Test("An inferred migration gives the reference's rows and keys, however it is cut", arguments: seeds)
    func inferred(seed: UInt64) throws {
        expectNone(try inferredDifferences(seed))
    }

    @Test("An explicit mapping model gives the reference's rows and keys, however it is cut", arguments: seeds)
    func explicit(seed: UInt64) throws {
        expectNone(try explicitDifferences(seed))
    }

    @Test("Seeds that failed once", arguments: [232, 5001, 77_108, 370_080_851, 594_458_835, 99_300_781] as [UInt64])
    func known(seed: UInt64) throws {
        expectNone(try inferredDifferences(seed))
        expectNone(try explicitDifferences(seed))
    }

    private func expectNone(_ lines: [String]) { #expect(lines.isEmpty, "\(lines.joined(separator: "\n"))") }

    private func inferredDifferences(_ seed: UInt64) throws -> [String] {
        let migration = try RandomMigration.inferred(seed: seed)
        return try differences(
            migration, try migration.inferredMapping())
    }

    private func explicitDifferences(_ seed: UInt64) throws -> [String] {
        let migration = try RandomMigration.explicit(seed: seed)
        return try differences(migration, try #require(migration.mapping))
    }

    /// The differences of the first variant that has any, with all that it takes to repeat it.
    private func differences(_ migration: RandomMigration, _ mapping: MappingModel) throws -> [String] {
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try migration.store.write(path: path)
        let comparison = MigrationComparison(
            source: migration.source, destination: migration.destination, mapping: mapping, sourcePath: path,
            folder: folder)
        for variant in Self.variants {
            let lines = try comparison.differences(variant)
            guard lines.isEmpty else { return ["\(variant)"] + lines.prefix(12) + ["\(migration)"] }
        }
        let sequential = try comparison.differences(Variant(keys: .sequential), keys: .sequential)
        return sequential.isEmpty ? [] : ["sequential"] + sequential.prefix(12) + ["\(migration)"]
    }
}
