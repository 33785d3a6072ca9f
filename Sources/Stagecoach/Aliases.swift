import Foundation
import ManagedModel
import Mapping

// Core Data's names, so that a policy source written for it compiles under `import Stagecoach`. What Foundation on Linux
// has under the same name is hidden as long as a file does not import Foundation itself.

/// Core Data's name of ``ManagedObject``.
public typealias NSManagedObject = ManagedObject
/// Core Data's name of ``ManagedObjectID``.
public typealias NSManagedObjectID = ManagedObjectID
/// Core Data's name of ``ManagedObjectContext``.
public typealias NSManagedObjectContext = ManagedObjectContext
/// Core Data's name of ``ManagedObjectContext/ConcurrencyType``.
public typealias NSManagedObjectContextConcurrencyType = ManagedObjectContext.ConcurrencyType
/// Core Data's name of ``MergePolicy``.
public typealias NSMergePolicy = MergePolicy
/// Core Data's name of ``MergePolicy/MergeType``.
public typealias NSMergePolicyType = MergePolicy.MergeType
/// Core Data's name of ``MergeConflict``.
public typealias NSMergeConflict = MergeConflict
/// Core Data's name of ``ConstraintConflict``.
public typealias NSConstraintConflict = ConstraintConflict
/// Core Data's name of ``SnapshotEventType``.
public typealias NSSnapshotEventType = SnapshotEventType
/// Core Data's name of ``ManagedObjectModel``.
public typealias NSManagedObjectModel = ManagedObjectModel

/// Core Data's name of ``EntityDescription``.
public typealias NSEntityDescription = EntityDescription
/// Core Data's name of ``AttributeType``.
public typealias NSAttributeType = AttributeType
/// Core Data's name of ``DeleteRule``.
public typealias NSDeleteRule = DeleteRule

/// Core Data's name of ``EntityMigrationPolicy``.
public typealias NSEntityMigrationPolicy = EntityMigrationPolicy
/// Core Data's name of ``MigrationManager``.
public typealias NSMigrationManager = MigrationManager
/// Core Data's name of ``MappingModel``.
public typealias NSMappingModel = MappingModel
/// Core Data's name of ``EntityMapping``.
public typealias NSEntityMapping = EntityMapping
/// Core Data's name of ``PropertyMapping``.
public typealias NSPropertyMapping = PropertyMapping
/// Core Data's name of ``EntityMappingType``.
public typealias NSEntityMappingType = EntityMappingType

/// Core Data's name of ``ValueExpression``.
public typealias NSExpression = ValueExpression
/// Core Data's name of ``FormatPredicate``.
public typealias NSPredicate = FormatPredicate
/// Core Data's name of ``CompoundPredicate``.
public typealias NSCompoundPredicate = CompoundPredicate
/// Core Data's name of ``ComparisonPredicate``.
public typealias NSComparisonPredicate = ComparisonPredicate
/// Core Data's name of ``KeySortDescriptor``.
public typealias NSSortDescriptor = KeySortDescriptor

/// A fetch request. `NSFetchRequest<NSFetchRequestResult>` gives whatever its result type says, as in Core Data.
public typealias NSFetchRequest<Result: FetchRequestResult> = FetchRequest<Result>
/// Any result of a fetch: a class, because a protocol does not conform to itself outside of Objective-C.
public typealias NSFetchRequestResult = NSObject
/// Core Data's name of ``FetchRequestResultType``.
public typealias NSFetchRequestResultType = FetchRequestResultType
/// Core Data's name of ``ExpressionDescription``.
public typealias NSExpressionDescription = ExpressionDescription
/// Core Data's name of ``PersistentStore``.
public typealias NSPersistentStore = PersistentStore
/// Core Data's name of ``PersistentStoreDescription``.
public typealias NSPersistentStoreDescription = PersistentStoreDescription
/// Core Data's name of ``PersistentStoreCoordinator``.
public typealias NSPersistentStoreCoordinator = PersistentStoreCoordinator
/// Core Data's name of ``PersistentStoreRequest``.
public typealias NSPersistentStoreRequest = PersistentStoreRequest
/// Core Data's name of ``PersistentStoreResult``.
public typealias NSPersistentStoreResult = PersistentStoreResult
/// Core Data's name of ``AsynchronousFetchRequest``.
public typealias NSAsynchronousFetchRequest<Result: FetchRequestResult> = AsynchronousFetchRequest<Result>
/// Core Data's name of ``AsynchronousFetchResult``.
public typealias NSAsynchronousFetchResult<Result: FetchRequestResult> = AsynchronousFetchResult<Result>
/// Core Data's name of ``BatchDeleteRequest``.
public typealias NSBatchDeleteRequest = BatchDeleteRequest
/// Core Data's name of ``BatchUpdateRequest``.
public typealias NSBatchUpdateRequest = BatchUpdateRequest
/// Core Data's name of ``BatchInsertRequest``.
public typealias NSBatchInsertRequest = BatchInsertRequest
/// Core Data's name of ``BatchResult``.
public typealias NSBatchDeleteResult = BatchResult
/// Core Data's name of ``BatchResult``.
public typealias NSBatchUpdateResult = BatchResult
/// Core Data's name of ``BatchResult``.
public typealias NSBatchInsertResult = BatchResult
/// Core Data's name of ``BatchResultType``.
public typealias NSBatchDeleteRequestResultType = BatchResultType
/// Core Data's name of ``BatchResultType``.
public typealias NSBatchUpdateRequestResultType = BatchResultType
/// Core Data's name of ``BatchResultType``.
public typealias NSBatchInsertRequestResultType = BatchResultType
