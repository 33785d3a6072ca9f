import ManagedModel
import TestSupport
import Testing

@testable import CoreDataStore

/// Schemas of random models: hierarchies, colliding names, every kind of relationship, inverses claimed by others.
@Suite("Schema: random models")
struct SchemaRandomTests {
    private typealias M = SchemaTestModel

    /// The entity and its ancestors, by name.
    private func lineage(_ entity: EntityDefinition, _ entities: [EntityDefinition]) -> [String] {
        guard let parent = entities.first(where: { $0.name == entity.superentityName }) else { return [entity.name] }
        return [entity.name] + lineage(parent, entities)
    }

    private func taken(_ name: String, in entity: EntityDefinition, _ entities: [EntityDefinition]) -> Bool {
        let names = lineage(entity, entities)
        return (entities + [entity]).contains { candidate in
            names.contains(candidate.name) && candidate.attributes.contains { $0.name == name }
        }
    }

    private func model(_ generator: inout SeededGenerator) throws -> ManagedObjectModel {
        var entities: [EntityDefinition] = []
        let types = AttributeType.allCases.filter { ![.undefined, .objectID, .composite].contains($0) }
        for number in 0..<(2 + generator.below(9)) {
            // Names that differ in case only make tables collide.
            var entity = EntityDefinition(name: ["Node", "node", "Item"][number % 3] + String(number / 2))
            if entities.contains(where: { $0.name == entity.name }) { entity.name += "_\(number)" }
            if number > 0, generator.chance(2) { entity.superentityName = entities[generator.below(number)].name }
            for _ in 0..<generator.below(6) {
                let name = ["name", "Name", "value", "_pk", "größe", "a1", "a"][generator.below(7)]
                guard !taken(name, in: entity, entities) else { continue }
                var attribute = M.attribute(name, types[generator.below(types.count)])
                attribute.isIndexed = generator.chance(3)
                entity.attributes.append(attribute)
                if generator.chance(4) { entity.uniquenessConstraints.append([name]) }
            }
            entities.append(entity)
        }
        for pair in 0..<generator.below(20) {
            let (from, to) = (generator.below(entities.count), generator.below(entities.count))
            func relationship(_ name: String, _ destination: Int, _ inverse: String?) -> RelationshipDefinition {
                generator.chance(2)
                    ? M.toOne(name, entities[destination].name, inverse: inverse)
                    : M.toMany(name, entities[destination].name, inverse: inverse, ordered: generator.chance(2))
            }
            let (there, back) = ("r\(pair)", generator.chance(5) ? "r\(pair)" : "R\(pair)")
            switch generator.below(4) {
            case 0: entities[from].relationships.append(relationship(there, to, nil))
            case 1 where from == to && there == back:
                entities[from].relationships.append(relationship(there, to, there))
            default:
                // An entity must not declare what it inherits.
                if there == back, lineage(entities[from], entities).contains(entities[to].name) { continue }
                if there == back, lineage(entities[to], entities).contains(entities[from].name) { continue }
                let forward = relationship(there, to, back)
                let backward = relationship(back, from, there)
                entities[from].relationships.append(forward)
                entities[to].relationships.append(backward)
                if generator.chance(3) { entities[from].relationships.append(relationship("claim\(pair)", to, back)) }
            }
        }
        var definition = ModelDefinition()
        definition.entities = entities
        return try ManagedObjectModel(definition)
    }

    @Test("Every statement is accepted by SQLite, every relationship has its own place", arguments: 0..<8)
    func valid(run: UInt64) throws {
        let seed = RandomSeeds.first &+ run
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        for number in 0..<25 {
            let model = try model(&generator)
            let schema = StoreSchema(model: model)
            let store = try WritingTestStore.create(schema, folder.file("\(number).sqlite"))
            for table in schema.tables.indices { try store.createIndexes(table: table) }
            for join in schema.joinTables.indices { try store.createIndexes(joinTable: join) }
            try store.createTriggers()
            try WritingTestStore.finish(store)
            let written = try WritingTestStore.open(store.path)
            #expect(try written.prepare("PRAGMA integrity_check").firstText() == "ok")

            for entity in model.entities {
                for relationship in entity.relationships {
                    let storage = schema.storage(of: relationship)
                    #expect(schema.columnsExist(storage), "\(entity).\(relationship.name): \(storage)")
                    #expect(leadsToItself(relationship, storage, schema), "\(entity).\(relationship.name): \(storage)")
                }
            }
        }
    }

    /// Tells whether the columns of a storage have the relationship, or its inverse, as their role.
    private func leadsToItself(
        _ relationship: RelationshipDescription, _ storage: RelationshipStorage, _ schema: StoreSchema
    ) -> Bool {
        let own = relationship.reference
        let inverse = relationship.inverseRelationship?.reference
        switch storage {
        case .none: return false
        case .toOne(let table, let column, let entityColumn, let order):
            let columns = schema.tables[table].columns
            return columns[column].role == .toOne(own)
                && entityColumn.map { columns[$0].role == .toOneEntity(own) } ?? true
                && order.map { columns[$0].role == inverse.map { .order($0) } } ?? true
        case .toManyByInverse(let table, let column, let entityColumn, let order):
            guard let inverse else { return false }
            let columns = schema.tables[table].columns
            return columns[column].role == .toOne(inverse)
                && entityColumn.map { columns[$0].role == .toOneEntity(inverse) } ?? true
                && order.map { columns[$0].role == .order(own) } ?? !relationship.isOrdered
        case .toManyHidden(let table, let column, let order):
            let columns = schema.tables[table].columns
            return columns[column].role == .hiddenOwner(own)
                && order.map { columns[$0].role == .hiddenOrder(own) } ?? !relationship.isOrdered
        case .join(let table, let side):
            let sides = schema.joinTables[table].sides
            return sides[side].relationship == own && sides[1 - side].relationship == inverse
                && (sides[1 - side].orderColumn != nil) == relationship.isOrdered
        }
    }
}
