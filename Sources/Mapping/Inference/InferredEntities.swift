import ManagedModel

/// The entity mappings that inference makes, before their properties are known: which entity becomes which, by renaming
/// identifiers and names (``CounterpartMatching``).
struct InferredEntities {
    private let source: ManagedObjectModel
    private let destination: ManagedObjectModel
    private let old: [EntityDescription]
    /// The destination's entities, in the order of Z_ENT.
    let new: [EntityDescription]
    /// The source entity of each; nil for a new one.
    let counterparts: [EntityDescription?]

    init(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) {
        let (old, new) = (source.entitiesInStoreOrder, destination.entitiesInStoreOrder)
        counterparts = CounterpartMatching.match(
            destinations: new.map(\.renamable), sources: old.map(\.renamable)
        ).map { $0.map { old[$0] } }
        (self.source, self.destination, self.old, self.new) = (source, destination, old, new)
    }

    /// Returns the counterpart of a destination entity.
    func counterpart(of entity: EntityDescription) -> EntityDescription? {
        new.firstIndex(of: entity).flatMap { counterparts[$0] }
    }

    /// Returns the entity mappings of the destination entities that no given one makes, in the order of Z_ENT, and then those
    /// that remove the source entities that none reads.
    ///
    /// - Parameter listed: the given entity mappings.
    func mappings(beside listed: [EntityMapping]) -> [EntityMapping] {
        let made = Set(listed.compactMap(\.destinationEntityName))
        var mappings: [(mapping: EntityMapping, entity: EntityDescription, counterpart: EntityDescription?)] = []
        for (entity, counterpart) in zip(new, counterparts) where !made.contains(entity.definition.name) {
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
            mappings.append((mapping, entity, counterpart))
        }
        // A copy requires unchanged properties. That needs the matching but not the names of mappings.
        let places = AutomaticMapping(
            entityMappings: listed + mappings.map(\.mapping), source: source, destination: destination)
        for (mapping, entity, counterpart) in mappings {
            if mapping.mappingType == .copyEntityMappingType, let counterpart,
                !places.properties(from: counterpart, to: entity).allSatisfy(\.staysInPlace)
            {
                mapping.mappingType = .transformEntityMappingType
            }
            mapping.name = mapping.mappingType.inferredPrefix + entity.definition.name
        }
        let read = Set((listed + mappings.map(\.mapping)).compactMap(\.sourceEntityName))
        return mappings.map(\.mapping) + old.filter { !read.contains($0.definition.name) }.map(Self.removal)
    }

    private static func removal(of entity: EntityDescription) -> EntityMapping {
        let mapping = EntityMapping()
        mapping.mappingType = .removeEntityMappingType
        mapping.name = mapping.mappingType.inferredPrefix + entity.definition.name
        mapping.sourceEntityName = entity.definition.name
        mapping.sourceEntityVersionHash = entity.knownHash
        mapping.attributeMappings = []
        mapping.relationshipMappings = []
        return mapping
    }

    /// Refuses entities that come from two hierarchies and share one now, because the keys of their rows come from two tables.
    func checkHierarchies(_ mappings: [EntityMapping], _ problems: inout InferenceProblems) {
        var firsts: [Int: EntityDescription] = [:]
        for mapping in mappings {
            guard let entity = mapping.destinationEntityName.flatMap(destination.entity(named:)),
                let counterpart = mapping.sourceEntityName.flatMap(source.entity(named:))
            else { continue }
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
