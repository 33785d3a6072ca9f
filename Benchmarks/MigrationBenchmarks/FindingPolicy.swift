import Foundation
import Mapping
import Stagecoach

/// Finds the destination object with the source object's number or takes the default method's: appended to a destination
/// that has all of them, it makes none, and every relationship is set to what it is.
final class FindingPolicy: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        guard let entity = mapping.destinationEntityName, let number = sInstance.value(forKey: "number") else { return }
        let context = manager.destinationContext
        let request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = FormatPredicate(format: "number == %@", number)
        request.fetchLimit = 1
        if let found = try context.fetch(request).first {
            found.setValue(number, forKey: "number")
            manager.associate(sourceInstance: sInstance, withDestinationInstance: found, for: mapping)
        } else {
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        }
    }
}

/// Adds every object that it makes to the members of one group, at the end, one at a time.
final class GatheringPolicy: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard mapping.destinationEntityName == "Member" else { return }
        let context = manager.destinationContext
        let request = FetchRequest<ManagedObject>(entityName: "Group")
        request.fetchLimit = 1
        let group = try context.fetch(request).first
        let made = manager.destinationInstances(
            forEntityMappingName: mapping.name, sourceInstances: [sInstance])
        if let member = made.first { group?.mutableOrderedSetValue(forKey: "members").add(member) }
    }

    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        // The relationships are what the other method made them.
    }
}
