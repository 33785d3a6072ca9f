import Foundation
import ManagedModel
import Mapping

/// What a fetch request can give: objects, their ids, dictionaries of values, or their number.
public protocol FetchRequestResult: NSObjectProtocol {}

/// Objects, ids, dictionaries and numbers; NSObject itself stands for any of them.
extension NSObject: FetchRequestResult {}

/// What the results of a fetch request are, with Core Data's codes.
public struct FetchRequestResultType: OptionSet, Sendable, Hashable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Objects: the one where none of the others is asked for.
    public static let managedObjectResultType: FetchRequestResultType = []
    /// The objects' ids.
    public static let managedObjectIDResultType = FetchRequestResultType(rawValue: 1)
    /// Dictionaries of values.
    public static let dictionaryResultType = FetchRequestResultType(rawValue: 2)
    /// How many there are.
    public static let countResultType = FetchRequestResultType(rawValue: 4)
}

/// Which objects of a context are wanted, in which order and in which form.
///
/// Without sort descriptors objects come in ascending order of their keys. A predicate follows SQL's logic for nil, as
/// in Core Data's SQLite stores: a comparison with nil is unknown, and an object for which the whole is unknown is left
/// out; `key == nil` asks whether there is a value.
///
/// `ResultType` is one of the types that are ``FetchRequestResult``s, or `any FetchRequestResult`: then the results can be
/// cast as a whole, `as? [ManagedObject]`.
public final class FetchRequest<ResultType> {
    /// The entity whose objects are wanted; set by the context where only the name is given.
    public var entity: EntityDescription? {
        get { storedEntity }
        set {
            storedEntity = newValue
            storedName = newValue?.definition.name
        }
    }
    /// The entity whose objects are fetched.
    public var entityName: String? { storedName }
    /// Which objects; nil: all.
    public var predicate: FormatPredicate?
    /// The order; nil: any.
    public var sortDescriptors: [KeySortDescriptor]?
    /// Objects at most; 0: all.
    public var fetchLimit = 0
    /// Objects to leave out at the beginning.
    public var fetchOffset = 0
    /// Has no effect: rows are read in batches always, and objects are faults.
    public var fetchBatchSize = 0
    /// Whether objects of subentities are wanted too.
    public var includesSubentities = true
    /// Has no effect: a fetch sees the values of now always; nothing is saved before the last policy's end.
    public var includesPendingChanges = true
    /// Has no effect: objects hold no values.
    public var includesPropertyValues = true
    /// Has no effect: objects are faults always.
    public var returnsObjectsAsFaults = true
    /// Has no effect: an object's values are those of now always.
    public var shouldRefreshRefetchedObjects = false
    /// Has no effect: relationships are read for a whole batch when they are asked for.
    public var relationshipKeyPathsForPrefetching: [String]?
    /// What the results are. `ResultType` decides it where nobody sets it.
    public var resultType: FetchRequestResultType
    /// Names of the properties that dictionaries get; nil: all attributes. Other values than names (expression
    /// descriptions) are refused when the request is made.
    public var propertiesToFetch: [Any]?
    /// Refused when the request is made where it is not empty.
    public var propertiesToGroupBy: [Any]?
    /// Refused when the request is made, with ``propertiesToGroupBy``.
    public var havingPredicate: FormatPredicate?
    /// Whether equal dictionaries are given once.
    public var returnsDistinctResults = false

    private var storedEntity: EntityDescription?
    private var storedName: String?

    /// A request without an entity, which has to be set.
    public init() { resultType = FetchRequest.standardType }

    /// A request for the objects of an entity by name.
    public init(entityName: String) {
        storedName = entityName
        resultType = FetchRequest.standardType
    }

    private static var standardType: FetchRequestResultType {
        if ResultType.self == NSNumber.self { return .countResultType }
        if ResultType.self == NSDictionary.self { return .dictionaryResultType }
        if ResultType.self == ManagedObjectID.self { return .managedObjectIDResultType }
        return .managedObjectResultType
    }
}
