import Foundation
import Mapping
import Stagecoach

/// Fetches for each object by equality in both contexts, changes what it found, and walks over all objects in the end:
/// what real policies do to find or create.
final class FetchingPolicy: EntityMigrationPolicy {
    private var seen = 0
    /// The attribute that both entities have and objects are fetched by.
    private var attribute: String?

    override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
        let source = manager.sourceEntity(for: mapping)?.attributesByName
        let made = manager.destinationEntity(for: mapping)?.attributesByName
        attribute = ["isbn", "email", "number", "label", "name"].first { source?[$0] != nil && made?[$0] != nil }
    }

    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let entity = mapping.destinationEntityName, let sourceEntity = mapping.sourceEntityName, let attribute
        else { return }
        let value = sInstance.value(forKey: attribute)
        let made = FetchRequest<ManagedObject>(entityName: entity)
        made.predicate = FormatPredicate(format: "%K == %@", attribute, value)
        made.fetchLimit = 1
        for object in try manager.destinationContext.fetch(made) {
            object.setValue(value, forKey: attribute)
            seen += 1
        }
        let origins = FetchRequest<ManagedObject>(entityName: sourceEntity)
        origins.predicate = FormatPredicate(format: "%K == %@", attribute, value)
        origins.fetchLimit = 1
        seen += try manager.sourceContext.count(for: origins)
    }

    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
        guard let entity = mapping.destinationEntityName else { return }
        let context = manager.destinationContext
        let sorted = FetchRequest<ManagedObject>(entityName: entity)
        sorted.sortDescriptors = [
            KeySortDescriptor(
                key: manager.destinationModel.entitiesByName[entity]?.attributesByName.keys.sorted().first,
                ascending: false)
        ]
        sorted.fetchLimit = 100
        seen += try context.fetch(sorted).count
        for object in context.insertedObjects where object.entity.name == entity { seen += 1 }
    }
}
