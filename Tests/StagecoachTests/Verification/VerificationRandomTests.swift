import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Verification finds migrated stores equal: random ones, by one mapping model and several, with rejects, and real stores.
@Suite("Verification of correct migrations finds no difference")
struct VerificationRandomTests {
    /// Cases of several mapping models that were called different: a link gave way to one between objects of one source object,
    /// which gave way itself; and a new member's place came after that of a member which went to another owner.
    static let known: [UInt64] = [660_000_043, 660_000_158]

    static let seeds = RandomSeeds.seeds(25) + known

    /// Migrates and verifies.
    ///
    /// - Returns: the differences; empty if the migration is refused.
    private static func differences(_ migration: Migration) throws -> [String] {
        do { try migration.run() } catch let error as MigrationError where error.category != .internal { return [] }
        let report = try StoreVerification(migration).run()
        return report.differences.prefix(5).map { "\($0)" }
    }

    private static func options(_ keys: KeyChoice = .auto) -> MigrationOptions {
        var options = MigrationOptions()
        options.memoryRoom = 64 << 20
        options.keys = keys
        return options
    }

    @Test("Inferred and explicit mapping models", arguments: seeds)
    func single(seed: UInt64) throws {
        for isExplicit in [false, true] {
            let random = try isExplicit ? RandomMigration.explicit(seed: seed) : RandomMigration.inferred(seed: seed)
            let mapping = try random.mapping ?? random.inferredMapping()
            let folder = try TemporaryFolder()
            let path = folder.file("source.sqlite")
            try random.store.write(path: path)
            for keys in [KeyChoice.auto, .sequential] {
                let lines = try Self.differences(
                    Migration(
                        from: path, model: random.source, mapping: mapping, to: folder.file("\(keys.rawValue).sqlite"),
                        model: random.destination, options: Self.options(keys)))
                #expect(lines == [], "explicit \(isExplicit), keys \(keys.rawValue)\n\(random)")
            }
        }
    }

    @Test("Several mapping models in turn", arguments: seeds)
    func several(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed)
        let folder = try TemporaryFolder()
        let lines = try Self.differences(
            Migration(
                from: fixture.path, model: fixture.migration.source, mappings: fixture.models,
                to: folder.file("new.sqlite"),
                model: fixture.migration.destination, options: Self.options()))
        #expect(lines == [], "\(fixture.migration)")
    }

    @Test("Rejected objects that a reject file lists", arguments: seeds)
    func rejects(seed: UInt64) throws {
        let random = try RandomMigration.ruled(seed: seed, isExplicit: true)
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try random.store.write(path: path)
        var options = Self.options()
        options.onInvalid = .reject
        options.rejectFile = folder.file("rejects.jsonl")
        let lines = try Self.differences(
            Migration(
                from: path, model: random.source, mapping: try #require(random.mapping),
                to: folder.file("new.sqlite"), model: random.destination, options: options))
        #expect(lines == [], "\(random)")
    }
}
