import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// The migration of a store to the model with which a coordinator adds it, as `NSMigratePersistentStoresAutomaticallyOption`
/// asks for it.
///
/// The store's own version is the model that it holds, else the one in the program's bundle that wrote it. The mapping model is
/// one in the bundle, else it is inferred, if `NSInferMappingModelAutomaticallyOption` allows that.
struct AutomaticMigration: StoreMigrating {
    private let infers: Bool

    /// Returns nil if the options do not ask for it.
    init?(options: [AnyHashable: Any]?) {
        func isSet(_ key: String) -> Bool { (options?[key] as? NSNumber)?.boolValue ?? false }
        guard isSet(NSMigratePersistentStoresAutomaticallyOption) else { return nil }
        infers = isSet(NSInferMappingModelAutomaticallyOption)
    }

    func migrateStore(inPlace url: URL, to model: ManagedObjectModel) throws {
        let old = try version(of: url)
        let mapping = MappingModel(from: nil, forSourceModel: old, destinationModel: model)
        guard infers || mapping != nil else {
            throw MigrationError(
                "mapping.notFound", .noInput, "The program's bundle has no mapping model to the store's new version",
                remedy: "Set NSInferMappingModelAutomaticallyOption, or migrate it with a MigrationManager",
                context: .init(path: url.path))
        }
        try replaceStore(at: url) { other in
            try MigrationManager(sourceModel: old, destinationModel: model).migrateStore(
                from: url, type: .sqlite, mapping: mapping, to: other, type: .sqlite)
        }
    }

    private func version(of url: URL) throws -> ManagedObjectModel {
        let store = try SourceStore(path: url.path, cacheBytes: 1 << 16, valueLimit: 1 << 24, temporaryDirectory: nil)
        defer { try? store.close() }
        if let cached = try store.cachedModel() { return cached }
        let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
        if let found = ManagedObjectModel.mergedModel(from: nil, forStoreMetadata: metadata) { return found }
        throw MigrationError(
            "model.unknownVersion", .noInput, "Neither the store nor the program's bundle has the model that wrote it",
            remedy: "Migrate it with a MigrationManager, which gets the model", context: .init(path: url.path))
    }
}
