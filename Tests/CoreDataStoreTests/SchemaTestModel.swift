import ManagedModel

@testable import CoreDataStore

/// Small models for schema tests, in few words.
enum SchemaTestModel {
    static func model(_ entities: EntityDefinition...) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.entities = entities
        return try ManagedObjectModel(definition)
    }

    static func schema(_ entities: EntityDefinition...) throws -> StoreSchema {
        var definition = ModelDefinition()
        definition.entities = entities
        return StoreSchema(model: try ManagedObjectModel(definition))
    }

    static func entity(
        _ name: String, parent: String? = nil, _ attributes: [AttributeDefinition] = [],
        _ relationships: [RelationshipDefinition] = []
    ) -> EntityDefinition {
        var entity = EntityDefinition(name: name)
        entity.superentityName = parent
        entity.attributes = attributes
        entity.relationships = relationships
        return entity
    }

    static func attribute(_ name: String, _ type: AttributeType = .string) -> AttributeDefinition {
        AttributeDefinition(name: name, type: type)
    }

    static func toOne(_ name: String, _ destination: String, inverse: String? = nil) -> RelationshipDefinition {
        var relationship = RelationshipDefinition(name: name, destinationEntityName: destination)
        relationship.inverseName = inverse
        relationship.maximumCount = 1
        return relationship
    }

    static func toMany(
        _ name: String, _ destination: String, inverse: String? = nil, ordered: Bool = false
    ) -> RelationshipDefinition {
        var relationship = RelationshipDefinition(name: name, destinationEntityName: destination)
        relationship.inverseName = inverse
        relationship.isToMany = true
        relationship.isOrdered = ordered
        return relationship
    }
}

extension StoreSchema {
    /// Column names and types of the table of an entity, without the three fixed ones.
    func columns(_ entity: String) throws -> [String] {
        guard let description = model.entity(named: entity) else { return [] }
        return tables[tableIndex(of: description)].columns.dropFirst(2).map { "\($0.name) \($0.type)" }
    }

    func storage(_ entity: String, _ relationship: String) -> RelationshipStorage? {
        model.entity(named: entity)?.relationship(named: relationship).map { storage(of: $0) }
    }

    /// All index statements, tables first.
    var allIndexStatements: [String] {
        tables.indices.flatMap { indexStatements(forTable: $0) }
            + joinTables.map(\.index.statement)
    }
}
