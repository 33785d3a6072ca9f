import Archives
import CoreDataStore
import Foundation
import ManagedModel

/// The store that a context's objects belong to.
public final class PersistentStore {
    /// The store's URL; for the destination, the URL where it will be published.
    public let url: URL?
    /// The store's type: "SQLite".
    public let type: String
    /// The store identifier in object URIs.
    public let identifier: String!
    /// The store's metadata: its type, its identifier and the application's own values.
    public let metadata: [String: Any]!
    /// Always nil: stores hold all entities of their model.
    public let configurationName: String
    /// True for the source.
    public let isReadOnly: Bool
    /// The coordinator that it belongs to.
    public private(set) weak var persistentStoreCoordinator: PersistentStoreCoordinator?

    init(path: String, identifier: String, metadata: [String: Any], isReadOnly: Bool) {
        url = path.isEmpty ? nil : URL(fileURLWithPath: path)
        type = "SQLite"
        self.identifier = identifier
        self.metadata = metadata
        self.isReadOnly = isReadOnly
        configurationName = "PF_DEFAULT_CONFIGURATION_NAME"
    }

    fileprivate func attach(to coordinator: PersistentStoreCoordinator) { persistentStoreCoordinator = coordinator }
}

/// The store of one side of a migration, with its model.
public final class PersistentStoreCoordinator {
    /// The model of the store.
    public let managedObjectModel: ManagedObjectModel
    private let store: PersistentStore
    /// Finds the row of an entity and a key; set by the context's runtime.
    var existingPlace: (EntityDescription, Int64) throws -> ObjectPlace? = { _, _ in nil }
    private let isDestination: Bool
    private let tables: [Int]

    init(schema: StoreSchema, store: PersistentStore, isDestination: Bool) {
        managedObjectModel = schema.model
        tables = schema.tableByEntity
        self.store = store
        self.isDestination = isDestination
        store.attach(to: self)
    }

    var storeUUID: String { store.identifier }

    /// The stores: always one.
    public var persistentStores: [PersistentStore] { [store] }

    /// Returns the object id for a URI of the store; nil if the URI belongs to another store or names no entity. The
    /// object need not exist.
    public func managedObjectID(forURIRepresentation url: URL) -> ManagedObjectID? {
        guard url.scheme?.lowercased() == "x-coredata", let host = url.host,
            host.caseInsensitiveCompare(storeUUID) == .orderedSame
        else { return nil }
        let parts = url.path.split(separator: "/")
        guard parts.count == 2, parts[1].first == "p", let key = Int64(parts[1].dropFirst()),
            let entity = managedObjectModel.entity(named: String(parts[0]))
        else { return nil }
        let named = ObjectPlace(entity: entity, key: key, table: tables[entity.index])
        // The URI may name an ancestor of the row's entity.
        let place = (try? existingPlace(entity, key)) ?? named
        return ManagedObjectID(place: place, storeUUID: storeUUID, isDestination: isDestination)
    }

    /// Returns a store's URL.
    public func url(for store: PersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

    /// Returns a store's metadata.
    public func metadata(for store: PersistentStore) -> [String: Any] { store.metadata }

    /// Returns the store at a URL; nil if this side has no store there.
    public func persistentStore(for url: URL) -> PersistentStore? {
        store.url?.standardizedFileURL.path == url.standardizedFileURL.path ? store : nil
    }

    /// Runs a closure on the caller's thread.
    public func performAndWait<Value>(_ block: () throws -> Value) rethrows -> Value { try block() }
}

extension PropertyListValue {
    /// The value in Foundation's types; nil for values that an application's property list cannot hold.
    var object: Any? {
        switch self {
        case .null, .uid: nil
        case .boolean(let flag): NSNumber(value: flag)
        case .integer(let number): NSNumber(value: number)
        case .largeInteger(_, let low): NSNumber(value: low)
        case .real(let number): NSNumber(value: number)
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .data(let bytes): Data(bytes)
        case .string(let text): text
        case .array(let members): members.compactMap(\.object)
        case .set(let members): members.compactMap(\.object)
        case .dictionary(let values): values.compactMapValues(\.object)
        }
    }
}
