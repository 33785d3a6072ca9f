import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Takes over any step of an entity mapping. One object lives from ``begin(_:with:)`` to ``end(_:manager:)``.
///
/// The default methods do what Core Data's do: creation inserts one object of the destination entity, evaluates the
/// attribute mappings and associates; relating evaluates the relationship mappings; the other methods do nothing. An
/// override of creation that does not call super has to associate itself.
open class EntityMigrationPolicy: NSObject {
    /// What value expressions may call; nil until a registry sets it or somebody asks.
    var functions: RegisteredFunctions?

    public required override init() { super.init() }

    /// Whether creation calls for different source objects may run at the same time; ``PolicyExecution/isolated`` unless it is
    /// overridden. Asked for once, after ``begin(_:with:)``.
    open var execution: PolicyExecution { .isolated }

    /// Before the first object of the entity mapping is created.
    open func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

    /// Once for each source object: creates its destination objects and associates them.
    open func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try manager.runtime().createDefault(for: sInstance, in: mapping)
    }

    /// After the last object of the entity mapping is created.
    open func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Once for each distinct destination object associated for the mapping, in order of first association.
    open func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try manager.runtime().relateDefault(dInstance, in: mapping)
    }

    /// After the relationships of the entity mapping are set.
    open func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Before the model's own rules are checked.
    open func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

    /// The end of the entity mapping; the policy is released afterwards.
    open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}
}
