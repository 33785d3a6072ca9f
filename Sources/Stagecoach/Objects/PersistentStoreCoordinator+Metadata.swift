import CoreDataStore
import Diagnostics
import Foundation

extension PersistentStore {
    /// The kind of a store. Only SQLite stores are migrated.
    public struct StoreType: Sendable, Hashable {
        /// Core Data's name for the type.
        public let rawValue: String
        /// SQLite stores, the only type that is read and written.
        public static let sqlite = StoreType(rawValue: "SQLite")
    }
}

extension PersistentStoreCoordinator {
    /// Returns a store's metadata without opening the store for anything else. Programs use it to find out which model
    /// version wrote the store.
    ///
    /// - Throws: `manager.storeType` (78) for any type but SQLite; errors of opening the store (65, 66, 74, 77).
    public static func metadataForPersistentStore(
        ofType storeType: String?, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] {
        guard storeType == nil || storeType == NSSQLiteStoreType else {
            throw MigrationError(
                "manager.storeType", .configuration,
                "Stores of type \(storeType ?? "") are not read, only SQLite stores", context: .init(path: url.path))
        }
        let store = try SourceStore(path: url.path, cacheBytes: 1 << 16, valueLimit: 1 << 24, temporaryDirectory: nil)
        defer { try? store.close() }
        var metadata = store.metadata.propertyList.compactMapValues(\.object)
        metadata[NSStoreUUIDKey] = store.metadata.uuid
        metadata[NSStoreTypeKey] = store.metadata.storeType ?? NSSQLiteStoreType
        return metadata
    }

    /// Returns the same as ``metadataForPersistentStore(ofType:at:options:)``, under the newer name.
    public static func metadataForPersistentStore(
        type: PersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] {
        try metadataForPersistentStore(ofType: type.rawValue, at: url, options: options)
    }
}
