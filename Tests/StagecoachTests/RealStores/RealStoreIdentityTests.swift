import CoreDataStore
import Foundation
import ManagedModel
import TestSupport
import Testing

/// Every real store to the version that it is: the destination is the store again.
@Suite("Real stores to their own version", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealStoreIdentityTests {
    /// Stores of frameworks 241 and 419 without a cached model. Their models exist only in binary forms that are not read.
    static let withoutModel: Set = ["Recipes.sqlite", "RKSeedDatabase.sqlite"]

    /// Stores in which something is put right: a Z_ENT and Z_MAX of early frameworks, references to rows that are not
    /// there, the stale name of an entity that was renamed in place.
    static let putRight: Set = [
        "ArtsyPartner_1.3.sqlite", "ArtsyPartner_1.4.sqlite", "SampleModel_V2.sqlite", "store1-27.wiredatabase",
    ]

    /// Those of them whose objects have another entity's number, or keys above Z_MAX.
    static let corrected: Set = ["ArtsyPartner_1.3.sqlite", "ArtsyPartner_1.4.sqlite"]

    static let projects = [
        "artsy-energy", "beam", "bnr-coredatastack", "coredataplus", "cyface", "ddg-bookmarks", "jeffreybergier",
        "magicalrecord-recipes", "objcio-moody", "restkit", "wibosco-revised", "wire",
    ]

    @Test("Rows, keys and schema are those of the store", arguments: projects)
    func identity(project: String) throws {
        let bundles = SharedStores.paths(in: project, withExtensions: ["xcdatamodeld"]).map(\.lastPathComponent)
        let families = try bundles.map { try RealFamily.load("\(project)/models/\($0)") }
        var tally = RealStoreTally()
        var count = 0
        for url in RealFamily.stores(of: project) {
            guard let store = try RealFamily.read(url, versions: families.flatMap(\.versions), isOfFamily: false) else {
                #expect(Self.withoutModel.contains(url.lastPathComponent), "no model for \(url.lastPathComponent)")
                continue
            }
            count += 1
            let folder = try TemporaryFolder()
            let place = folder.url.appendingPathComponent("source")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let migration = RealStoreMigration(
                sourcePath: try RealStoreTests.copy(url, into: place), source: store.model,
                destinationPath: folder.file("destination.sqlite"), destination: store.model, real: store,
                // The store itself is compared here.
                usesReference: false)
            guard case .migrated(let report, _) = try tally.add(store.name, migration) else {
                Issue.record("\(store.name) does not migrate to itself")
                continue
            }
            let found = try ReferenceStore.read(path: migration.destinationPath, model: store.model)
            let source = try ReferenceStore.read(path: migration.sourcePath, model: store.model)
            let expected = Self.mended(source)
            #expect(found.differences(from: expected) == [], "\(store.name)")
            #expect(expected.differences(from: source).isEmpty != Self.putRight.contains(store.name), "\(store.name)")
            #expect((report.correctedBookkeeping != nil) == Self.corrected.contains(store.name), "\(store.name)")
            let hasHistory = store.name == "SampleModel2_V1.sqlite"
            #expect(report.notes.contains { $0.contains("history") } == hasHistory, "\(store.name): \(report.notes)")
        }
        tally.close(project, stores: count)
        #expect(tally.problems == [])
    }

    /// A store as it has to be once it is written anew.
    static func mended(_ source: ReferenceStore) -> ReferenceStore {
        var store = source
        let schema = store.schema
        func has(_ key: Int64, _ entity: EntityDescription) -> Bool {
            source.tables[schema.tableIndex(of: entity)][key] != nil
        }
        for (index, table) in schema.tables.enumerated() {
            let relationships = table.entities.flatMap { schema.model.entity(at: $0).relationships }
            for (key, row) in source.tables[index] {
                if table.entities.count == 1 {
                    let number = schema.number(of: schema.model.entity(at: table.root))
                    store.tables[index][key]?.values[EntityTable.entityColumn] = .integer(Int64(number))
                }
                for relationship in relationships {
                    guard case .toOne(_, let column, _, _) = schema.storage(of: relationship),
                        let target = row.values[column].integer, !has(target, relationship.destination)
                    else { continue }
                    store.tables[index][key]?.values[column] = .null
                }
            }
        }
        for (index, join) in schema.joinTables.enumerated() {
            let ends = join.sides.map { schema.model.entity(at: $0.relationship.entity) }
            store.joins[index] = source.joins[index].filter { pair, _ in
                has(pair.first, ends[0]) && has(pair.second, ends[1])
            }
        }
        store.primaryKey = ReferenceStore(model: schema.model).primaryKey
        for table in schema.tables.indices {
            let root = schema.number(of: schema.model.entity(at: schema.tables[table].root))
            let highest = store.tables[table].keys.max() ?? 0
            store.primaryKey[root]?.maximum = max(source.primaryKey[root]?.maximum ?? 0, highest)
        }
        return store
    }
}
