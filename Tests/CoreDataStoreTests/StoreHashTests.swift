import ManagedModel
import TestSupport
import Testing

@testable import CoreDataStore

/// Version hashes computed from the model cached in a real store, against those that Core Data put into its metadata.
@Suite("Version hashes: real stores", .enabled(if: SharedStores.isPresent, "the shared stores are not here"))
struct StoreHashTests {
    @Test("Every entity of every cached model has the store's hash, derived and composite attributes included")
    func cachedModels() throws {
        let folder = try TemporaryFolder()
        var equal = 0
        var special = 0
        var differing: [String] = []
        for url in SharedStores.paths(withExtensions: ["sqlite", "moody", "wiredatabase", "store", "db"]) {
            guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true,
                let store = try? SourceStore(
                    path: try folder.copyStore(url), cacheBytes: 256 << 10, valueLimit: 1 << 20,
                    temporaryDirectory: nil),
                let model = try store.cachedModel()
            else { continue }
            let stored = store.metadata.versionHashes
            for entity in model.entities where stored[entity.definition.name] != nil {
                let hash = VersionHash.entityHashes(of: model)[entity.definition.name]
                guard hash?.bytes == stored[entity.definition.name] else {
                    differing.append("\(url.lastPathComponent) \(entity.definition.name)")
                    continue
                }
                equal += 1
                if entity.declaredAttributes.contains(where: {
                    $0.definition.derivationExpression != nil || $0.attributeType == .composite
                }) {
                    special += 1
                }
            }
        }
        print("hashes of cached models: \(equal), with derived or composite attributes \(special)")
        #expect(differing.isEmpty)
        #expect(equal >= 566)
        #expect(special >= 15)
    }
}
