import Diagnostics
import ManagedModel
import Mapping
import Testing

/// Builds small models in a line a property.
enum InferenceModels {
    static func model(
        _ entities: EntityDefinition..., composites: [String: [AttributeDefinition]] = [:]
    ) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.entities = entities
        definition.composites = composites
        return try ManagedObjectModel(definition)
    }

    static func entity(
        _ name: String, id: String? = nil, parent: String? = nil, isAbstract: Bool = false,
        _ attributes: [AttributeDefinition] = [], _ relationships: [RelationshipDefinition] = []
    ) -> EntityDefinition {
        var entity = EntityDefinition(name: name)
        entity.renamingIdentifier = id
        entity.superentityName = parent
        entity.isAbstract = isAbstract
        entity.attributes = attributes
        entity.relationships = relationships
        return entity
    }

    static func attribute(
        _ name: String, _ type: AttributeType = .string, id: String? = nil, required: Bool = false,
        transient: Bool = false, default value: AttributeValue? = nil, derivation: String? = nil,
        composite: String? = nil
    ) -> AttributeDefinition {
        var attribute = AttributeDefinition(name: name, type: type)
        attribute.renamingIdentifier = id
        attribute.isOptional = !required
        attribute.isTransient = transient
        attribute.defaultValue = value
        attribute.derivationExpression = derivation
        attribute.compositeName = composite
        return attribute
    }

    static func toOne(
        _ name: String, _ destination: String, id: String? = nil, inverse: String? = nil, transient: Bool = false
    ) -> RelationshipDefinition {
        var relationship = RelationshipDefinition(name: name, destinationEntityName: destination)
        relationship.renamingIdentifier = id
        relationship.inverseName = inverse
        relationship.maximumCount = 1
        relationship.isOptional = true
        relationship.isTransient = transient
        return relationship
    }

    static func toMany(
        _ name: String, _ destination: String, id: String? = nil, inverse: String? = nil, ordered: Bool = false
    ) -> RelationshipDefinition {
        var relationship = toOne(name, destination, id: id, inverse: inverse)
        relationship.maximumCount = 0
        relationship.isToMany = true
        relationship.isOrdered = ordered
        return relationship
    }

    static func one(_ name: String, _ destination: String, _ id: String?, _ inverse: String?) -> RelationshipDefinition
    {
        toOne(name, destination, id: id, inverse: inverse)
    }

    static func many(_ name: String, _ destination: String, _ id: String?, _ inverse: String?) -> RelationshipDefinition
    {
        toMany(name, destination, id: id, inverse: inverse)
    }

    /// The entity mappings of an inferred model, a line each: name, entities, and the mapped properties.
    static func lines(_ model: MappingModel) -> [String] {
        model.entityMappings.map { mapping in
            let properties = ((mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? [])).map {
                ($0.name ?? "?") + "=" + ($0.valueExpression?.format ?? "-")
            }
            return ([mapping.name ?? "?"] + properties).joined(separator: " ")
        }
    }

    /// The expressions of one entity mapping by property; `-` for none.
    static func expressions(_ model: MappingModel, _ mapping: String) -> [String: String] {
        guard let mapping = model.entityMappingsByName[mapping] else { return [:] }
        let all = (mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? [])
        return Dictionary(
            all.map { ($0.name ?? "?", $0.valueExpression?.format ?? "-") }, uniquingKeysWith: { first, _ in first })
    }

    /// Infers, and checks the result as any mapping model is checked.
    static func infer(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) throws -> MappingModel {
        let model = try MappingModel.inferred(from: source, to: destination)
        try model.validate(source: source, destination: destination)
        #expect(model.rulesOfTheSource == .warn)
        return model
    }

    /// The error of an inference that must fail.
    static func refusal(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> MigrationError? {
        do throws(MigrationError) {
            _ = try MappingModel.inferred(from: source, to: destination)
            Issue.record("the inference was expected to fail", sourceLocation: sourceLocation)
            return nil
        } catch {
            #expect(error.category == .configuration, sourceLocation: sourceLocation)
            return error
        }
    }
}
