import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Random migrations against the reference")
struct RandomMigrationTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds: [UInt64] = (0..<seedCount).map { firstSeed &+ UInt64($0) }
    /// `STAGECOACH_SEED` repeats a run, `STAGECOACH_RUNS` sets how many seeds are tried.
    static let firstSeed: UInt64 =
        ProcessInfo.processInfo.environment["STAGECOACH_SEED"].flatMap(UInt64.init)
        ?? UInt64.random(in: 0..<1_000_000_000)
    static let seedCount: Int = ProcessInfo.processInfo.environment["STAGECOACH_RUNS"].flatMap(Int.init) ?? 40

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
        let migration = try RandomMigration.inferred(seed: seed)
        let mapping = try MappingModel.inferred(from: migration.source, to: migration.destination)
        try compare(migration, mapping)
    }

    @Test("An explicit mapping model gives the reference's rows and keys, however it is cut", arguments: seeds)
    func explicit(seed: UInt64) throws {
        let migration = try RandomMigration.explicit(seed: seed)
        let mapping = try #require(migration.mapping)
        try compare(migration, mapping)
    }

    private func compare(_ migration: RandomMigration, _ mapping: MappingModel) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try migration.store.write(path: path)
        let comparison = MigrationComparison(
            source: migration.source, destination: migration.destination, mapping: mapping, sourcePath: path,
            folder: folder)
        for variant in Self.variants {
            let lines = try comparison.differences(variant)
            #expect(lines.isEmpty, "\(variant)\n\(lines.prefix(12).joined(separator: "\n"))\n\(migration)")
            guard lines.isEmpty else { return }
        }
        let sequential = try comparison.differences(Variant(keys: .sequential), keys: .sequential)
        #expect(sequential.isEmpty, "sequential\n\(sequential.prefix(12).joined(separator: "\n"))\n\(migration)")
    }
}
