import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Values of the source = values that something reads + values in the account.
@Suite("The account of what is left behind, on random models")
struct LeftBehindRandomTests {
    static let seeds = RandomSeeds.seeds(30)

    @Test("An inferred mapping over dropped, renamed and retyped properties", arguments: seeds)
    func inferred(seed: UInt64) throws {
        let migration = try RandomMigration.inferred(seed: seed)
        let destination = try Self.retyped(migration.destination, seed: seed)
        let mapping: MappingModel
        do {
            mapping = try MappingModel.inferred(from: migration.source, to: destination, unmappable: .leave)
        } catch { return }
        try compare(migration, destination, mapping)
    }

    @Test("An explicit mapping model", arguments: seeds)
    func explicit(seed: UInt64) throws {
        let migration = try RandomMigration.explicit(seed: seed)
        try compare(migration, migration.destination, try #require(migration.mapping))
    }

    /// The model with some attributes of another type, and some without the identifier that they are known by.
    private static func retyped(_ model: ManagedObjectModel, seed: UInt64) throws -> ManagedObjectModel {
        var generator = SeededGenerator(seed: seed &* 31)
        var definition = model.definition
        for entity in definition.entities.indices {
            if generator.chance(6) { definition.entities[entity].renamingIdentifier = nil }
            for position in definition.entities[entity].attributes.indices where generator.chance(4) {
                var attribute = definition.entities[entity].attributes[position]
                if generator.chance(2) {
                    attribute.renamingIdentifier = nil
                } else {
                    attribute.type = attribute.type == .string ? .integer64 : .string
                }
                attribute.isOptional = true
                attribute.defaultValue = nil
                attribute.allowsExternalBinaryDataStorage = false
                definition.entities[entity].attributes[position] = attribute
            }
        }
        return try ManagedObjectModel(definition)
    }

    /// The store without references to objects that do not exist: they are no links of any object, and no data to lose.
    private static func withoutStrayLinks(_ store: ReferenceStore) -> ReferenceStore {
        var store = store
        let schema = store.schema
        for entity in store.model.entities {
            for definition in entity.definition.relationships {
                guard let relationship = entity.relationship(named: definition.name) else { continue }
                let owners = store.tables[schema.tableIndex(of: relationship.entity)]
                switch schema.storage(of: relationship) {
                case .toManyHidden(let table, let column, _):
                    for (key, row) in store.tables[table] {
                        guard let owner = row.values[column].integer, owners[owner] == nil else { continue }
                        store.tables[table][key]?.values[column] = .null
                    }
                case .join(let table, let side):
                    store.joins[table] = store.joins[table].filter {
                        owners[side == 0 ? $0.key.first : $0.key.second] != nil
                    }
                case .toOne(let table, let column, _, _):
                    let members = store.tables[schema.tableIndex(of: relationship.destination)]
                    for (key, row) in store.tables[table] {
                        guard let member = row.values[column].integer, members[member] == nil else { continue }
                        store.tables[table][key]?.values[column] = .null
                    }
                case .none, .toManyByInverse: break
                }
            }
        }
        return store
    }

    private func compare(
        _ migration: RandomMigration, _ destination: ManagedObjectModel, _ mapping: MappingModel
    ) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        let store = Self.withoutStrayLinks(migration.store)
        try store.write(path: path)
        let expected = SourceReading(store, mapping, destination: destination).counts
        for (index, (reader, isStaged)) in [(StoreReader.pages, false), (.sqlite, false), (.pages, true)].enumerated() {
            var options = MigrationOptions()
            options.memoryRoom = 48 << 20
            options.onLoss = .allow
            options.reader = reader
            options.batchSize = [1000, 3, 7][index]
            options.passes = index == 2 ? 2 : nil
            options.usesStoreSpecificMigrationManager = !isStaged
            func run(_ name: String) -> Migration {
                Migration(
                    from: path, model: migration.source, mapping: mapping, to: folder.file(name), model: destination,
                    options: options)
            }
            let planned = try run("planned").plan().leftBehind
            let report: MigrationReport
            do { report = try run("out-\(index).sqlite").run() } catch let error as MigrationError {
                // Values that break a rule are another test's.
                try #require(error.category == .data, "\(error) \(migration)")
                Self.expect(planned, expected, "\(migration)")
                return
            }
            Self.expect(report.leftBehind, expected, "\(index) \(migration)")
            #expect(planned == report.leftBehind, "\(migration)")
            #expect(try run("checked").check().leftBehind == report.leftBehind, "\(migration)")
        }
    }

    private static func expect(_ left: LeftBehind?, _ expected: [String: Int], _ comment: Comment) {
        var counted: [String: Int] = [:]
        for line in left?.lines ?? [] {
            let count = (line.values ?? 0) + (line.links ?? 0)
            if count > 0 { counted[line.name, default: 0] += count }
        }
        // The values that are read and those in the account add up to all that the source has.
        #expect(counted == expected.filter { $0.key != "" && $0.value > 0 }, comment)
        // What a mapping model of one's own drops is in the account, and no part of the sums.
        let lost = (left?.lost ?? []).reduce(0) { $0 + ($1.values ?? 0) + ($1.links ?? 0) }
        let meant = (left?.meant ?? []).reduce(0) { $0 + ($1.values ?? 0) + ($1.links ?? 0) }
        #expect((left?.values ?? 0) + (left?.links ?? 0) == lost, comment)
        #expect(lost + meant == counted.values.reduce(0, +), comment)
    }
}
