import Foundation

/// A merge policy: it says what a save does in Core Data if the store has changed in the meantime. A migration's only save
/// merges nothing: the policies are here so that code that sets them compiles.
open class MergePolicy: NSObject, @unchecked Sendable {
    /// The kinds of merge policies, with Core Data's codes.
    public enum MergeType: UInt, Sendable {
        /// A conflict is an error.
        case errorMergePolicyType = 0
        /// The store's values count.
        case mergeByPropertyStoreTrumpMergePolicyType = 1
        /// The objects' values count.
        case mergeByPropertyObjectTrumpMergePolicyType = 2
        /// The object replaces the row.
        case overwriteMergePolicyType = 3
        /// The object's changes are dropped.
        case rollbackMergePolicyType = 4
    }

    /// The kind of the policy.
    public let mergeType: MergeType

    /// Creates a policy of a kind.
    public init(merge type: MergeType) { mergeType = type }

    /// Never called here: nothing conflicts.
    open func resolve(mergeConflicts list: [Any]) throws {}
    /// Never called here: nothing conflicts.
    open func resolve(optimisticLockingConflicts list: [MergeConflict]) throws {}
    /// Never called here: objects that break a uniqueness constraint are invalid.
    open func resolve(constraintConflicts list: [ConstraintConflict]) throws {}

    /// A conflict is an error.
    public static let error = MergePolicy(merge: .errorMergePolicyType)
    /// The store's values count.
    public static let mergeByPropertyStoreTrump = MergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
    /// The objects' values count.
    public static let mergeByPropertyObjectTrump = MergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    /// The object replaces the row.
    public static let overwrite = MergePolicy(merge: .overwriteMergePolicyType)
    /// The object's changes are dropped.
    public static let rollback = MergePolicy(merge: .rollbackMergePolicyType)
}

/// An object that was changed here and in the store. A migration has none.
open class MergeConflict: NSObject {
    /// The object.
    public let sourceObject: ManagedObject
    /// The object's values.
    public let objectSnapshot: [String: Any]?
    /// The values that the coordinator has.
    public let cachedSnapshot: [String: Any]?
    /// The values that the store has.
    public let persistedSnapshot: [String: Any]?
    /// The version of the object's row when it was changed.
    public let newVersionNumber: Int
    /// The version of the object's row when it was read.
    public let oldVersionNumber: Int

    /// Creates a conflict.
    public init(
        source object: ManagedObject, newVersion: Int, oldVersion: Int, cachedSnapshot: [String: Any]?,
        persistedSnapshot: [String: Any]?
    ) {
        sourceObject = object
        objectSnapshot = object.committedValues(forKeys: nil)
        (newVersionNumber, oldVersionNumber) = (newVersion, oldVersion)
        (self.cachedSnapshot, self.persistedSnapshot) = (cachedSnapshot, persistedSnapshot)
    }
}

/// Objects that break a uniqueness constraint. A migration reports them as invalid objects.
open class ConstraintConflict: NSObject {
    /// The names of the constraint's attributes.
    public let constraint: [String]
    /// The values that are not unique.
    public let constraintValues: [String: Any]
    /// The object that the store has; nil if all are new.
    public let databaseObject: ManagedObject?
    /// The values of that object in the store.
    public let databaseSnapshot: [AnyHashable: Any]?
    /// The objects with the same values.
    public let conflictingObjects: [ManagedObject]
    /// The objects' values.
    public let conflictingSnapshots: [[AnyHashable: Any]]

    /// Creates a conflict.
    public init(
        constraint: [String], databaseObject: ManagedObject?, databaseSnapshot: [AnyHashable: Any]?,
        conflictingObjects: [ManagedObject], conflictingSnapshots: [Any]
    ) {
        self.constraint = constraint
        let values = (databaseObject ?? conflictingObjects.first)?.dictionaryWithValues(forKeys: constraint)
        constraintValues = values ?? [:]
        (self.databaseObject, self.databaseSnapshot) = (databaseObject, databaseSnapshot)
        self.conflictingObjects = conflictingObjects
        self.conflictingSnapshots = conflictingSnapshots.compactMap { $0 as? [AnyHashable: Any] }
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Core Data's name of ``MergePolicy/error``.
public let NSErrorMergePolicy = MergePolicy.error
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Core Data's name of ``MergePolicy/mergeByPropertyStoreTrump``.
public let NSMergeByPropertyStoreTrumpMergePolicy = MergePolicy.mergeByPropertyStoreTrump
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Core Data's name of ``MergePolicy/mergeByPropertyObjectTrump``.
public let NSMergeByPropertyObjectTrumpMergePolicy = MergePolicy.mergeByPropertyObjectTrump
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Core Data's name of ``MergePolicy/overwrite``.
public let NSOverwriteMergePolicy = MergePolicy.overwrite
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Core Data's name of ``MergePolicy/rollback``.
public let NSRollbackMergePolicy = MergePolicy.rollback
