import Archives
import CoreDataStore
import Diagnostics
import Foundation

extension PersistentStore {
    /// The kind of a store. ``MigrationManager/migrateStore(from:type:options:mapping:to:type:options:)`` reads and writes all but
    /// those in memory; a coordinator opens SQLite stores only.
    public struct StoreType: RawRepresentable, Sendable, Hashable {
        /// Core Data's name for the type.
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// SQLite stores.
        public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
        /// Binary stores.
        public static let binary = StoreType(rawValue: NSBinaryStoreType)
        /// Stores in memory, which have no file and are refused.
        public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
        /// XML stores.
        public static let xml = StoreType(rawValue: NSXMLStoreType)
    }

    /// Returns a store's metadata: see ``PersistentStoreCoordinator/metadataForPersistentStore(ofType:at:options:)``.
    public static func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
        try PersistentStoreCoordinator.metadataForPersistentStore(ofType: nil, at: url)
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
        let url = try place(storeType, url)
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

    /// Replaces the application's keys and values in a store's metadata. Core Data's own keys stay as they are.
    ///
    /// - Parameters:
    ///   - metadata: the new values: texts, numbers, dates, data, and arrays and dictionaries of them.
    ///   - storeType: `NSSQLiteStoreType`, or nil.
    ///   - url: the store, which no other process uses.
    ///   - options: Core Data's options of the store, which change nothing here.
    /// - Throws: `metadata.value` (64) for a value that is no property list, `manager.storeType` (78); errors of opening the
    ///   store (65, 66, 74, 77) and of writing to it.
    public static func setMetadata(
        _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String?, at url: URL,
        options: [AnyHashable: Any]? = nil
    ) throws {
        let url = try place(storeType, url)
        var values: [String: PropertyListValue] = [:]
        for (key, value) in metadata ?? [:] where !StoreMetadata.frameworkKeys.contains(key) {
            guard let value = PropertyListValue(object: value) else {
                throw MigrationError(
                    "metadata.value", .usage, "The value of \(key) in the metadata is no property list",
                    context: .init(path: url.path))
            }
            values[key] = value
        }
        try StoreMetadata.setApplicationValues(values, ofStore: url.path)
    }

    /// Replaces the application's keys and values in a store's metadata, under the newer name.
    public static func setMetadata(
        _ metadata: [String: Any]?, type: PersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws {
        try setMetadata(metadata, forPersistentStoreOfType: type.rawValue, at: url, options: options)
    }

    /// Replaces the application's keys and values in the metadata of a store that was added to the coordinator.
    ///
    /// A migration's source is never changed, and its destination takes over the source's values: for their stores the call
    /// is an error, which ends the migration.
    public func setMetadata(_ metadata: [String: Any]?, for store: PersistentStore) {
        do {
            guard !isMigrating, let url = store.url, !store.isReadOnly else {
                throw MigrationError(
                    "manager.metadata", .usage, "The metadata of a migration's stores cannot be set in a policy",
                    remedy: "Set it after the migration, by setMetadata(_:forPersistentStoreOfType:at:options:)")
            }
            try Self.setMetadata(metadata, forPersistentStoreOfType: store.type, at: url)
            store.metadata = try Self.metadataForPersistentStore(ofType: store.type, at: url)
        } catch { context?.record(error) }
    }
}
