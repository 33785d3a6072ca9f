import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage

/// A request that a context executes as a whole: a ``BatchDeleteRequest``, ``BatchUpdateRequest``,
/// ``BatchInsertRequest``, ``FetchRequest`` or ``AsynchronousFetchRequest``.
public class PersistentStoreRequest: NSObject {
    /// Has no effect: a context has one store.
    public var affectedStores: [PersistentStore]?

    func run(in context: ManagedObjectContext) throws -> PersistentStoreResult { PersistentStoreResult() }
}

/// The result of a ``PersistentStoreRequest``.
public class PersistentStoreResult: NSObject {}

/// The form of a batch request's result, with Core Data's codes.
public enum BatchResultType: UInt, Sendable {
    /// True.
    case statusOnly = 0
    /// The ids of the objects.
    case objectIDs = 1
    /// The number of objects.
    case count = 2

    /// Core Data's name of ``statusOnly`` for deletions.
    public static let resultTypeStatusOnly = statusOnly
    /// Core Data's name of ``objectIDs`` for deletions.
    public static let resultTypeObjectIDs = objectIDs
    /// Core Data's name of ``count`` for deletions.
    public static let resultTypeCount = count
    /// Core Data's name of ``statusOnly`` for updates.
    public static let statusOnlyResultType = statusOnly
    /// Core Data's name of ``objectIDs`` for updates.
    public static let updatedObjectIDsResultType = objectIDs
    /// Core Data's name of ``count`` for updates.
    public static let updatedObjectsCountResultType = count
}

/// The result of a batch request.
public final class BatchResult: PersistentStoreResult {
    /// The form of the result.
    public let resultType: BatchResultType
    /// The objects' ids (`[ManagedObjectID]`), their number or true, as ``resultType`` says.
    public let result: Any?

    fileprivate init(_ tally: BatchTally) {
        resultType = tally.type
        switch tally.type {
        case .statusOnly: result = NSNumber(value: true)
        case .objectIDs: result = tally.ids
        case .count: result = NSNumber(value: tally.count)
        }
    }
}

/// The objects of a batch so far. Memory: their ids, if they are asked for.
private struct BatchTally {
    let type: BatchResultType
    var count = 0
    var ids: [ManagedObjectID] = []

    init(_ type: BatchResultType) { self.type = type }

    mutating func note(_ id: @autoclosure () -> ManagedObjectID) {
        count += 1
        if type == .objectIDs { ids.append(id()) }
    }
}

/// Deletes the objects that a fetch request selects, as ``ManagedObjectContext/delete(_:)`` does.
public final class BatchDeleteRequest: PersistentStoreRequest {
    /// The form of the result.
    public var resultType = BatchResultType.statusOnly
    /// The request that selects the objects.
    public let fetchRequest: FetchRequest<NSObject>
    private let objectIDs: [ManagedObjectID]?

    /// Creates a request to delete what a fetch request selects.
    public init(fetchRequest: FetchRequest<NSObject>) {
        self.fetchRequest = fetchRequest
        objectIDs = nil
    }

    /// Creates a request to delete objects by their ids.
    public init(objectIDs: [ManagedObjectID]) {
        fetchRequest = FetchRequest()
        fetchRequest.entity = objectIDs.first?.entity
        self.objectIDs = objectIDs
    }

    override func run(in context: ManagedObjectContext) throws -> PersistentStoreResult {
        var tally = BatchTally(resultType)
        func delete(_ object: ManagedObject) {
            tally.note(object.objectID)
            context.delete(object)
        }
        if let objectIDs {
            // An object that is gone is deleted already.
            for case let object? in objectIDs.lazy.map(context.registeredObject(for:)) { delete(object) }
        } else {
            try context.forEachGathered(fetchRequest, delete)
        }
        return BatchResult(tally)
    }
}

/// Sets properties of the objects that a predicate selects.
public final class BatchUpdateRequest: PersistentStoreRequest {
    /// The name of the entity whose objects are changed.
    public let entityName: String
    /// The condition for objects; nil: all objects.
    public var predicate: FormatPredicate?
    /// True to change objects of subentities too.
    public var includesSubentities = true
    /// The values by property: its name or its description. A ``ValueExpression`` is evaluated for each object.
    public var propertiesToUpdate: [AnyHashable: Any]?
    /// The form of the result.
    public var resultType = BatchResultType.statusOnly

    /// Creates a request for the objects of an entity by name.
    public init(entityName: String) { self.entityName = entityName }

    /// Creates a request for the objects of an entity.
    public convenience init(entity: EntityDescription) { self.init(entityName: entity.definition.name) }

    override func run(in context: ManagedObjectContext) throws -> PersistentStoreResult {
        let request = FetchRequest<NSObject>(entityName: entityName)
        request.predicate = predicate
        request.includesSubentities = includesSubentities
        let values = try (propertiesToUpdate ?? [:]).map { key, value in
            guard let name = FetchRequest<NSObject>.propertyName(key.base) else {
                throw MigrationError(
                    "fetch.unsupported", .data, "A batch update sets properties, not a \(type(of: key.base))",
                    remedy: "Name properties in propertiesToUpdate", context: .init(entity: entityName))
            }
            return (name, value)
        }.sorted { $0.0 < $1.0 }
        var tally = BatchTally(resultType)
        try context.forEachGathered(request) { object in
            tally.note(object.objectID)
            // All expressions see the object's values from before.
            let found: [(String, Any?)] = try values.map { name, value in
                guard let expression = value as? ValueExpression else { return (name, value) }
                return (name, try expression.evaluate(with: object, variables: [:]))
            }
            for (name, value) in found { object.setValue(value, forKey: name) }
        }
        return BatchResult(tally)
    }
}

/// Inserts objects one after the other, whose values come from dictionaries or from a closure.
public final class BatchInsertRequest: PersistentStoreRequest {
    /// The name of the objects' entity.
    public let entityName: String
    /// The values of the objects; nil if a closure gives them.
    public var objectsToInsert: [[String: Any]]?
    /// Fills the next object's values, or returns true if there are no more.
    public var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
    /// Fills the next object, which is in no context yet, or returns true if there are no more.
    public var managedObjectHandler: ((ManagedObject) -> Bool)?
    /// The form of the result.
    public var resultType = BatchResultType.statusOnly

    /// Creates a request for objects with given values.
    public init(entityName: String, objects: [[String: Any]]) {
        self.entityName = entityName
        objectsToInsert = objects
    }

    /// Creates a request for objects whose values a closure fills in; it returns true once there are no more.
    public init(entityName: String, dictionaryHandler: @escaping (NSMutableDictionary) -> Bool) {
        self.entityName = entityName
        self.dictionaryHandler = dictionaryHandler
    }

    /// Creates a request for objects that a closure fills in; it returns true once there are no more.
    public init(entityName: String, managedObjectHandler: @escaping (ManagedObject) -> Bool) {
        self.entityName = entityName
        self.managedObjectHandler = managedObjectHandler
    }

    /// Creates a request for objects of an entity with given values.
    public convenience init(entity: EntityDescription, objects: [[String: Any]]) {
        self.init(entityName: entity.definition.name, objects: objects)
    }

    /// Creates a request for objects of an entity whose values a closure fills in.
    public convenience init(entity: EntityDescription, dictionaryHandler: @escaping (NSMutableDictionary) -> Bool) {
        self.init(entityName: entity.definition.name, dictionaryHandler: dictionaryHandler)
    }

    /// Creates a request for objects of an entity that a closure fills in.
    public convenience init(entity: EntityDescription, managedObjectHandler: @escaping (ManagedObject) -> Bool) {
        self.init(entityName: entity.definition.name, managedObjectHandler: managedObjectHandler)
    }

    override func run(in context: ManagedObjectContext) throws -> PersistentStoreResult {
        guard context.isDestination else {
            throw MigrationError(
                "context.batchOfSource", .data, "Objects cannot be inserted into the source",
                remedy: "Execute the request in the destination's context", context: .init(entity: entityName))
        }
        var tally = BatchTally(resultType)
        func insert(_ values: [String: Any]) {
            let object = context.insertNewObject(named: entityName)
            object.setValuesForKeys(values)
            tally.note(object.objectID)
        }
        for values in objectsToInsert ?? [] { insert(values) }
        if let dictionaryHandler {
            let values = NSMutableDictionary()
            while !dictionaryHandler(values) {
                insert(values as? [String: Any] ?? [:])
                values.removeAllObjects()
            }
        }
        if let managedObjectHandler {
            let entity = try context.entity(named: entityName)
            while true {
                let object = ManagedObject(entity: entity, insertInto: nil)
                if managedObjectHandler(object) { break }
                context.insert(object)
                tally.note(object.objectID)
            }
        }
        return BatchResult(tally)
    }
}

extension ManagedObjectContext {
    /// Executes a batch request, or a fetch. As all changes of a migration, those of a batch are seen at once: those of
    /// destination objects are saved at the end, those of source objects hold until then.
    ///
    /// Memory: the ids of the objects if they are asked for; while it works, their keys above a share of memory are on disk.
    ///
    /// - Throws: `context.batchOfSource` (65) for an insertion into the source; the errors of ``fetch(_:)``.
    /// - Complexity: a fetch, and a change of each object.
    @discardableResult
    public func execute(_ request: PersistentStoreRequest) throws -> PersistentStoreResult {
        _ = try openBacking()
        return try request.run(in: target)
    }

    /// Calls a closure with each object that a request selects. The closure may change objects, because all are selected
    /// before it is called.
    fileprivate func forEachGathered(
        _ request: FetchRequest<NSObject>, _ body: (ManagedObject) throws -> Void
    ) throws {
        let (engine, query) = try query(of: request)
        let sorter = engine.run.services.sorter(width: 2)
        try engine.forEach(query) { object in
            try sorter.append(SortKey.encode(object.key), UInt64(object.place.entity.index))
            return true
        }
        let (model, table) = (engine.side.schema.model, query.rows.table)
        let records = try sorter.finish()
        try withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2) { words in
            words.initialize(repeating: 0)
            guard let record = words.baseAddress else { return }
            while try records.next(into: record) {
                try engine.run.services.checkCancelled()
                let entity = model.entity(at: Int(record[1]))
                try body(object(at: ObjectPlace(entity: entity, key: SortKey.decode(record[0]), table: table)))
            }
        }
    }
}

extension PersistentStoreCoordinator {
    /// Executes a batch request in a context: ``ManagedObjectContext/execute(_:)``.
    @discardableResult
    public func execute(
        _ request: PersistentStoreRequest, with context: ManagedObjectContext
    ) throws -> PersistentStoreResult {
        try context.execute(request)
    }
}
