import Diagnostics
import Foundation
import ManagedModel

extension ManagedObject {
    /// Whether the object has been deleted in its context.
    public final var isDeleted: Bool {
        guard let context, context.isOpen, context.isDestination else { return false }
        return !context.exists(self)
    }

    /// Whether the object will be saved as a new one: every object of the destination that was not deleted, nor in the
    /// store before.
    public final var isInserted: Bool {
        guard let context, context.isOpen, context.isDestination else { return false }
        return context.isInserted(self)
    }

    /// Whether the object was in the destination's store before and has been changed. Source objects cannot be changed.
    public final var isUpdated: Bool {
        guard let context, context.isOpen, context.isDestination else { return false }
        return context.isUpdated(self)
    }

    /// Whether the object will be saved.
    public final var hasChanges: Bool { isInserted || isUpdated }

    /// Whether anything was set on the object that will be saved.
    public final var hasPersistentChangedValues: Bool { isInserted || isUpdated }

    /// False while the migration runs: values are there when they are asked for. True afterwards.
    public final var isFault: Bool { managedObjectContext == nil && context != nil }

    /// 0 while values are there, else 1.
    public final var faultingState: Int { isFault ? 1 : 0 }

    /// False: members are there when they are asked for.
    public final func hasFault(forRelationshipNamed key: String) -> Bool { false }

    /// What will be saved of a destination object: all its values, those of nil left out. Nothing of a source object.
    public final func changedValues() -> [String: Any] {
        guard isInserted || isUpdated else { return [:] }
        var values: [String: Any] = [:]
        for name in entity.propertyNames { values[name] = value(forKey: name) }
        return values
    }

    /// The same as ``changedValues()``.
    public final func changedValuesForCurrentEvent() -> [String: Any] { changedValues() }

    /// The values in the store: those of a source object, NSNull for nil; nothing of a destination object: of one that
    /// was in the store before, the changed values have taken their place.
    public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
        guard let context, !context.isDestination else { return [:] }
        return dictionaryWithValues(forKeys: keys ?? entity.propertyNames)
    }

    /// The ids of the objects that a relationship leads to, in its order.
    public final func objectIDs(forRelationshipNamed key: String) -> [ManagedObjectID] {
        switch value(forKey: key) {
        case let one as ManagedObject: [one.objectID]
        case let set as NSSet: set.compactMap { ($0 as? ManagedObject)?.objectID }
        case let set as NSOrderedSet: set.array.compactMap { ($0 as? ManagedObject)?.objectID }
        default: []
        }
    }

    /// Does nothing: access is not observed.
    public final func willAccessValue(forKey key: String?) {}
    /// Does nothing: access is not observed.
    public final func didAccessValue(forKey key: String?) {}
    /// Does nothing: changes are not observed.
    public final func willChangeValue(forKey key: String) {}
    /// Does nothing: changes are not observed.
    public final func didChangeValue(forKey key: String) {}

    /// The members of a to-many relationship; what is added or removed reaches the object at once.
    /// Each read shows the members of now; a cast to Swift's `Set` does not: ``value(forKey:)`` gives what can be cast.
    public func mutableSetValue(forKey key: String) -> NSMutableSet { RelationshipSet(object: self, key: key) }

    /// The members of an ordered to-many relationship in their order; changes reach the object at once.
    public func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
        if let known: RelationshipOrderedSet = context?.mutableView(of: self, key), known.isCurrent { return known }
        let view = RelationshipOrderedSet(object: self, key: key)
        context?.noteMutableView(view, of: self, key)
        return view
    }

    /// Checks the object against the model's rules: required values, bounds, lengths, patterns, counts.
    ///
    /// - Throws: `validation.missing`, `validation.tooSmall`, `validation.tooLarge`, `validation.tooShort`,
    ///   `validation.tooLong`, `validation.pattern`, `validation.tooFew`, `validation.tooMany` (65): the first rule that is
    ///   broken. The same is checked of every object when it is saved.
    public func validateForInsert() throws { try ObjectValidation(object: self).run() }

    /// The same as ``validateForInsert()``.
    public func validateForUpdate() throws { try ObjectValidation(object: self).run() }

    /// Nothing forbids a deletion: delete rules do not apply in a migration.
    public func validateForDelete() throws {}
}

extension EntityDescription {
    /// Names of attributes, then of relationships.
    var propertyNames: [String] { attributes.map(\.name) + relationships.map(\.name) }
}
