import Foundation
import Mapping

/// Customises any step of an entity mapping. One object lives from ``begin(_:with:)`` to ``end(_:manager:)``.
///
/// The default methods do the same as Core Data's: creation inserts one object of the destination entity, evaluates the
/// attribute mappings and associates the object; relating evaluates the relationship mappings; the other methods do
/// nothing. An override of creation that does not call super has to associate its objects itself.
///
/// ```swift
/// final class SplitName: EntityMigrationPolicy {
///     override func createDestinationInstances(
///         forSource person: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
///     ) throws {
///         let words = (person.value(forKey: "name") as? String ?? "").split(separator: " ")
///         let made = EntityDescription.insertNewObject(
///             forEntityName: mapping.destinationEntityName ?? "", into: manager.destinationContext)
///         made.setValue(words.first.map(String.init), forKey: "firstName")
///         made.setValue(words.dropFirst().joined(separator: " "), forKey: "lastName")
///         manager.associate(sourceInstance: person, withDestinationInstance: made, for: mapping)
///     }
/// }
/// PolicyRegistry.shared.register(SplitName.self)
/// ```
open class EntityMigrationPolicy: NSObject {
    /// The functions that value expressions may call; nil until a registry sets them or they are first needed.
    var functions: RegisteredFunctions?

    public required override init() { super.init() }

    /// Called before the first object of the entity mapping is created.
    open func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

    /// Called once for each source object: creates its destination objects and associates them.
    open func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try manager.runtime().creation.createDefault(for: sInstance, in: mapping)
    }

    /// Called after the last object of the entity mapping is created.
    open func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Called once for each distinct destination object associated for the mapping, in order of first association: sets
    /// its relationships.
    open func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try manager.runtime().relateDefault(dInstance, in: mapping)
    }

    /// Called after the relationships of the entity mapping are set.
    open func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Called before the model's own rules are checked.
    open func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Called at the end of the entity mapping; the policy is released afterwards.
    open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}
}
