import Foundation

/// A merge policy: it says what a save does in Core Data if the store has changed in the meantime. A migration's only save
/// merges nothing: the policies are here so that code that sets them compiles.
public class MergePolicy: NSObject, @unchecked Sendable {
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
