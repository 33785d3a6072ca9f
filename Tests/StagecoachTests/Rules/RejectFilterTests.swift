import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

/// A reject is a filter: a migration with rejects gives what the same migration gives whose filters leave the rejected source
/// objects out, numbers given in order apart. The second one is the reference's.
///
/// `STAGECOACH_SEED` and `STAGECOACH_RUNS` choose other cases and more of them.
@Suite("A reject is a filter")
struct RejectFilterTests {
    typealias Variant = MigrationComparison.Variant

    /// Relates by the default method, one object at a time.
    final class Relating: EntityMigrationPolicy {
        override func createRelationships(
            forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws { try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager) }
    }

    private final class ReferenceRelating: ReferencePolicy {}

    private static let variants = [
        Variant(), Variant(batchSize: 1, passes: 1), Variant(batchSize: 5, isStaged: true), Variant(writer: .sqlite),
    ]

    @Test("Random models and mappings", arguments: RandomSeeds.seeds(20), [false, true])
    func random(seed: UInt64, hasPolicies: Bool) throws {
        let migration = try RandomMigration.ruled(seed: seed, isExplicit: hasPolicies || seed % 2 == 0)
        let mapping = try migration.mapping ?? migration.inferredMapping()
        if hasPolicies {
            for entity in mapping.entityMappings
            where entity.sourceEntityName != nil && entity.destinationEntityName != nil {
                entity.entityMigrationPolicyClassName = "Relating"
            }
        }
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try migration.store.write(path: source)
        var generator = SeededGenerator(seed: seed &* 61 &+ 5)
        for variant in Self.variants {
            let path = folder.file("new-\(UUID().uuidString).sqlite")
            var options = variant.options
            options.onInvalid = .reject
            options.rejectFile = path + ".rejects"
            func make(_ options: MigrationOptions) -> Migration {
                let manager = MigrationManager(
                    sourceModel: migration.source, destinationModel: migration.destination)
                manager.policies = PolicyRegistry()
                manager.policies.register("Relating") { Relating() }
                return Migration(
                    from: source, model: migration.source, mappings: [mapping], to: path,
                    model: migration.destination, options: options, manager: manager)
            }
            let done = Result {
                if generator.chance(2) { _ = try KilledRun(&generator, options, make) } else { try make(options).run() }
            }
            // Objects that cannot be rejected end a run; other tests compare that.
            guard case .success = done else { continue }
            let lines = try RejectLine.read(path + ".rejects")
            let rejected = Set(lines.map { "\($0.mapping ?? "") \($0.sourceID ?? "")" })
            let found = try Self.differences(path, migration, mapping, source: source, leaving: rejected)
            #expect(found.isEmpty, "\(variant)\n\(found.prefix(12).joined(separator: "\n"))\n\(migration)")
            guard found.isEmpty else { return }
        }
    }

    /// Returns the differences of a store from the one that filters give which leave source objects out.
    private static func differences(
        _ path: String, _ migration: RandomMigration, _ mapping: MappingModel, source: String, leaving: Set<String>
    ) throws -> [String] {
        let store = try ReferenceStore.read(path: source, model: migration.source)
        let migrator = ReferenceMigrator(
            source: store, destinationModel: migration.destination, mappingModel: mapping,
            policies: ["Relating": { ReferenceRelating() }])
        migrator.leavesOut = { leaving.contains("\($0) \($1.entity.definition.name)/p\($1.key)") }
        let filtered = migrator.migrate()
        guard case .success(let expected) = filtered else { return ["the filtered migration fails: \(filtered)"] }
        return Numbered(try ReferenceStore.read(path: path, model: migration.destination)).store
            .differences(from: Numbered(expected.store).store)
    }
}

/// A store whose numbers given in order are counted from one, without gaps.
private struct Numbered {
    private(set) var store: ReferenceStore
    private let numbers: [[Int64: Int64]]

    init(_ original: ReferenceStore) {
        store = original
        numbers = original.tables.map { rows in
            Dictionary(uniqueKeysWithValues: rows.keys.sorted().enumerated().map { ($1, Int64($0) + 1) })
        }
        let schema = original.schema
        for number in store.primaryKey.keys { store.primaryKey[number]?.maximum = 0 }
        for (table, rows) in original.tables.enumerated() {
            store.tables[table] = [:]
            for (key, row) in rows {
                var row = row
                row.values[EntityTable.lockColumn] = .integer(1)
                store.tables[table][numbers[table][key] ?? key] = row
            }
        }
        for entity in schema.model.entities {
            for relationship in entity.relationships where relationship.entity == entity {
                switch schema.storage(of: relationship) {
                case .toOne(let table, let column, _, let order):
                    renumber(table, column, order, to: schema.tableIndex(of: relationship.destination))
                case .toManyHidden(let table, let column, let order):
                    renumber(table, column, order, to: schema.tableIndex(of: entity))
                // A relationship that is its own inverse may be stored as the second side alone.
                case .join(let join, let side) where side == 0 || relationship.inverseRelationship == relationship:
                    let ends = (schema.tableIndex(of: entity), schema.tableIndex(of: relationship.destination))
                    renumber(join, ends)
                case .none, .toManyByInverse, .join: break
                }
            }
        }
    }

    private mutating func renumber(_ table: Int, _ column: Int, _ order: Int?, to target: Int) {
        var places: [Int64: [(place: Int64, key: Int64)]] = [:]
        for (key, row) in store.tables[table] {
            guard let owner = row.values[column].integer else { continue }
            store.tables[table][key]?.values[column] = .integer(numbers[target][owner] ?? -owner)
            guard let order, let place = row.values[order].integer else { continue }
            places[owner, default: []].append((place, key))
        }
        guard let order else { return }
        for members in places.values {
            for (rank, member) in members.sorted(by: { ($0.place, $0.key) < ($1.place, $1.key) }).enumerated() {
                store.tables[table][member.key]?.values[order] = .integer(Int64(rank))
            }
        }
    }

    private mutating func renumber(_ join: Int, _ ends: (Int, Int)) {
        let links = store.joins[join].map { pair, orders in
            (
                first: numbers[ends.0][pair.first] ?? -pair.first,
                second: numbers[ends.1][pair.second] ?? -pair.second, orders: orders
            )
        }
        func rank(_ place: Int64?, among places: [Int64?]) -> Int64? {
            place.flatMap { place in Int64(places.compactMap { $0 }.count { $0 < place }) }
        }
        store.joins[join] = [:]
        for link in links {
            // The order column of a side is the place among the members of the other side's object.
            store.joins[join][ReferencePair(link.first, link.second)] = ReferenceOrders(
                first: rank(link.orders.first, among: links.filter { $0.second == link.second }.map(\.orders.first)),
                second: rank(link.orders.second, among: links.filter { $0.first == link.first }.map(\.orders.second)))
        }
    }
}
