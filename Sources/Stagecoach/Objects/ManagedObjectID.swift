import Foundation
import ManagedModel
import Mapping

/// The row of an object, on the object's side of the migration.
struct ObjectPlace {
    let entity: EntityDescription
    /// The key: Z_PK.
    var key: Int64
    /// The table's index in the schema of the object's side.
    let table: Int
}

/// The identity of an object: its store, entity and key. Equal ids belong to the same object.
public final class ManagedObjectID: NSObject, @unchecked Sendable {
    let place: ObjectPlace
    let storeUUID: String
    let isDestination: Bool
    /// The object's store; nil for an object without a context.
    public let persistentStore: PersistentStore?

    /// The object's own entity.
    public var entity: EntityDescription { place.entity }
    /// The key: Z_PK.
    package var key: Int64 { place.key }
    private var table: Int { place.table }

    init(place: ObjectPlace, storeUUID: String, isDestination: Bool, store: PersistentStore? = nil) {
        persistentStore = store
        self.place = place
        self.storeUUID = storeUUID
        self.isDestination = isDestination
    }

    /// Always false: keys are given at creation, so an id never changes.
    public var isTemporaryID: Bool { false }

    /// The form in which errors and reports name objects: `<entity>/p<key>`.
    package var shortName: String { "\(entity.definition.name)/p\(key)" }

    /// Returns the id as a URI: `x-coredata://<store UUID>/<entity>/p<key>`.
    public func uriRepresentation() -> URL {
        var parts = URLComponents()
        parts.scheme = "x-coredata"
        parts.host = storeUUID
        parts.path = "/\(entity.definition.name)/p\(key)"
        return parts.url ?? URL(fileURLWithPath: "/")
    }

    public override var hash: Int { ManagedObjectID.hash(of: place, isDestination: isDestination) }

    /// Returns the hash shared by an id and its object.
    static func hash(of place: ObjectPlace, isDestination: Bool) -> Int {
        var hasher = Hasher()
        hasher.combine(place.key)
        hasher.combine(place.table)
        hasher.combine(isDestination)
        return hasher.finalize()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? ManagedObjectID else { return false }
        return key == other.key && table == other.table && isDestination == other.isDestination
            && storeUUID == other.storeUUID
    }

    public override var description: String { uriRepresentation().absoluteString }
}

extension ManagedObjectID: ExpressionObjectID {}
