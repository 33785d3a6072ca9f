import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Source objects that become rows of the store that is appended to, against the reference.
@Suite("Rows that are matched by keys: random appends against the reference")
struct MatchingRandomTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(32)

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1), Variant(batchSize: 7, passes: 2, room: 20),
    ]

    @Test("The reference's rows and keys, and the destination of before where it cannot be done", arguments: seeds)
    func appended(seed: UInt64) throws {
        guard let fixture = try MatchedAppend(seed: seed) else { return }
        for variant in Self.variants {
            let lines = try fixture.differences(variant)
            #expect(lines.isEmpty, "\(variant)\n\(lines.joined(separator: "\n"))\n\(fixture)")
        }
    }

    /// Of two owners of a member without an inverse one is a row that was there, and the last by source object.
    @Test("Seeds that failed once", arguments: [20_261_478] as [UInt64])
    func failedOnce(seed: UInt64) throws { try appended(seed: seed) }

    @Test("Most random migrations match some rows")
    func frequent() throws {
        var matched = 0
        for seed in Self.seeds {
            guard let fixture = try MatchedAppend(seed: seed), let report = try fixture.report() else { continue }
            if report.counts.mappings.contains(where: { $0.matched != nil }) { matched += 1 }
        }
        #expect(matched > Self.seeds.count / 4)
    }

    @Test("A killed run gives the same rows", arguments: seeds.prefix(8))
    func killed(seed: UInt64) throws {
        guard let fixture = try MatchedAppend(seed: seed), try fixture.report() != nil else { return }
        var generator = SeededGenerator(seed: seed &* 61 &+ 5)
        let lines = try fixture.differencesWhenKilled(&generator)
        #expect(lines.isEmpty, "\(lines.joined(separator: "\n"))\n\(fixture)")
    }

    @Test("The counts add up, and verify finds no difference", arguments: seeds)
    func counted(seed: UInt64) throws {
        guard let fixture = try MatchedAppend(seed: seed), let report = try fixture.report() else { return }
        for line in report.counts.mappings {
            #expect(line.migrated == line.created + (line.matched?.objects ?? 0), "\(line)\n\(fixture)")
        }
        let found = try StoreVerification(fixture.migration(Variant(), to: "counted.sqlite")).run()
        #expect(found.differences.isEmpty, "\(found.differences.prefix(5))\n\(fixture)")
    }
}

/// A store with objects, and another one whose objects become some of them.
private struct MatchedAppend: CustomStringConvertible {
    let random: RandomMigration
    let mapping: MappingModel
    private let folder: TemporaryFolder
    private let base: String
    private let source: String

    /// Returns nil if there is nothing to match, or if the first store cannot be made.
    init?(seed: UInt64) throws {
        random = try seed.isMultiple(of: 3) ? .explicit(seed: seed) : .inferred(seed: seed)
        guard let model = try (random.mapping ?? random.inferredMapping()).copy() as? MappingModel else { return nil }
        var generator = SeededGenerator(seed: seed &* 67 &+ 29)
        var keys: [Key] = []
        for mapping in model.entityMappings ?? [] where keys.isEmpty || generator.chance(2) {
            guard let found = Self.keys(of: mapping, random).randomElement(using: &generator) else { continue }
            mapping.matching = ObjectMatching(keys: [MatchKey(found.destination.name)])
            keys.append(found)
        }
        guard !keys.isEmpty else { return nil }
        mapping = model
        folder = try TemporaryFolder()
        (base, source) = (folder.file("base.sqlite"), folder.file("second.sqlite"))
        let first = folder.file("first.sqlite")
        try random.store.write(path: first)
        try random.otherStore().write(path: source)
        let plain = try #require(try (random.mapping ?? random.inferredMapping()).copy() as? MappingModel)
        do {
            try Migration(
                from: first, model: random.source, mapping: plain, to: base, model: random.destination,
                options: Variant().options
            ).run()
        } catch is MigrationError { return nil }
        for key in keys {
            // Each row has a value of its own, and half of the source's rows have one of these.
            let isText = key.destination.attributeType == .string
            // Keys are sparse, and the ranks of both stores overlap.
            func rank(_ table: String) -> String {
                "(SELECT count(*) FROM \(table) AS other WHERE other.Z_PK < \(table).Z_PK)"
            }
            try Self.execute(base, random.destination, key.to, key.destination) {
                isText ? "UPDATE \($0) SET \($1) = 'k' || \(rank($0))" : "UPDATE \($0) SET \($1) = \(rank($0))"
            }
            let shift = Int64(generator.below(4))
            try Self.execute(source, random.source, key.from, key.source) {
                "UPDATE \($0) SET \($1) = CASE Z_PK % 4 WHEN 0 THEN NULL "
                    + (isText
                        ? "WHEN 1 THEN 'n' || Z_PK ELSE 'k' || (\(rank($0)) + \(shift)) END"
                        : "WHEN 1 THEN \(rank($0)) + 9000 ELSE \(rank($0)) + \(shift) END")
            }
        }
    }

    private typealias Variant = MatchingRandomTests.Variant

    /// A text or number that a mapping copies, with the entities that have it.
    private struct Key {
        let from: EntityDescription
        let source: AttributeDescription
        let to: EntityDescription
        let destination: AttributeDescription
    }

    /// Returns the texts and numbers that a mapping copies.
    private static func keys(
        of mapping: EntityMapping, _ random: RandomMigration
    ) -> [Key] {
        guard !mapping.hasPolicy, let from = mapping.sourceEntityName.flatMap(random.source.entity(named:)),
            let to = mapping.destinationEntityName.flatMap(random.destination.entity(named:))
        else { return [] }
        return (mapping.attributeMappings ?? []).compactMap { property in
            guard case .keyPath(.variable("source"), let path)? = property.valueExpression?.node, path.count == 1,
                let old = from.attribute(named: path[0]), let new = to.attribute(named: property.name ?? ""),
                old.attributeType == new.attributeType, [old, new].allSatisfy({ $0.isStored && !$0.isDerived }),
                [.string, .integer16, .integer32, .integer64, .double].contains(new.attributeType)
            else { return nil }
            return Key(from: from, source: old, to: to, destination: new)
        }
    }

    private static func execute(
        _ path: String, _ model: ManagedObjectModel, _ entity: EntityDescription, _ attribute: AttributeDescription,
        _ sql: (String, String) -> String
    ) throws {
        let schema = StoreSchema(model: model)
        let column = try #require(schema.column(of: attribute))
        let table = schema.tables[schema.tableIndex(of: entity)]
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        let entities = entity.withDescendants.map { String(schema.number(of: $0)) }.joined(separator: ", ")
        try connection.execute(
            sql(table.name, table.columns[column].name) + " WHERE Z_ENT IN (\(entities))")
        try connection.close()
    }

    /// Returns the migration to a copy of the first destination, which is made if there is none.
    func migration(_ variant: MigrationComparison.Variant, to name: String) throws -> Migration {
        let path = folder.file(name)
        if !FileManager.default.fileExists(atPath: path) {
            try FileManager.default.copyItem(atPath: base, toPath: path)
        }
        var options = variant.options
        options.appendsToExisting = true
        return Migration(
            from: source, model: random.source, mapping: mapping, to: path, model: random.destination, options: options)
    }

    /// Returns the report of the migration; nil if it is refused.
    func report() throws -> MigrationReport? {
        do { return try migration(Variant(), to: "counted.sqlite").run() } catch is MigrationError { return nil }
    }

    private func reference() throws -> Result<ReferenceOutcome, ReferenceFailure> {
        ReferenceMigrator(
            source: try ReferenceStore.read(path: source, model: random.source),
            destinationModel: random.destination, mappingModel: mapping,
            destination: try ReferenceStore.read(path: base, model: random.destination)
        ).migrate()
    }

    private func read(_ name: String) throws -> ReferenceStore {
        try ReferenceStore.read(path: folder.file(name), model: random.destination)
    }

    func differences(_ variant: MigrationComparison.Variant) throws -> [String] {
        let name = "new-\(variant.batchSize ?? 0).sqlite"
        let expected = try reference()
        do {
            _ = try migration(variant, to: name).run()
        } catch let error as MigrationError where error.code == "plan.match" {
            return []
        } catch let error as MigrationError {
            guard case .failure = expected else { return ["refused: \(error)"] }
            let now = try read(name)
            return now.differences(from: try read("base.sqlite"))
        }
        guard case .success(let outcome) = expected else { return ["the reference fails: \(expected)"] }
        return Array(try read(name).differences(from: outcome.store).prefix(12))
    }

    func differencesWhenKilled(_ generator: inout SeededGenerator) throws -> [String] {
        guard case .success(let outcome) = try reference() else { return [] }
        var options = Variant(batchSize: 1).options
        options.appendsToExisting = true
        _ = try migration(Variant(), to: "killed.sqlite")
        let run = try KilledRun(&generator, options) { options in
            Migration(
                from: source, model: random.source, mapping: mapping, to: folder.file("killed.sqlite"),
                model: random.destination, options: options)
        }
        let lines = try read("killed.sqlite").differences(from: outcome.store).prefix(12)
        return lines.isEmpty ? [] : ["\(run.attempts) attempts"] + lines
    }

    var description: String { ((try? mapping.json()) ?? "no JSON") + "\n\(random)" }
}
