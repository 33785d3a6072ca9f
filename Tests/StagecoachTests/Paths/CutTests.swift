import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Every way of cutting into passes, at every batch size, memory limit and choice of keys, by rows and by stages with
/// barriers, gives the reference's destination, row by row and key by key.
@Suite("Cuts against the reference")
struct CutTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(2)

    @Test("An inferred migration, cut in every way", arguments: seeds)
    func inferred(seed: UInt64) throws {
        let migration = try RandomMigration.inferred(seed: seed)
        let mapping = try migration.inferredMapping()
        #expect(try differences(migration, mapping) == [])
    }

    @Test("An explicit mapping model, cut in every way", arguments: seeds)
    func explicit(seed: UInt64) throws {
        let migration = try RandomMigration.explicit(seed: seed)
        let mapping = try #require(migration.mapping)
        #expect(try differences(migration, mapping) == [])
    }

    /// Numbers of passes, from one to more than there are rows, and entity mappings put into passes at random.
    private func cuts(_ mapping: MappingModel, _ generator: inout SeededGenerator) -> [Variant] {
        var cuts = [1, 2, 3, 5, 8, 40].map { Variant(passes: $0) }
        for count in [2, 4] {
            var passes = [[String]](repeating: [], count: count)
            for name in mapping.entityMappings.compactMap(\.name) {
                // One place more than passes: some mappings are not named.
                let place = generator.below(count + 1)
                if place < count { passes[place].append(name) }
            }
            cuts.append(Variant(passNames: passes))
        }
        cuts.append(Variant(passes: 6, isPlanned: true))
        var named = cuts[6]
        named.isPlanned = true
        return cuts + [named]
    }

    /// The differences of the first variant that has any, with all that it takes to repeat it.
    private func differences(_ migration: RandomMigration, _ mapping: MappingModel) throws -> [String] {
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try migration.store.write(path: path)
        let comparison = MigrationComparison(
            source: migration.source, destination: migration.destination, mapping: mapping, sourcePath: path,
            folder: folder)
        var generator = SeededGenerator(seed: migration.seed &* 7 &+ 5)
        let cuts = cuts(mapping, &generator)
        for keys in [KeyChoice.auto, .sequential] {
            let reference = try comparison.reference(keys == .auto ? .auto : .sequential)
            for cut in cuts {
                for batchSize in [1, 7, 1000] {
                    for (room, isStaged) in [(20, false), (20, true), (64, false), (64, true)] {
                        var variant = cut
                        variant.batchSize = batchSize
                        variant.room = room
                        variant.isStaged = isStaged
                        variant.keys = keys
                        let lines = try comparison.differences(variant, from: reference)
                        guard lines.isEmpty else { return ["\(variant)"] + lines.prefix(12) + ["\(migration)"] }
                    }
                }
            }
        }
        return []
    }
}
