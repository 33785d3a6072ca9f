import Diagnostics
import Foundation
import ManagedModel
import Mapping

// Core Data's names, so that a policy source written for it compiles under `import Stagecoach`. What Foundation on Linux
// has under the same name is hidden as long as a file does not import Foundation itself.

public typealias NSManagedObject = ManagedObject
public typealias NSManagedObjectID = ManagedObjectID
public typealias NSManagedObjectContext = ManagedObjectContext
public typealias NSManagedObjectModel = ManagedObjectModel

public typealias NSEntityDescription = EntityDescription
public typealias NSPropertyDescription = PropertyDescription
public typealias NSAttributeDescription = AttributeDescription
public typealias NSRelationshipDescription = RelationshipDescription
public typealias NSAttributeType = AttributeType
public typealias NSDeleteRule = DeleteRule

public typealias NSStagedMigrationManager = StagedMigrationManager
public typealias NSMigrationStage = MigrationStage
public typealias NSLightweightMigrationStage = LightweightMigrationStage
public typealias NSCustomMigrationStage = CustomMigrationStage
public typealias NSManagedObjectModelReference = ManagedObjectModelReference

public typealias NSEntityMigrationPolicy = EntityMigrationPolicy
public typealias NSMigrationManager = MigrationManager
public typealias NSMappingModel = MappingModel
public typealias NSEntityMapping = EntityMapping
public typealias NSPropertyMapping = PropertyMapping
public typealias NSEntityMappingType = EntityMappingType

public typealias NSExpression = ValueExpression
public typealias NSPredicate = FormatPredicate
public typealias NSCompoundPredicate = CompoundPredicate
public typealias NSComparisonPredicate = ComparisonPredicate
public typealias NSSortDescriptor = KeySortDescriptor

/// A fetch request. `NSFetchRequest<NSFetchRequestResult>` gives whatever its result type says, as in Core Data.
public typealias NSFetchRequest<Result: FetchRequestResult> = FetchRequest<Result>
/// Any result of a fetch: a class, because a protocol does not conform to itself outside of Objective-C.
public typealias NSFetchRequestResult = NSObject
public typealias NSFetchRequestResultType = FetchRequestResultType
public typealias NSPersistentStore = PersistentStore
public typealias NSPersistentStoreCoordinator = PersistentStoreCoordinator
