import Diagnostics
import Foundation
import ManagedModel

/// The objects of one side of a migration: made as faults when asked for, unique by id, kept only as long as somebody
/// holds them.
public final class ManagedObjectContext {
    /// Reads and writes the objects of a side.
    protocol Backing: AnyObject {
        func value(of object: ManagedObject, key: String) throws -> Any?
        func setValue(_ value: Any?, of object: ManagedObject, key: String) throws
        func insert(_ entity: EntityDescription) throws -> ObjectPlace
        func delete(_ object: ManagedObject) throws
        func exists(_ place: ObjectPlace) throws -> Bool
        func entity(named name: String) throws -> EntityDescription
        /// A place that no row has: what a failed insertion gives, because it cannot throw.
        var placeholder: ObjectPlace { get }
    }

    /// Nil once the migration is over: objects that somebody still holds have no values then.
    private var backing: (any Backing)?
    private let failures: FailureRecord
    private let storeUUID: String
    let isDestination: Bool
    private var live = LiveObjects()
    private var deleted: Set<ObjectKey> = []

    private struct ObjectKey: Hashable {
        let table: Int
        let key: Int64
    }

    init(backing: any Backing, failures: FailureRecord, storeUUID: String, isDestination: Bool) {
        self.backing = backing
        self.failures = failures
        self.storeUUID = storeUUID
        self.isDestination = isDestination
    }

    var isOpen: Bool { backing != nil }

    /// Lets rows and links go at the end of the migration.
    func close() { backing = nil }

    func id(of place: ObjectPlace) -> ManagedObjectID {
        ManagedObjectID(place: place, storeUUID: storeUUID, isDestination: isDestination)
    }

    /// The object of a place: the one that is alive, or a new fault.
    func object(at place: ObjectPlace) -> ManagedObject {
        if let known = live.object(table: place.table, key: place.key) { return known }
        let object = ManagedObject(place: place, context: self)
        live.insert(object)
        return object
    }

    /// The object of an id: the one that is alive, or a new fault.
    public func object(with id: ManagedObjectID) -> ManagedObject {
        if id.isDestination != isDestination {
            failures.record(
                MigrationError(
                    "object.unknown", .data, "The object id is one of the other store",
                    context: .init(entity: id.entity.definition.name, objectID: id.description)))
            return object(at: backing?.placeholder ?? id.place)
        }
        return object(at: id.place)
    }

    /// The object of an id whose row exists.
    ///
    /// - Throws: `object.unknown`.
    public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
        guard id.isDestination == isDestination, try backing?.exists(id.place) ?? false else {
            throw MigrationError(
                "object.unknown", .data, "There is no such object", context: .init(objectID: id.description))
        }
        return object(at: id.place)
    }

    /// Inserts an object of an entity, with the model's defaults.
    func insert(_ entity: EntityDescription) throws -> ManagedObject {
        guard let backing else { throw MigrationError("manager.idle", .internal, "The migration is over") }
        return object(at: try backing.insert(entity))
    }

    /// Inserts an object of an entity named; a failure is recorded.
    ///
    /// An unknown or abstract entity ends the run when the policy's method returns; until then the policy holds an object
    /// without a row.
    func insertNewObject(named name: String) -> ManagedObject {
        guard let backing else { preconditionFailure("the migration that the context belongs to is over") }
        do {
            return try insert(backing.entity(named: name))
        } catch {
            failures.record(error)
            return object(at: backing.placeholder)
        }
    }

    /// Deletes an object: it will have no row, and references to it become nil.
    public func delete(_ object: ManagedObject) {
        do {
            guard object.context === self else { throw ObjectFailure.foreign(object) }
            try backing?.delete(object)
            deleted.insert(ObjectKey(table: object.place.table, key: object.place.key))
        } catch {
            failures.record(error)
        }
    }

    /// Objects that somebody holds.
    public var registeredObjects: Set<ManagedObject> {
        var objects: Set<ManagedObject> = []
        live.forEachObject { objects.insert($0) }
        return objects
    }

    func isDeleted(_ object: ManagedObject) -> Bool {
        !deleted.isEmpty && deleted.contains(ObjectKey(table: object.place.table, key: object.place.key))
    }

    func forget(_ place: ObjectPlace) { live.remove(table: place.table, key: place.key) }

    func value(of object: ManagedObject, key: String) -> Any? {
        do {
            return try backing?.value(of: object, key: key)
        } catch {
            failures.record(error)
            return nil
        }
    }

    func setValue(_ value: Any?, of object: ManagedObject, key: String) {
        do {
            try backing?.setValue(value, of: object, key: key)
        } catch {
            failures.record(error)
        }
    }
}

/// The first failure inside a policy's call that could not throw: it ends the run as soon as the method returns.
final class FailureRecord {
    private var first: (any Error)?

    func record(_ error: any Error) { if first == nil { first = error } }

    /// Throws what was recorded, once.
    func rethrow() throws {
        guard let error = first else { return }
        first = nil
        throw error
    }
}

extension EntityDescription {
    /// Inserts a new object of an entity into a context. A failure ends the run when the policy's method returns.
    public static func insertNewObject(forEntityName name: String, into context: ManagedObjectContext) -> ManagedObject
    {
        context.insertNewObject(named: name)
    }
}
