import Archives
import CoreDataStore
import Foundation
import ManagedModel

/// The store that a context's objects belong to.
public final class PersistentStore: NSObject {
    /// The store's URL; for the destination, the URL where it will be published.
    public let url: URL?
    /// The store's type: "SQLite".
    public let type: String
    /// The store identifier in object URIs.
    public let identifier: String!
    /// The store's metadata: its type, its identifier and the application's own values.
    public internal(set) var metadata: [String: Any]!
    /// The options with which the store was added; nil for a migration's.
    public internal(set) var options: [AnyHashable: Any]?
    /// The configuration of the model whose entities the store holds; `PF_DEFAULT_CONFIGURATION_NAME` for all.
    public let configurationName: String
    let configuration: String?
    /// True if the store is only read: the source of a migration, or a store added with `NSReadOnlyPersistentStoreOption`.
    public let isReadOnly: Bool
    /// The coordinator that it belongs to.
    public internal(set) weak var persistentStoreCoordinator: PersistentStoreCoordinator?

    init(path: String, identifier: String, metadata: [String: Any], isReadOnly: Bool, configuration: String? = nil) {
        url = path.isEmpty ? nil : URL(fileURLWithPath: path)
        type = "SQLite"
        self.identifier = identifier
        self.metadata = metadata
        self.isReadOnly = isReadOnly
        self.configuration = configuration
        configurationName = configuration ?? "PF_DEFAULT_CONFIGURATION_NAME"
    }
}

/// The stores of a model. In a migration each side has a coordinator with one store. A program makes coordinators of its own to
/// copy, replace and remove whole stores.
public final class PersistentStoreCoordinator: NSObject {
    /// The model of the stores.
    public let managedObjectModel: ManagedObjectModel
    /// The stores; always one in a migration.
    public private(set) var persistentStores: [PersistentStore] = []
    /// True for the coordinator of a migration's context.
    let isMigrating: Bool
    /// The migration's context that has the objects; nil without a migration.
    weak var context: ManagedObjectContext?
    /// A name for the caller's own use.
    public var name: String?
    private let isDestination: Bool
    private let tables: [Int]

    /// Makes a coordinator without stores.
    public convenience init(managedObjectModel model: ManagedObjectModel) {
        self.init(schema: StoreSchema(model: model), isMigrating: false, isDestination: false)
    }

    init(schema: StoreSchema, isMigrating: Bool, isDestination: Bool) {
        managedObjectModel = schema.model
        tables = schema.tableByEntity
        self.isMigrating = isMigrating
        self.isDestination = isDestination
    }

    func attach(_ store: PersistentStore) {
        persistentStores.append(store)
        store.persistentStoreCoordinator = self
    }

    func detach(_ store: PersistentStore) {
        persistentStores.removeAll { $0 === store }
        store.persistentStoreCoordinator = nil
    }

    /// Returns the object id for a URI of a store; nil if the URI belongs to another store or names no entity. The
    /// object need not exist.
    public func managedObjectID(forURIRepresentation url: URL) -> ManagedObjectID? {
        guard url.scheme?.lowercased() == "x-coredata", let host = url.host,
            let storeUUID = persistentStores.lazy.compactMap(\.identifier).first(where: {
                host.caseInsensitiveCompare($0) == .orderedSame
            })
        else { return nil }
        let parts = url.path.split(separator: "/")
        guard parts.count == 2, parts[1].first == "p", let key = Int64(parts[1].dropFirst()),
            let entity = managedObjectModel.entity(named: String(parts[0]))
        else { return nil }
        let named = ObjectPlace(entity: entity, key: key, table: tables[entity.index])
        // The URI may name an ancestor of the row's entity.
        let place = (try? context?.backing?.existingPlace(entity: entity, key: key)) ?? named
        return ManagedObjectID(
            place: place, storeUUID: storeUUID, isDestination: isDestination,
            store: persistentStores.first { $0.identifier == storeUUID })
    }

    /// Returns a store's URL; `/dev/null` for a store without a file, as Core Data does.
    public func url(for store: PersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

    /// Returns a store's metadata.
    public func metadata(for store: PersistentStore) -> [String: Any] { store.metadata }

    /// Returns the store at a URL; nil if there is none.
    public func persistentStore(for url: URL) -> PersistentStore? {
        persistentStores.first { $0.url?.standardizedFileURL.path == url.standardizedFileURL.path }
    }

    /// Runs a closure at once, on the caller's thread.
    public func perform(_ block: @escaping () -> Void) { block() }

    /// Runs a closure on the caller's thread.
    public func performAndWait<Value>(_ block: () throws -> Value) rethrows -> Value { try block() }
}

extension PropertyListValue {
    /// Makes a value of Foundation's types; nil for an object that no property list can hold.
    init?(object: Any) {
        switch object {
        case let text as String: self = .string(text)
        case let date as Date: self = .date(date.timeIntervalSinceReferenceDate)
        case let data as Data: self = .data([UInt8](data))
        case let number as NSNumber:
            switch UInt8(bitPattern: number.objCType.pointee) {
            case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .boolean(number.boolValue)
            case UInt8(ascii: "f"), UInt8(ascii: "d"): self = .real(number.doubleValue)
            default: self = .integer(number.int64Value)
            }
        case let members as [Any]:
            let values = members.compactMap(PropertyListValue.init(object:))
            guard values.count == members.count else { return nil }
            self = .array(values)
        case let entries as [String: Any]:
            let values = entries.compactMapValues(PropertyListValue.init(object:))
            guard values.count == entries.count else { return nil }
            self = .dictionary(PropertyListDictionary(values))
        default: return nil
        }
    }

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
        case .dictionary(let values): values.byKey.compactMapValues(\.object)
        }
    }
}
