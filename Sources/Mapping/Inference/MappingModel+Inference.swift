import Diagnostics
import ManagedModel

extension MappingModel {
    /// Infers the mapping model between two versions, as Core Data's lightweight migration does.
    ///
    /// Entities are matched by their renaming identifiers and names, every source entity at most once. Their properties get
    /// expressions that copy the counterpart with the same identifier or name. The mappings are named as Core Data names them:
    ///
    /// | destination entity | mapping | type |
    /// |---|---|---|
    /// | without counterpart | `IEM_Add_<E>` | add |
    /// | of the same version hash, every property mapped from its own name | `IEM_Copy_<E>` | copy |
    /// | with any other counterpart | `IEM_Transform_<E>` | transform |
    ///
    /// and `IEM_Remove_<E>` for a source entity without a counterpart. `<E>` is the destination's name, in a remove mapping the
    /// source's. If a hash is unknown, its ingredients are compared. Abstract entities have mappings too; they have no rows.
    /// The mappings are in the order of Z_ENT over the destination's entities, then the removals in that of the source's.
    ///
    /// A new required attribute without a default is accepted here: it is an error only if rows exist.
    ///
    /// - Parameter unmappable: the treatment of properties that cannot be mapped. Entities of two hierarchies put into one are
    ///   refused in any case.
    /// - Throws: `inference.attributeType`, `inference.propertyKind`, `inference.cardinality`,
    ///   `inference.relationshipDestination`, `inference.hierarchies` (78): the first problem in the context, all in the
    ///   message.
    /// - Complexity: O(n log n) in properties, inherited ones counted in each entity. Memory: one small object a property.
    public static func inferred(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, unmappable: UnmappableProperties = .refuse
    ) throws(MigrationError) -> MappingModel {
        let (model, problems) = inference(from: source, to: destination, unmappable: unmappable)
        if let error = problems.error { throw error }
        return model
    }

    /// Returns the mapping model that is inferred, and the reasons why it may not be used.
    ///
    /// - Complexity: as ``inferred(from:to:unmappable:)``.
    package static func inference(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, unmappable: UnmappableProperties
    ) -> (model: MappingModel, problems: InferenceProblems) {
        let old = source.entitiesInStoreOrder
        let new = destination.entitiesInStoreOrder
        let counterparts = CounterpartMatching.match(
            destinations: new.map(\.renamable), sources: old.map(\.renamable)
        ).map { $0.map { old[$0] } }

        var entityMappings: [EntityMapping] = []
        for (entity, counterpart) in zip(new, counterparts) {
            let mapping = EntityMapping()
            mapping.destinationEntityName = entity.definition.name
            mapping.destinationEntityVersionHash = entity.knownHash
            mapping.sourceEntityName = counterpart?.definition.name
            mapping.sourceEntityVersionHash = counterpart?.knownHash
            mapping.mappingType =
                switch counterpart {
                case nil: .addEntityMappingType
                case let counterpart?:
                    counterpart.isUnchanged(in: entity) ? .copyEntityMappingType : .transformEntityMappingType
                }
            entityMappings.append(mapping)
        }
        // A copy requires unchanged properties. That needs the matching but not the names of mappings.
        let places = AutomaticMapping(entityMappings: entityMappings, source: source, destination: destination)
        for (index, mapping) in entityMappings.enumerated() {
            if mapping.mappingType == .copyEntityMappingType, let counterpart = counterparts[index],
                !places.properties(from: counterpart, to: new[index]).allSatisfy(\.staysInPlace)
            {
                mapping.mappingType = .transformEntityMappingType
            }
            mapping.name = mapping.mappingType.inferredPrefix + new[index].definition.name
        }

        var problems = InferenceProblems()
        checkHierarchies(new, counterparts, &problems)
        let automatic = AutomaticMapping(
            entityMappings: entityMappings, source: source, destination: destination, requiresTarget: true)
        for (index, mapping) in entityMappings.enumerated() {
            let properties = automatic.properties(from: counterparts[index], to: new[index])
            for property in properties where unmappable == .refuse {
                guard let (reason, origin) = property.problem else { continue }
                problems.add(
                    reason, entity: new[index].definition.name, property: property.matchedName, from: origin,
                    declaredBy: property.declaringEntity, line: property.convertingLine)
            }
            mapping.attributeMappings = properties.filter { !$0.isRelationship }.map { $0.propertyMapping() }
            mapping.relationshipMappings = properties.filter(\.isRelationship).map { $0.propertyMapping() }
        }

        let used = Set(counterparts.compactMap { $0?.index })
        for entity in old where !used.contains(entity.index) {
            let mapping = EntityMapping()
            mapping.mappingType = .removeEntityMappingType
            mapping.name = mapping.mappingType.inferredPrefix + entity.definition.name
            mapping.sourceEntityName = entity.definition.name
            mapping.sourceEntityVersionHash = entity.knownHash
            mapping.attributeMappings = []
            mapping.relationshipMappings = []
            entityMappings.append(mapping)
        }
        let model = MappingModel()
        model.entityMappings = entityMappings
        model.rulesOfTheSource = .warn
        model.isInferred = true
        return (model, problems)
    }

    /// Infers the mapping model: ``inferred(from:to:unmappable:)`` under Core Data's name.
    public static func inferredMappingModel(
        forSourceModel source: ManagedObjectModel, destinationModel destination: ManagedObjectModel
    ) throws -> MappingModel {
        try inferred(from: source, to: destination)
    }

    /// Refuses entities that come from two hierarchies and share one now, because the keys of their rows come from two tables.
    private static func checkHierarchies(
        _ entities: [EntityDescription], _ counterparts: [EntityDescription?], _ problems: inout InferenceProblems
    ) {
        var firsts: [Int: EntityDescription] = [:]
        for (entity, counterpart) in zip(entities, counterparts) {
            guard let counterpart else { continue }
            guard let first = firsts[entity.root.index] else {
                firsts[entity.root.index] = counterpart
                continue
            }
            guard first.root != counterpart.root else { continue }
            problems.add(
                .hierarchies(
                    first: first.definition.name, firstRoot: first.root.definition.name,
                    second: counterpart.definition.name, secondRoot: counterpart.root.definition.name),
                entity: entity.definition.name, property: nil, declaredBy: entity.definition.name)
        }
    }
}

extension EntityMappingType {
    /// The prefix that Core Data gives the names of inferred mappings.
    fileprivate var inferredPrefix: String {
        switch self {
        case .addEntityMappingType: "IEM_Add_"
        case .removeEntityMappingType: "IEM_Remove_"
        case .copyEntityMappingType: "IEM_Copy_"
        case .undefinedEntityMappingType, .customEntityMappingType, .transformEntityMappingType: "IEM_Transform_"
        }
    }
}

extension EntityDescription {
    var renamable: RenamableName {
        RenamableName(name: definition.name, identifier: definition.renamingIdentifier)
    }
}

extension AutomaticMapping.Property {
    /// True if the property is computed from the source property with the same name.
    fileprivate var staysInPlace: Bool {
        if case .mapped(_, let origin) = outcome { origin == name } else { false }
    }
}
