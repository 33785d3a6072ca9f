import Foundation
import ManagedModel
import PersistentStore
import TestSupport
import Testing

/// Every real store to the version that it is: the destination is the store again.
@Suite("Real stores to their own version", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealStoreIdentityTests {
    /// Of frameworks 241 and 419, without cached model; their models are only in binary forms that are not read.
    static let withoutModel: Set = ["Recipes.sqlite", "RKSeedDatabase.sqlite"]

    /// Where a store that went through in-place migrations, or was written by an early framework, is put right.
    static let putRight: [String: [String]] = [:]

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
                // What is compared here is the store itself.
                usesReference: false)
            guard case .migrated = try tally.add(store.name, migration) else {
                Issue.record("\(store.name) does not migrate to itself")
                continue
            }
            let found = try ReferenceStore.read(path: migration.destinationPath, model: store.model)
            let lines = found.differences(from: try ReferenceStore.read(path: migration.sourcePath, model: store.model))
            #expect(lines == Self.putRight[store.name] ?? [], "\(store.name)")
        }
        tally.close(project, stores: count)
    }
}
