import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

@Suite("The reference on random stores and mappings")
struct ReferenceRandomTests {
    @Test("A random store survives writing and reading, and SQLite finds it sound")
    func roundTrip() throws {
        for seed in UInt64(0)..<60 {
            let migration = try RandomMigration.inferred(seed: seed)
            let folder = try TemporaryFolder()
            let path = folder.file("store.sqlite")
            try migration.store.write(path: path)
            let read = try ReferenceStore.read(path: path, model: migration.source)
            #expect(read.differences(from: migration.store) == [], "seed \(seed)")
            #expect(read.uuid == migration.store.uuid)
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
            let check = try connection.prepare("PRAGMA integrity_check")
            #expect(try check.step())
            #expect(check.text(0) == "ok", "seed \(seed)")
        }
    }

    @Test("The same seed gives the same migration")
    func repeatable() throws {
        for seed in UInt64(0)..<20 {
            let first = try RandomMigration.explicit(seed: seed)
            let second = try RandomMigration.explicit(seed: seed)
            #expect(first.description == second.description, "seed \(seed)")
            #expect(first.store.differences(from: second.store) == [], "seed \(seed)")
        }
    }

    @Test("Random explicit mappings run, account for every source object and give a store that can be written")
    func explicitMappings() throws {
        var rows = 0
        for seed in UInt64(0)..<200 {
            let migration = try RandomMigration.explicit(seed: seed)
            let mapping = try #require(migration.mapping)
            let migrator = ReferenceMigrator(
                source: migration.store, destinationModel: migration.destination, mappingModel: mapping)
            let outcome = try #require(
                try? migrator.migrate().get(), "seed \(seed): \(migrator.migrate())\n\(migration)")
            rows += outcome.store.rowCount
            try check(outcome, of: migration, mapping)
        }
        #expect(rows > 1000)
    }

    @Test("Inferred mappings of random pairs run, and keep keys and locks if one table becomes one")
    func inferredMappings() throws {
        var rows = 0
        for seed in UInt64(0)..<200 {
            let migration = try RandomMigration.inferred(seed: seed)
            let mapping = try migration.inferredMapping()
            let migrator = ReferenceMigrator(
                source: migration.store, destinationModel: migration.destination, mappingModel: mapping)
            let outcome: ReferenceOutcome
            switch migrator.migrate() {
            case .success(let value): outcome = value
            case .failure(let failure):
                Issue.record("seed \(seed): \(failure)\n\(migration)")
                continue
            }
            rows += outcome.store.rowCount
            #expect(outcome.report.keysKept.values.allSatisfy { $0 }, "seed \(seed)")
            #expect(outcome.report.associations.allSatisfy { $0.sourceKey == $0.destinationKey }, "seed \(seed)")
            try check(outcome, of: migration, mapping)
        }
        #expect(rows > 1000)
    }

    @Test("Migrating to the same model changes nothing but dangling references")
    func identity() throws {
        for seed in UInt64(0)..<100 {
            let migration = try RandomMigration.inferred(seed: seed)
            let mapping = try MappingModel.inferred(from: migration.source, to: migration.source)
            let migrator = ReferenceMigrator(
                source: migration.store, destinationModel: migration.source, mappingModel: mapping)
            let outcome = try migrator.migrate().get()
            let differences = outcome.store.differences(from: migration.store)
            if outcome.report.danglingReferences == 0, !hasLooseRows(migration.store) {
                #expect(differences == [], "seed \(seed)\n\(migration)")
            }
        }
    }

    /// Tells whether hidden columns or join rows name rows that do not exist. No mapping reads those references.
    private func hasLooseRows(_ store: ReferenceStore) -> Bool {
        store.tables.contains { $0.values.contains { $0.values.contains(.integer(100_000)) } }
            || store.joins.contains { $0.keys.contains { $0.first == 100_000 || $0.second == 100_000 } }
    }

    private func check(_ outcome: ReferenceOutcome, of migration: RandomMigration, _ mapping: MappingModel) throws {
        for entityMapping in mapping.entityMappings where entityMapping.destinationEntityName != nil {
            guard let name = entityMapping.sourceEntityName else { continue }
            let entity = try #require(migration.source.entity(named: name))
            let count = migration.store.tables.joined().filter { migration.store.entity(of: $0.value) == entity }.count
            let migrated = outcome.report.migrated[entityMapping.name] ?? 0
            let filtered = outcome.report.filtered[entityMapping.name] ?? 0
            #expect(migrated + filtered == count, "seed \(migration.seed)")
        }
        #expect(outcome.report.associations.count == outcome.store.rowCount, "seed \(migration.seed)")
        let folder = try TemporaryFolder()
        let path = folder.file("destination.sqlite")
        try outcome.store.write(path: path)
        let read = try ReferenceStore.read(path: path, model: migration.destination)
        #expect(read.differences(from: outcome.store) == [], "seed \(migration.seed)")
    }
}
