import Foundation
import ManagedModel
import Mapping

/// A type of results that a fetch request can give: objects, their ids, dictionaries of values, or their number.
public protocol FetchRequestResult: NSObjectProtocol {}

/// Objects, ids, dictionaries and numbers; NSObject itself stands for any of them.
extension NSObject: FetchRequestResult {}

/// The form of a fetch request's results, with Core Data's codes.
public struct FetchRequestResultType: OptionSet, Sendable, Hashable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Objects; used if no other form is asked for.
    public static let managedObjectResultType: FetchRequestResultType = []
    /// The objects' ids.
    public static let managedObjectIDResultType = FetchRequestResultType(rawValue: 1)
    /// Dictionaries of values.
    public static let dictionaryResultType = FetchRequestResultType(rawValue: 2)
    /// The number of objects.
    public static let countResultType = FetchRequestResultType(rawValue: 4)
}

/// A request for objects of a context, with their order and the form of the results.
///
/// Without sort descriptors, objects come in ascending order of their keys. A predicate follows SQL's logic for nil, as
/// in Core Data's SQLite stores: a comparison with nil is unknown, and an object for which the whole predicate is
/// unknown is left out; `key == nil` tests whether there is no value.
///
/// `ResultType` is one of the types that conform to ``FetchRequestResult``, or `any FetchRequestResult`; then the
/// results can be cast as a whole, `as? [ManagedObject]`.
///
/// ```swift
/// let request = FetchRequest<ManagedObject>(entityName: "Book")
/// request.predicate = FormatPredicate(format: "pageCount > %d AND author.name BEGINSWITH %@", 300, "A")
/// request.sortDescriptors = [KeySortDescriptor(key: "title", ascending: true)]
/// request.fetchLimit = 10
/// for book in try manager.sourceContext.fetch(request) { print(book.value(forKey: "title") ?? "") }
/// ```
public final class FetchRequest<ResultType>: PersistentStoreRequest, NSCopying {
    /// The entity whose objects are fetched; set by the context if only the name is given.
    public var entity: EntityDescription? {
        get { storedEntity }
        set {
            storedEntity = newValue
            storedName = newValue?.definition.name
        }
    }
    /// The name of the entity whose objects are fetched.
    public var entityName: String? { storedName }
    /// The condition for objects; nil: all objects.
    public var predicate: FormatPredicate?
    /// The order of the results; nil: ascending by key.
    public var sortDescriptors: [KeySortDescriptor]?
    /// The largest number of results; 0: all.
    public var fetchLimit = 0
    /// The number of results to skip at the beginning.
    public var fetchOffset = 0
    /// Has no effect: rows are always read in batches, and objects are faults.
    public var fetchBatchSize = 0
    /// True to fetch objects of subentities too.
    public var includesSubentities = true
    /// Has no effect: a fetch always sees the current values, and nothing is saved before the last policy's end.
    public var includesPendingChanges = true
    /// Has no effect: objects hold no values.
    public var includesPropertyValues = true
    /// Has no effect: objects are always faults.
    public var returnsObjectsAsFaults = true
    /// Has no effect: objects always show their current values.
    public var shouldRefreshRefetchedObjects = false
    /// Has no effect: relationships are read for a whole batch when they are first used.
    public var relationshipKeyPathsForPrefetching: [String]?
    /// The form of the results. If it is not set, it follows from `ResultType`.
    public var resultType: FetchRequestResultType
    /// The properties in dictionaries, as names or descriptions, and each an ``ExpressionDescription``; nil: all attributes.
    public var propertiesToFetch: [Any]?
    /// The properties whose equal values make objects a group, which gives one dictionary.
    public var propertiesToGroupBy: [Any]?
    /// Not supported: refused when the request is executed.
    public var havingPredicate: FormatPredicate?
    /// True to give equal dictionaries only once.
    public var returnsDistinctResults = false

    private var storedEntity: EntityDescription?
    private var storedName: String?

    /// Creates a request without an entity, which has to be set before use.
    public override init() { resultType = FetchRequest.standardType }

    /// Creates a request for the objects of an entity by name.
    public init(entityName: String) {
        storedName = entityName
        resultType = FetchRequest.standardType
    }

    /// True if objects are put in groups.
    var groups: Bool { propertiesToGroupBy?.isEmpty == false }

    /// Returns the results, from the context whose `perform` or `performAndWait` runs.
    ///
    /// - Throws: `fetch.noContext` (65) outside of these; the errors of ``ManagedObjectContext/fetch(_:)``.
    public func execute() throws -> [ResultType] {
        guard let context = ManagedObjectContext.performing else {
            throw MigrationError(
                "fetch.noContext", .data, "A fetch request was executed outside of a context's perform",
                remedy: "Give it to a context: context.fetch(request)")
        }
        return try context.fetch(self)
    }

    override func run(in context: ManagedObjectContext) throws -> PersistentStoreResult {
        AsynchronousFetchResult(self, try context.fetch(self))
    }

    /// Returns a request with the same properties.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = FetchRequest()
        (copy.storedEntity, copy.storedName, copy.predicate) = (storedEntity, storedName, predicate)
        (copy.sortDescriptors, copy.fetchLimit, copy.fetchOffset) = (sortDescriptors, fetchLimit, fetchOffset)
        (copy.resultType, copy.propertiesToFetch) = (resultType, propertiesToFetch)
        (copy.propertiesToGroupBy, copy.havingPredicate) = (propertiesToGroupBy, havingPredicate)
        (copy.includesSubentities, copy.returnsDistinctResults) = (includesSubentities, returnsDistinctResults)
        (copy.fetchBatchSize, copy.includesPendingChanges) = (fetchBatchSize, includesPendingChanges)
        (copy.includesPropertyValues, copy.returnsObjectsAsFaults) = (includesPropertyValues, returnsObjectsAsFaults)
        copy.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
        copy.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching
        copy.affectedStores = affectedStores
        return copy
    }

    /// Returns the name of a property that is given by name or as a description; nil for anything else.
    static func propertyName(_ property: Any) -> String? {
        property as? String ?? (property as? NSPropertyDescription)?.name
    }

    private static var standardType: FetchRequestResultType {
        if ResultType.self == NSNumber.self { return .countResultType }
        if ResultType.self == NSDictionary.self { return .dictionaryResultType }
        if ResultType.self == ManagedObjectID.self { return .managedObjectIDResultType }
        return .managedObjectResultType
    }
}
