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
        let sorted = definition.entities.sorted {
            $0.name.unicodeScalars.lexicographicallyPrecedes($1.name.unicodeScalars)
        }
        var index: [String: Int] = [:]
        for (position, entity) in sorted.enumerated() {
            try ModelChecks.checkName(entity.name, entity: entity.name)
            guard index.updateValue(position, forKey: entity.name) == nil else {
                throw MigrationError(
                    "model.duplicateEntity", .configuration, "The model declares two entities of the same name",
                    remedy: "Rename or remove one of them", context: .init(entity: entity.name))
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
        throw MigrationError(
            "model.unknownSuperentity", .configuration, "The parent entity \(name) does not exist",
            remedy: "Declare it, or choose another parent", context: .init(entity: entity.name))
    }

    private static func lineages(
        _ entities: [EntityDefinition], _ supers: [Int?]
    ) throws(MigrationError) -> [[Int]] {
        var lineages: [[Int]] = []
        for position in entities.indices {
            var lineage = [position]
            var current = supers[position]
            while let ancestor = current {
                guard lineage.count <= entities.count, ancestor != position else {
                    throw MigrationError(
                        "model.inheritanceCycle", .configuration,
                        ancestor == position
                            ? "The entity is its own ancestor" : "An ancestor of the entity is its own ancestor",
                        remedy: "Correct the parent entity", context: .init(entity: entities[position].name))
                }
                guard lineage.count <= ModelChecks.greatestDepth else {
                    throw MigrationError(
                        "model.inheritanceDepth", .configuration,
                        "The entity has more than \(ModelChecks.greatestDepth) ancestors",
                        remedy: "Flatten the hierarchy", context: .init(entity: entities[position].name))
                }
                lineage.append(ancestor)
                current = supers[ancestor]
            }
            lineages.append(lineage)
        }
        return lineages
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
                throw MigrationError(
                    "model.tooManyProperties", .configuration,
                    "The model has more than \(ModelChecks.greatestPropertyCount) properties, inherited ones included",
                    remedy: "Split the model", context: .init(entity: entities[position].name))
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
                throw MigrationError(
                    "model.duplicateProperty", .configuration, "The entity declares two properties of the same name",
                    remedy: "Rename or remove one of them", context: .init(entity: entity.name, property: name))
            }
            // A second column of the same property would belong to none.
            guard attributes[name] == nil, relationships[name] == nil else {
                throw MigrationError(
                    "model.redeclaredProperty", .configuration, "The entity declares a property that it inherits",
                    remedy: "Remove it from the subentity", context: .init(entity: entity.name, property: name))
            }
        }
        for attribute in entity.attributes {
            try claim(attribute.name)
            attributes[attribute.name] = (position, attribute)
        }
        for relationship in entity.relationships {
            try claim(relationship.name)
            guard let destination = index[relationship.destinationEntityName] else {
                throw MigrationError(
                    "model.unknownDestination", .configuration,
                    "The relationship's destination entity \(relationship.destinationEntityName) does not exist",
                    remedy: "Declare it, or choose another destination",
                    context: .init(entity: entity.name, property: relationship.name))
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
                guard let inverse = relationship.definition.inverseName else { continue }
                guard entities[relationship.destinationEntity].relationshipIndex[inverse] != nil else {
                    throw MigrationError(
                        "model.unknownInverse", .configuration,
                        "The inverse \(inverse) does not exist in \(relationship.definition.destinationEntityName)",
                        remedy: "Declare it there, or choose another inverse",
                        context: .init(entity: entity.definition.name, property: relationship.definition.name))
                }
            }
        }
    }

    private static func checkConstraints(_ entities: [ResolvedEntity]) throws(MigrationError) {
        for entity in entities {
            for name in entity.definition.uniquenessConstraints.joined()
            where entity.attributeIndex[name] == nil && entity.composites[name] == nil
                && entity.relationshipIndex[name] == nil
            {
                throw MigrationError(
                    "model.unknownConstraintProperty", .configuration,
                    "A uniqueness constraint names the property \(name), which does not exist",
                    remedy: "Correct the constraint",
                    context: .init(entity: entity.definition.name, property: name))
            }
        }
    }
}
