import Foundation
import ManagedModel

/// The identity of an object: its store, its entity, its key. Equal ids name one object.
public final class ManagedObjectID: NSObject, @unchecked Sendable {
    public let entity: EntityDescription
    /// Z_PK.
    package let key: Int64
    /// Table index in the schema of the object's side.
    let table: Int
    let storeUUID: String
    let isDestination: Bool

    init(entity: EntityDescription, key: Int64, table: Int, storeUUID: String, isDestination: Bool) {
        self.entity = entity
        self.key = key
        self.table = table
        self.storeUUID = storeUUID
        self.isDestination = isDestination
    }

    /// False: keys are given at creation, so an id never changes.
    public var isTemporaryID: Bool { false }

    /// `x-coredata://<store UUID>/<entity>/p<key>`.
    public func uriRepresentation() -> URL {
        var parts = URLComponents()
        parts.scheme = "x-coredata"
        parts.host = storeUUID
        parts.path = "/\(entity.definition.name)/p\(key)"
        return parts.url ?? URL(fileURLWithPath: "/")
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(table)
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
