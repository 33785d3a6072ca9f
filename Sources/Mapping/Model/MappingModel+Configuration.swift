import ManagedModel

extension MappingModel {
    /// Returns the part of a mapping model that applies to a store of one configuration: entity mappings from and to entities
    /// of the two models, with mappings of their properties.
    ///
    /// - Returns: the mapping model itself if neither model is restricted to a configuration.
    package func restricted(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> MappingModel {
        guard source.whole !== source || destination.whole !== destination else { return self }
        let part = MappingModel()
        let mappings = (entityMappings ?? []).compactMap { mapping -> EntityMapping? in
            let isNear = mapping.sourceEntityName.map { source.entity(named: $0) != nil } ?? true
            guard isNear else { return nil }
            guard let name = mapping.destinationEntityName else { return mapping.copied() }
            guard let entity = destination.entity(named: name) else { return nil }
            let copy = mapping.copied()
            copy.relationshipMappings?.removeAll { property in
                property.name.map { entity.relationship(named: $0) == nil } ?? false
            }
            return copy
        }
        part.take(self, with: mappings)
        return part
    }
}
