import ManagedModel
import Mapping

// Terse models and mapping models for hand-made cases.

/// An attribute, optional unless a default or `required` says otherwise.
func attribute(
    _ name: String, _ type: AttributeType, default value: AttributeValue? = nil, required: Bool = false,
    _ change: (inout AttributeDefinition) -> Void = { _ in }
) -> AttributeDefinition {
    var definition = AttributeDefinition(name: name, type: type)
    definition.isOptional = !required
    definition.defaultValue = value
    change(&definition)
    return definition
}

func toOne(
    _ name: String, _ destination: String, inverse: String? = nil, required: Bool = false
) -> RelationshipDefinition {
    var definition = RelationshipDefinition(name: name, destinationEntityName: destination)
    definition.inverseName = inverse
    definition.isOptional = !required
    definition.maximumCount = 1
    return definition
}

func toMany(
    _ name: String, _ destination: String, inverse: String? = nil, ordered: Bool = false
) -> RelationshipDefinition {
    var definition = RelationshipDefinition(name: name, destinationEntityName: destination)
    definition.inverseName = inverse
    definition.isOptional = true
    definition.isToMany = true
    definition.isOrdered = ordered
    return definition
}

func entity(
    _ name: String, parent: String? = nil, abstract: Bool = false, _ attributes: [AttributeDefinition] = [],
    _ relationships: [RelationshipDefinition] = [], unique: [[String]] = []
) -> EntityDefinition {
    var definition = EntityDefinition(name: name)
    definition.superentityName = parent
    definition.isAbstract = abstract
    definition.attributes = attributes
    definition.relationships = relationships
    definition.uniquenessConstraints = unique
    return definition
}

func model(_ entities: EntityDefinition...) throws -> ManagedObjectModel {
    var definition = ModelDefinition()
    definition.entities = entities
    return try ManagedObjectModel(definition)
}

/// An entity mapping; a nil expression text is a property mapping without expression.
func mapping(
    _ name: String, _ source: String?, _ destination: String?, _ attributes: KeyValuePairs<String, String?> = [:],
    relationships: KeyValuePairs<String, String?> = [:], policy: String? = nil, automatic: Bool = false
) throws -> EntityMapping {
    let mapping = EntityMapping()
    mapping.name = name
    mapping.mappingType = .transformEntityMappingType
    mapping.sourceEntityName = source
    mapping.destinationEntityName = destination
    mapping.entityMigrationPolicyClassName = policy
    mapping.attributeMappings = try attributes.map { try property($0.key, $0.value, automatic) }
    mapping.relationshipMappings = try relationships.map { try property($0.key, $0.value, automatic) }
    return mapping
}

private func property(_ name: String, _ text: String?, _ isAutomatic: Bool) throws -> PropertyMapping {
    PropertyMapping(
        name: name, valueExpression: try text.map { try ValueExpression(parsing: $0) }, isAutomatic: isAutomatic)
}

func mappings(_ entityMappings: EntityMapping..., inferred: Bool = false) -> MappingModel {
    let model = MappingModel()
    model.entityMappings = entityMappings
    model.rulesOfTheSource = inferred ? .warn : .error
    return model
}

/// The lookup by entity mapping.
func by(_ mapping: String, _ argument: String) -> String {
    "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', '\(mapping)', \(argument))"
}

/// The lookup by source relationship.
func via(_ relationship: String, _ argument: String) -> String {
    "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', "
        + "'\(relationship)', \(argument))"
}
