import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

// Operations on whole stores, for programs around a migration: see that a store fits a model, copy, replace and remove it.

/// Migrates a store in its place to another version.
protocol StoreMigrating {
    func migrateStore(inPlace url: URL, to model: ManagedObjectModel) throws
}

extension StoreMigrating {
    /// Replaces a store by the one that a closure makes beside it. It is unchanged if that fails.
    func replaceStore(at url: URL, _ make: (URL) throws -> Void) throws {
        let place = DestinationPath(path: url.path)
        let other = StoreFiles(path: "\(place.folder)/.\(place.name).migrated-\(UUID().uuidString)")
        defer { try? other.remove() }
        try make(URL(fileURLWithPath: other.path))
        try StoreFiles(path: url.path).replace(byCopyOf: other)
    }
}

extension PersistentStoreCoordinator {
    /// Adds a store of the model. If another version wrote it, that is an error, unless the options ask for a migration: then the
    /// store is migrated and replaced.
    ///
    /// A store that does not exist is made, without objects. Objects of stores that are added cannot be read or changed: only
    /// a migration's own contexts have objects.
    ///
    /// - Parameters:
    ///   - storeType: `NSSQLiteStoreType`.
    ///   - configuration: a configuration of the model; nil for the whole model.
    ///   - storeURL: the store's file.
    ///   - options: `NSReadOnlyPersistentStoreOption`; `journal_mode` in `NSSQLitePragmasOption`: with `DELETE`, the
    ///     content of a `-wal` file is moved into the store; `NSPersistentStoreStagedMigrationManagerOptionKey`;
    ///     `NSMigratePersistentStoresAutomaticallyOption`, which uses a mapping model in the program's bundle, and
    ///     `NSInferMappingModelAutomaticallyOption`, which infers one if there is none. Others change nothing.
    /// - Throws: `manager.storeType` (78) for another type; `store.incompatibleModel` (78), bridged to Core Data's 134100, if
    ///   another version wrote the store; `model.unknownVersion` and `mapping.notFound` (66), bridged to 134130 and 134140, if
    ///   the models for a migration are not found; errors of opening it (65, 66, 74, 77), of making it (73, 74, 77) and of
    ///   migrating it.
    @discardableResult
    public func addPersistentStore(
        ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
        options: [AnyHashable: Any]? = nil
    ) throws -> PersistentStore {
        let url = try Self.place(storeType, storeURL)
        let isReadOnly = (options?[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false
        let model = configuration.flatMap(managedObjectModel.restricted(toConfiguration:)) ?? managedObjectModel
        if !isReadOnly, try DestinationPath.status(url.path, followsLinks: true) == nil {
            try DestinationStore.makeEmpty(
                at: url.path, model: model, uuid: UUID().uuidString,
                modelCache: try ModelCache.encode(managedObjectModel.whole, archiver: ArchivingLanguage()))
        }
        func fits(_ metadata: [String: Any]) -> Bool {
            managedObjectModel.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
        }
        var metadata = try Self.metadataForPersistentStore(ofType: storeType, at: url)
        if !isReadOnly, !fits(metadata),
            let migration = options?[NSPersistentStoreStagedMigrationManagerOptionKey] as? any StoreMigrating
                ?? AutomaticMigration(options: options)
        {
            try migration.migrateStore(inPlace: url, to: model)
            metadata = try Self.metadataForPersistentStore(ofType: storeType, at: url)
        }
        guard fits(metadata) else {
            throw MigrationError(
                "store.incompatibleModel", .configuration, "The model is not the version that wrote the store",
                remedy: "Migrate it first, with a MigrationManager or by the options of an automatic migration",
                context: .init(path: url.path))
        }
        let pragmas = options?[NSSQLitePragmasOption] as? [String: Any]
        if !isReadOnly, (pragmas?["journal_mode"] as? String)?.uppercased() == "DELETE" {
            let connection = try Connection(path: url.path, flags: SQLITE_OPEN_READWRITE)
            try connection.execute("PRAGMA journal_mode=DELETE")
            try connection.close()
        }
        let store = PersistentStore(
            path: url.path, identifier: metadata[NSStoreUUIDKey] as? String ?? "", metadata: metadata,
            isReadOnly: isReadOnly, configuration: configuration)
        store.options = options
        attach(store)
        return store
    }

    /// Adds the store that a description names: see ``addPersistentStore(ofType:configurationName:at:options:)``.
    ///
    /// - Parameters:
    ///   - description: the store, with its options.
    ///   - block: called with the description before the method returns, with the error if there was one.
    public func addPersistentStore(
        with description: PersistentStoreDescription,
        completionHandler block: @escaping (PersistentStoreDescription, (any Error)?) -> Void
    ) {
        do {
            try addPersistentStore(
                ofType: description.type, configurationName: description.configuration, at: description.url,
                options: description.options)
            block(description, nil)
        } catch { block(description, error) }
    }

    /// Adds a store, under the newer name: see ``addPersistentStore(ofType:configurationName:at:options:)``.
    @discardableResult
    public func addPersistentStore(
        type: PersistentStore.StoreType, configuration: String? = nil, at storeURL: URL,
        options: [AnyHashable: Any]? = nil
    ) throws -> PersistentStore {
        try addPersistentStore(ofType: type.rawValue, configurationName: configuration, at: storeURL, options: options)
    }

    /// Takes a store out of the coordinator. Its files stay.
    ///
    /// - Throws: `manager.otherStore` (64) if the store is not one of the coordinator's, or is a migration's.
    public func remove(_ store: PersistentStore) throws {
        guard !isMigrating, persistentStores.contains(where: { $0 === store }) else { throw Self.otherStore(store.url) }
        detach(store)
    }

    /// Copies a store to another place and adds the copy in its stead. The store's files stay.
    ///
    /// - Throws: `manager.otherStore` (64); the errors of
    ///   ``replacePersistentStore(at:destinationOptions:withPersistentStoreFrom:sourceOptions:ofType:)`` and
    ///   ``addPersistentStore(ofType:configurationName:at:options:)``.
    @discardableResult
    public func migratePersistentStore(
        _ store: PersistentStore, to url: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
    ) throws -> PersistentStore {
        guard !isMigrating, let source = store.url, persistentStores.contains(where: { $0 === store }) else {
            throw Self.otherStore(store.url)
        }
        try replacePersistentStore(
            at: url, destinationOptions: options, withPersistentStoreFrom: source, sourceOptions: nil,
            ofType: storeType)
        let copy = try addPersistentStore(
            ofType: storeType, configurationName: store.configuration, at: url, options: options)
        try remove(store)
        return copy
    }

    /// Copies a store to another place and adds the copy in its stead, under the newer name.
    @discardableResult
    public func migratePersistentStore(
        _ store: PersistentStore, to url: URL, options: [AnyHashable: Any]? = nil, type: PersistentStore.StoreType
    ) throws -> PersistentStore {
        try migratePersistentStore(store, to: url, options: options, withType: type.rawValue)
    }

    /// Replaces a store by a copy of another one, with the files of external values. What is in the other store's `-wal` is
    /// in the copy itself.
    ///
    /// - Throws: `manager.storeType` (78); errors of opening the other store (65, 66, 74, 77), and of writing (73, 74, 77):
    ///   the store that was there is unchanged then.
    public func replacePersistentStore(
        at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
        withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
    ) throws {
        let (place, source) = (try Self.place(storeType, destinationURL), try Self.place(storeType, sourceURL))
        try StoreFiles(path: place.path).replace(byCopyOf: StoreFiles(path: source.path))
    }

    /// Replaces a store by a copy of another one, under the newer name.
    public func replacePersistentStore(
        at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
        withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil,
        type: PersistentStore.StoreType
    ) throws {
        try replacePersistentStore(
            at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL,
            sourceOptions: sourceOptions, ofType: type.rawValue)
    }

    /// Removes a store's files: the database, its journals and its external values. Core Data may leave an empty file.
    ///
    /// - Throws: `manager.storeType` (78), `destination.permission` (77), `destination.io` (74).
    public func destroyPersistentStore(
        at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
    ) throws {
        try StoreFiles(path: try Self.place(storeType, url).path).remove()
    }

    /// Removes a store's files, under the newer name.
    public func destroyPersistentStore(
        at url: URL, type: PersistentStore.StoreType, options: [AnyHashable: Any]? = nil
    ) throws {
        try destroyPersistentStore(at: url, ofType: type.rawValue, options: options)
    }

    /// Returns the file of a store.
    static func place(_ storeType: String?, _ url: URL?) throws(MigrationError) -> URL {
        // Core Data keeps a store of this path in memory.
        guard let url, url.isFileURL, url.path != "/dev/null", storeType == nil || storeType == NSSQLiteStoreType else {
            let kind = storeType == NSSQLiteStoreType ? "without a file" : "of type \(storeType ?? "")"
            throw MigrationError(
                "manager.storeType", .configuration, "Stores \(kind) are not read, only SQLite stores in files",
                context: .init(path: url?.path))
        }
        return url
    }

    private static func otherStore(_ url: URL?) -> MigrationError {
        MigrationError(
            "manager.otherStore", .usage, "The coordinator did not add this store",
            remedy: "Call the coordinator that added it; a migration's own stores stay where they are",
            context: .init(path: url?.path))
    }
}
