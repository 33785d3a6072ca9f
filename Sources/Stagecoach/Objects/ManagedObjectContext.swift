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
        func insert(_ entity: EntityDescription) throws -> ManagedObjectID
        func delete(_ object: ManagedObject) throws
        func exists(_ id: ManagedObjectID) throws -> Bool
        func entity(named name: String) throws -> EntityDescription
        /// An id that no row has: what a failed insertion gives, because it cannot throw.
        var placeholder: ManagedObjectID { get }
    }

    let backing: any Backing
    private let failures: FailureRecord
    private var live: [ObjectKey: Unowned] = [:]
    private var deleted: Set<ObjectKey> = []

    private struct ObjectKey: Hashable {
        let table: Int
        let key: Int64
    }

    private struct Unowned { unowned(unsafe) let object: ManagedObject }

    init(backing: any Backing, failures: FailureRecord) {
        self.backing = backing
        self.failures = failures
    }

    /// The object of an id: the one that is alive, or a new fault.
    public func object(with id: ManagedObjectID) -> ManagedObject {
        let key = ObjectKey(table: id.table, key: id.key)
        if let known = live[key] { return known.object }
        let object = ManagedObject(objectID: id, context: self)
        live[key] = Unowned(object: object)
        return object
    }

    /// The object of an id whose row exists.
    ///
    /// - Throws: `object.unknown`.
    public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
        guard try backing.exists(id) else {
            throw MigrationError(
                "object.unknown", .data, "There is no such object", context: .init(objectID: id.description))
        }
        return object(with: id)
    }

    /// Inserts an object of an entity, with the model's defaults.
    func insert(_ entity: EntityDescription) throws -> ManagedObject { object(with: try backing.insert(entity)) }

    /// Inserts an object of an entity named; a failure is recorded.
    ///
    /// An unknown or abstract entity ends the run when the policy's method returns; until then the policy holds an object
    /// without a row.
    func insertNewObject(named name: String) -> ManagedObject {
        do {
            return try insert(backing.entity(named: name))
        } catch {
            failures.record(error)
            return object(with: backing.placeholder)
        }
    }

    /// Deletes an object: it will have no row, and references to it become nil.
    public func delete(_ object: ManagedObject) {
        do {
            try backing.delete(object)
            deleted.insert(ObjectKey(table: object.objectID.table, key: object.objectID.key))
        } catch {
            failures.record(error)
        }
    }

    /// Objects that somebody holds.
    public var registeredObjects: Set<ManagedObject> { Set(live.values.map(\.object)) }

    func isDeleted(_ object: ManagedObject) -> Bool {
        deleted.contains(ObjectKey(table: object.objectID.table, key: object.objectID.key))
    }

    func forget(_ id: ManagedObjectID) { live[ObjectKey(table: id.table, key: id.key)] = nil }

    func value(of object: ManagedObject, key: String) -> Any? {
        do {
            return try backing.value(of: object, key: key)
        } catch {
            failures.record(error)
            return nil
        }
    }

    func setValue(_ value: Any?, of object: ManagedObject, key: String) {
        do {
            try backing.setValue(value, of: object, key: key)
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
