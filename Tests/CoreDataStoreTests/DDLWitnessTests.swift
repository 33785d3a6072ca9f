import ManagedModel
import TestSupport
import Testing

@testable import CoreDataStore

/// The schema of a model against a second reading of the rules.
@Suite("Schema: a second reading of the rules")
struct DDLWitnessTests {
    private typealias M = SchemaTestModel

    /// Returns the statements on which the two readings differ; empty if they are equal.
    private func differences(_ model: ManagedObjectModel) -> [String] {
        let schema = StoreSchema(model: model)
        let witness = DDLWitness(model)
        // Partial indexes, and those that are left out, are the product's own.
        let indexes = schema.allIndexStatements.filter { !$0.contains(" WHERE ") }
        let trees = schema.treeStatements()
        let ours = schema.tableStatements() + indexes + schema.triggerStatements + trees
        let theirs =
            witness.tables + witness.joinTables + witness.indexes + witness.triggers + witness.virtualTables
        return Set(ours).symmetricDifference(theirs).sorted() + (ours.count == theirs.count ? [] : ["another count"])
    }

    /// A random model with indexes, derived attributes and R-trees beside what random models have.
    private func model(_ generator: inout SeededGenerator) throws -> ManagedObjectModel {
        let names = ["Node", "item", "Item", "Zebra", "apple", "Box", "Pen", "order"].shuffled(using: &generator)
        let types = AttributeType.allCases.filter { ![.undefined, .objectID, .composite].contains($0) }
        var entities: [EntityDefinition] = []
        for (place, name) in names.prefix(2 + generator.below(6)).enumerated() {
            var entity = EntityDefinition(name: name)
            if place > 0, generator.chance(3) { entity.superentityName = names[generator.below(place)] }
            for number in 0..<generator.below(6) {
                // Equal names in upper case meet in one table.
                let own = ["value", "Value", "URL", "city", "a"][generator.below(5)] + "\(place)\(number % 2)"
                guard !entity.attributes.contains(where: { $0.name == own }) else { continue }
                entity.attributes.append(M.attribute(own, types[generator.below(types.count)]))
                entity.attributes[entity.attributes.count - 1].isIndexed = generator.chance(4)
                if generator.chance(5) { entity.uniquenessConstraints.append([own]) }
            }
            entity.attributes.append(M.attribute("lat\(place)", .double))
            entity.attributes.append(M.attribute("lon\(place)", .float))
            entities.append(entity)
        }
        for pair in 0..<generator.below(12) {
            let (from, to) = (generator.below(entities.count), generator.below(entities.count))
            let (there, back) = (["to", "To", "x"][generator.below(3)] + "\(pair)", "back\(pair % 3)_\(pair)")
            func end(_ name: String, _ place: Int, _ inverse: String?) -> RelationshipDefinition {
                generator.chance(2)
                    ? M.toOne(name, entities[place].name, inverse: inverse)
                    : M.toMany(name, entities[place].name, inverse: inverse, ordered: generator.chance(2))
            }
            if generator.chance(4) {
                entities[from].relationships.append(end(there, to, nil))
            } else if from == to, generator.chance(2) {
                entities[from].relationships.append(end(there, to, there))
            } else {
                let (forward, backward) = (end(there, to, back), end(back, from, there))
                entities[from].relationships.append(forward)
                entities[to].relationships.append(backward)
            }
        }
        for place in entities.indices { decorate(&entities[place], place, entities, &generator) }
        var definition = ModelDefinition()
        definition.entities = entities
        return try ManagedObjectModel(definition)
    }

    private func decorate(
        _ entity: inout EntityDefinition, _ place: Int, _ entities: [EntityDefinition],
        _ generator: inout SeededGenerator
    ) {
        for relationship in entity.relationships where generator.chance(2) {
            var derived = M.attribute("derived_\(relationship.name)", .integer64)
            let other = entities.firstIndex { $0.name == relationship.destinationEntityName } ?? 0
            derived.derivationExpression = relationship.name + (relationship.isToMany ? ".@count" : ".lat\(other)")
            entity.attributes.append(derived)
        }
        if generator.chance(2) {
            var tree = FetchIndexDefinition(name: "area")
            tree.elements = ["lat\(place)", "lon\(place)"].map { name in
                var element = FetchIndexElement(propertyName: name)
                element.isRTree = true
                return element
            }
            entity.indexes.append(tree)
        }
        if generator.chance(2) {
            var index = FetchIndexDefinition(name: "by")
            var id = FetchIndexElement(propertyName: nil)
            id.expression = generator.chance(2) ? "self" : "entity"
            var value = FetchIndexElement(propertyName: "lat\(place)")
            value.isAscending = false
            index.elements = [value, id]
            entity.indexes.append(index)
        }
        if let first = entity.relationships.first, !first.isToMany {
            var index = FetchIndexDefinition(name: "alone")
            index.elements = [FetchIndexElement(propertyName: first.name)]
            entity.indexes.append(index)
        }
        if let twin = entity.indexes.first, generator.chance(3) { entity.indexes.append(twin) }
        entity.compoundIndexes = [["lat\(place)", "lon\(place)"], ["lat\(place)", "self"]].filter { _ in
            generator.chance(3)
        }
    }

    @Test("Both readings give the same statements for random models", arguments: 0..<8)
    func random(run: UInt64) throws {
        let seed = RandomSeeds.first &+ run
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let differences = differences(try model(&generator))
            #expect(differences.isEmpty, "seed \(seed): \(differences)")
        }
    }

    @Test(
        "Both readings give the same statements for the models of real stores",
        .enabled(if: SharedStores.isPresent, "the shared stores are not here"))
    func real() throws {
        var models = 0
        for store in try SchemaRealStore.all() {
            guard let model = store.model else { continue }
            // The second reading knows no composite attributes.
            let hasComposites = model.entities.contains { entity in
                entity.attributes.contains { $0.attributeType == .composite }
            }
            if hasComposites { continue }
            let differences = differences(model)
            #expect(differences.isEmpty, "\(store.name): \(differences)")
            models += 1
        }
        print("models compared: \(models)")
        #expect(models >= 50)
    }
}
