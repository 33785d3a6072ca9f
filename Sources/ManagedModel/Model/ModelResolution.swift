import Diagnostics

/// Turns a ``ModelDefinition`` into resolved entities.
enum ModelResolution {
    /// Checks a definition and resolves parents, inherited properties, destinations and inverses.
    ///
    /// - Returns: the entities by name in code point order, and their indices by name.
    /// - Throws: as ``ManagedObjectModel/init(_:)``.
    static func resolve(
        _ definition: ModelDefinition
    ) throws(MigrationError) -> ([ResolvedEntity], [String: Int]) {
        let sorted = definition.entities.sorted { precedes($0.name, $1.name) }
        var index: [String: Int] = [:]
        for (position, entity) in sorted.enumerated() {
            try ModelChecks.checkName(entity.name, entity: entity.name)
            guard index.updateValue(position, forKey: entity.name) == nil else {
                throw .model(
                    "model.duplicateEntity", "The model declares two entities of the same name",
                    remedy: "Rename or remove one of them", entity.name)
            }
        }
        let supers = try sorted.map { entity throws(MigrationError) in try superentity(of: entity, index) }
        let lineages = try lineages(sorted, supers)
        let sizes = try CompositeChecks.check(definition)
        try checkPropertyCount(sorted, lineages, sizes)
        try ModelChecks.checkConfigurations(definition, entities: index)
        var children = [[Int]](repeating: [], count: sorted.count)
        for (position, parent) in supers.enumerated() { if let parent { children[parent].append(position) } }

        var resolved: [ResolvedEntity] = []
        for position in sorted.indices {
            var attributes: [String: (entity: Int, definition: AttributeDefinition)] = [:]
            var relationships: [String: ResolvedRelationship] = [:]
            for ancestor in lineages[position].reversed() {
                try collect(
                    sorted[ancestor], at: ancestor, index: index, isOwn: ancestor == position,
                    attributes: &attributes, relationships: &relationships)
            }
            var attributeList: [AttributeDescription] = []
            var composites: [CompositeDescription] = []
            for attribute in attributes.values.sorted(by: { precedes($0.definition.name, $1.definition.name) }) {
                var expansion = CompositeExpansion(
                    composites: definition.composites, entity: attribute.entity,
                    entityName: sorted[attribute.entity].name)
                expansion.add(attribute.definition)
                attributeList += expansion.attributes
                composites += expansion.found
            }
            let relationshipList = relationships.values.sorted { precedes($0.definition.name, $1.definition.name) }
            resolved.append(
                ResolvedEntity(
                    definition: sorted[position], superentity: supers[position],
                    root: lineages[position].last ?? position,
                    subentities: children[position], lineage: lineages[position], attributes: attributeList,
                    relationships: relationshipList,
                    composites: Dictionary(uniqueKeysWithValues: composites.map { ($0.path, $0) }),
                    attributeIndex: Dictionary(
                        uniqueKeysWithValues: attributeList.enumerated().map { ($1.name, $0) }),
                    relationshipIndex: Dictionary(
                        uniqueKeysWithValues: relationshipList.enumerated().map { ($1.definition.name, $0) })))
        }
        try checkInverses(resolved)
        try checkConstraints(resolved)
        return (resolved, index)
    }

    /// Tells whether a text precedes another in code point order, which version hashes and digests use.
    static func precedes(_ first: String, _ second: String) -> Bool {
        first.unicodeScalars.lexicographicallyPrecedes(second.unicodeScalars)
    }

    private static func superentity(
        of entity: EntityDefinition, _ index: [String: Int]
    ) throws(MigrationError) -> Int? {
        guard let name = entity.superentityName else { return nil }
        if let parent = index[name] { return parent }
        throw .model(
            "model.unknownSuperentity", "The parent entity \(name) does not exist",
            remedy: "Declare it, or choose another parent", entity.name)
    }

    private static func lineages(
        _ entities: [EntityDefinition], _ supers: [Int?]
    ) throws(MigrationError) -> [[Int]] {
        try entities.indices.map { position throws(MigrationError) in
            var lineage = [position]
            var current = supers[position]
            while let ancestor = current {
                guard lineage.count <= entities.count, ancestor != position else {
                    throw .model(
                        "model.inheritanceCycle",
                        ancestor == position
                            ? "The entity is its own ancestor" : "An ancestor of the entity is its own ancestor",
                        remedy: "Correct the parent entity", entities[position].name)
                }
                guard lineage.count <= ModelChecks.greatestDepth else {
                    throw .model(
                        "model.inheritanceDepth", "The entity has more than \(ModelChecks.greatestDepth) ancestors",
                        remedy: "Flatten the hierarchy", entities[position].name)
                }
                lineage.append(ancestor)
                current = supers[ancestor]
            }
            return lineage
        }
    }

    /// Refuses a model whose properties, with inherited ones counted in each entity, would not fit into memory.
    private static func checkPropertyCount(
        _ entities: [EntityDefinition], _ lineages: [[Int]], _ compositeSizes: [String: Int]
    ) throws(MigrationError) {
        // A composite counts by its elements. No size is above the greatest count, so that sums stay far from overflow.
        let own = entities.map { entity in
            entity.attributes.reduce(entity.relationships.count) { count, attribute in
                count + (attribute.compositeName.flatMap { compositeSizes[$0] } ?? 1)
            }
        }
        var total = 0
        for (position, lineage) in lineages.enumerated() {
            // These are counts of arrays in memory, at most 200 of them, so there is no overflow.
            total += lineage.reduce(0) { $0 + own[$1] }
            guard total <= ModelChecks.greatestPropertyCount else {
                throw .model(
                    "model.tooManyProperties",
                    "The model has more than \(ModelChecks.greatestPropertyCount) properties, inherited ones included",
                    remedy: "Split the model", entities[position].name)
            }
        }
    }

    private static func collect(
        _ entity: EntityDefinition, at position: Int, index: [String: Int], isOwn: Bool,
        attributes: inout [String: (entity: Int, definition: AttributeDefinition)],
        relationships: inout [String: ResolvedRelationship]
    ) throws(MigrationError) {
        var own: Set<String> = []
        func claim(_ name: String) throws(MigrationError) {
            if isOwn { try ModelChecks.checkName(name, entity: entity.name, property: name) }
            guard own.insert(name).inserted else {
                throw .model(
                    "model.duplicateProperty", "The entity declares two properties of the same name",
                    remedy: "Rename or remove one of them", entity.name, name)
            }
            // A second column of the same property would belong to none.
            guard attributes[name] == nil, relationships[name] == nil else {
                throw .model(
                    "model.redeclaredProperty", "The entity declares a property that it inherits",
                    remedy: "Remove it from the subentity", entity.name, name)
            }
        }
        for attribute in entity.attributes {
            try claim(attribute.name)
            attributes[attribute.name] = (position, attribute)
        }
        for relationship in entity.relationships {
            try claim(relationship.name)
            guard let destination = index[relationship.destinationEntityName] else {
                throw .model(
                    "model.unknownDestination",
                    "The relationship's destination entity \(relationship.destinationEntityName) does not exist",
                    remedy: "Declare it, or choose another destination", entity.name, relationship.name)
            }
            relationships[relationship.name] = ResolvedRelationship(
                definition: try ModelChecks.normalized(relationship, entity: entity.name), declaringEntity: position,
                destinationEntity: destination)
        }
        for property in entity.fetchedProperties { try claim(property.name) }
    }

    private static func checkInverses(_ entities: [ResolvedEntity]) throws(MigrationError) {
        for (position, entity) in entities.enumerated() {
            for relationship in entity.relationships where relationship.declaringEntity == position {
                guard let inverse = relationship.definition.inverseName,
                    entities[relationship.destinationEntity].relationshipIndex[inverse] == nil
                else { continue }
                throw .model(
                    "model.unknownInverse",
                    "The inverse \(inverse) does not exist in \(relationship.definition.destinationEntityName)",
                    remedy: "Declare it there, or choose another inverse", entity.definition.name,
                    relationship.definition.name)
            }
        }
    }

    private static func checkConstraints(_ entities: [ResolvedEntity]) throws(MigrationError) {
        for entity in entities {
            for name in entity.definition.uniquenessConstraints.joined()
            where entity.attributeIndex[name] == nil && entity.composites[name] == nil
                && entity.relationshipIndex[name] == nil
            {
                throw .model(
                    "model.unknownConstraintProperty",
                    "A uniqueness constraint names the property \(name), which does not exist",
                    remedy: "Correct the constraint", entity.definition.name, name)
            }
        }
    }
}
