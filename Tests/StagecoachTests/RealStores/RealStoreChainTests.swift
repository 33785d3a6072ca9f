import Foundation
import ManagedModel
import TestSupport
import Testing

/// Real stores version by version, each destination opened again as the next source by the model that it caches.
@Suite("Real stores step by step", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealStoreChainTests {
    @Test("Each step gives the rows of the reference", arguments: RealStoreTests.bundles)
    func chain(bundle: String) throws {
        let family = try RealFamily.load(bundle)
        var tally = RealStoreTally()
        for (number, store) in family.stores.enumerated() where store.name != RealStoreTests.large {
            let versions = Array(family.versions(from: store))
            // A few steps of a part of the stores where the family is long.
            let stride = RealStoreTests.isThorough || versions.count <= 6 ? 1 : 9
            guard stride == 1 || number % 7 == 0 else { continue }
            let steps = versions.indices.filter { $0 % stride == 0 || $0 == versions.count - 1 }
            try Self.walk(store, steps.map { versions[$0] }, family, &tally)
        }
        tally.close(family.name, stores: family.stores.count)
        #expect(tally.problems == [])
        #expect(tally.migrated > 0)
    }

    /// Walks through versions; one that is refused, or whose rules the rows break, is stepped over.
    static func walk(
        _ store: RealStore, _ versions: [RealVersion], _ family: RealFamily, _ tally: inout RealStoreTally
    ) throws {
        let folder = try TemporaryFolder()
        var place = folder.url.appendingPathComponent("0")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        var path = try RealStoreTests.copy(store.url, into: place)
        var model = store.model
        for (step, version) in versions.enumerated() {
            let next = folder.url.appendingPathComponent("\(step + 1)")
            try FileManager.default.createDirectory(at: next, withIntermediateDirectories: true)
            let migration = RealStoreMigration(
                sourcePath: path, source: model, destinationPath: next.appendingPathComponent(store.name).path,
                destination: version.model, real: family.store(of: version))
            guard case .migrated = try tally.add("\(store.name) … > \(version.name)", migration) else { continue }
            model = try #require(try migration.cachedModel())
            path = migration.destinationPath
            try FileManager.default.removeItem(at: place)
            place = next
        }
    }
}
