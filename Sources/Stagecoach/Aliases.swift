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
