import Foundation
import ManagedModel

extension ManagedObject {
    /// The object's context while the migration runs.
    private var openContext: ManagedObjectContext? { context.flatMap { $0.isOpen ? $0 : nil } }

    /// True if the object has been deleted in its context.
    public final var isDeleted: Bool { openContext.map { !$0.exists(self) } ?? false }

    /// True if the object will be saved as a new one. This holds for every object of the destination that was neither
    /// deleted nor in the store before.
    public final var isInserted: Bool { openContext?.isInserted(self) ?? false }

    /// True if the object was in its store before and has been changed.
    public final var isUpdated: Bool { openContext?.isUpdated(self) ?? false }

    /// True if the object will be saved.
    public final var hasChanges: Bool { isInserted || isUpdated }

    /// True if anything was set on the object that will be saved.
    public final var hasPersistentChangedValues: Bool { hasChanges }

    /// False while the migration runs, because values are read when they are needed. True afterwards.
    public final var isFault: Bool { managedObjectContext == nil && context != nil }

    /// 0 while values can be read, else 1.
    public final var faultingState: Int { isFault ? 1 : 0 }

    /// Returns false: members are read when they are needed.
    public final func hasFault(forRelationshipNamed key: String) -> Bool { false }

    /// Returns the changed values. Of a source object those that differ from the file's, with NSNull for nil; of a destination
    /// object all that will be saved and are not nil. A transformable attribute that cannot be transformed has its bytes.
    public final func changedValues() -> [String: Any] {
        guard hasChanges, let context = openContext else { return [:] }
        var values: [String: Any] = [:]
        for name in entity.propertyNames {
            let value = context.readableValue(of: self, key: name)
            guard !context.isDestination else {
                values[name] = value
                continue
            }
            let committed = context.readableValue(of: self, key: name, isCommitted: true)
            let (now, before) = (value ?? NSNull(), committed ?? NSNull())
            let isSame = ((now as AnyObject) as? NSObject)?.isEqual(before as AnyObject) ?? false
            if !isSame { values[name] = now }
        }
        return values
    }

    /// Returns the same as ``changedValues()``.
    public final func changedValuesForCurrentEvent() -> [String: Any] { changedValues() }

    /// Returns the values of a source object in the file, also if they were changed since, with NSNull for nil. Empty for a
    /// destination object: even if it was in the store before, its changed values have replaced the stored ones.
    public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
        guard let context = openContext, !context.isDestination else { return [:] }
        return Dictionary(
            (keys ?? entity.propertyNames).map { ($0, context.committedValue(of: self, key: $0) ?? NSNull()) },
            uniquingKeysWith: { first, _ in first })
    }

    /// Returns the ids of the objects in a relationship, in its order.
    public final func objectIDs(forRelationshipNamed key: String) -> [ManagedObjectID] {
        ValueBridge.items(of: value(forKey: key)).compactMap { ($0 as? ManagedObject)?.objectID }
    }

}

extension EntityDescription {
    /// The names of attributes, then of relationships.
    var propertyNames: [String] { attributes.map(\.name) + relationships.map(\.name) }
}
