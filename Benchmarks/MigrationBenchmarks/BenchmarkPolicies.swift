import Diagnostics
import Mapping
import Stagecoach

/// The policies that `migrate --policy NAME` puts on every entity mapping.
enum BenchmarkPolicies {
    /// - Throws: `benchmark.usage` (64) for a name that is not known.
    static func use(_ name: String, in model: MappingModel) throws(MigrationError) {
        let types: [String: EntityMigrationPolicy.Type] = [
            "create": CreatingPolicy.self, "super": SuperPolicy.self, "second": SecondObjectPolicy.self,
            "read": ReadingPolicy.self,
            "fetch": FetchingPolicy.self, "find": FindingPolicy.self, "gather": GatheringPolicy.self,
            "words": WordsPolicy.self,
        ]
        guard let type = types[name] else {
            throw Arguments.usage("--policy \(types.keys.sorted().joined(separator: ", "))")
        }
        var mappingNames: [String: String] = [:]
        for mapping in model.entityMappings {
            guard let entity = mapping.destinationEntityName, mapping.sourceEntityName == entity else { continue }
            mappingNames[entity] = mapping.name
        }
        let names = mappingNames
        PolicyRegistry.shared.register(name) {
            let policy = type.init()
            (policy as? SecondObjectPolicy)?.mappingNames = names
            return policy
        }
        for mapping in model.entityMappings { mapping.entityMigrationPolicyClassName = name }
    }
}

/// Takes over the creation of objects and lets the default method do it: what a policy that overrides one method costs at
/// least.
final class CreatingPolicy: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    }
}

/// Works on texts for a while: sets each to its distinct words in order, as a policy does that makes a search index.
final class WordsPolicy: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let name = mapping.name,
            let object = manager.destinationInstances(forEntityMappingName: name, sourceInstances: [sInstance]).last
        else { return }
        for attribute in object.entity.attributes where attribute.attributeType == .string {
            guard let text = object.value(forKey: attribute.name) as? String else { continue }
            let words = Set(text.lowercased().split(separator: " ").map { String($0.reversed()) }).sorted()
            object.setValue(words.joined(separator: " "), forKey: attribute.name)
        }
    }
}

/// Takes over every step and lets the default method do it, as policies do that add little to it.
final class SuperPolicy: EntityMigrationPolicy {
    override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
        try super.begin(mapping, with: manager)
    }

    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    }

    override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try super.endInstanceCreation(forMapping: mapping, manager: manager)
    }

    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    }

    override func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try super.endRelationshipCreation(forMapping: mapping, manager: manager)
    }

    override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try super.performCustomValidation(forMapping: mapping, manager: manager)
    }

    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
        try super.end(mapping, manager: manager)
    }
}

/// Makes a second object of every source object and associates it, looks up what was made of each source object, and
/// sets to-many relationships again as sets.
final class SecondObjectPolicy: EntityMigrationPolicy {
    /// The mapping that copies each entity.
    var mappingNames: [String: String] = [:]

    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let name = mapping.destinationEntityName else { return }
        let context = manager.destinationContext
        let second = EntityDescription.insertNewObject(forEntityName: name, into: context)
        manager.associate(sourceInstance: sInstance, withDestinationInstance: second, for: mapping)
    }

    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
        let sources = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [dInstance])
        let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: sources)
        // The second object takes over what the first one has, member by member of the source object's sets.
        guard let source = sources.first, made.last === dInstance, made.count > 1 else { return }
        for relationship in dInstance.entity.relationships where relationship.isToMany {
            guard let members = source.value(forKey: relationship.name) as? Set<ManagedObject> else { continue }
            guard let other = mappingNames[relationship.destination.name] else { continue }
            let objects = manager.destinationInstances(
                forEntityMappingName: other, sourceInstances: Array(members))
            dInstance.setValue(Set(objects), forKey: relationship.name)
        }
    }
}

/// Reads every relationship of every object after the default method set it.
final class ReadingPolicy: EntityMigrationPolicy {
    private var seen = 0

    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
        for relationship in dInstance.entity.relationships {
            if let members = dInstance.value(forKey: relationship.name) as? Set<ManagedObject> { seen += members.count }
        }
    }
}
