import Mapping

/// A migration policy over the reference's objects: the seven methods of an EntityMigrationPolicy. One object for each
/// entity mapping lives from its `begin` to its `end`; what a method throws ends the run.
package protocol ReferencePolicy: AnyObject {
    func begin(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws
    func createDestinationInstances(
        forSource source: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws
    func endInstanceCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws
    func createRelationships(
        forDestination destination: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws
    func endRelationshipCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws
    func performCustomValidation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws
    func end(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws
}

extension ReferencePolicy {
    package func begin(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {}
    package func createDestinationInstances(
        forSource source: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
    ) throws {
        try migrator.createDestinationInstance(for: source, mapping)
    }
    package func endInstanceCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {}
    package func createRelationships(
        forDestination destination: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
    ) throws {
        try migrator.createRelationships(for: destination, mapping)
    }
    package func endRelationshipCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {}
    package func performCustomValidation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {}
    package func end(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {}
}

/// The policy of mappings without a policy class.
final class ReferenceDefaultPolicy: ReferencePolicy {}
