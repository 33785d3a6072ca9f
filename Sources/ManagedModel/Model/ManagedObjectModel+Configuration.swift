/// The origin of a model of one configuration.
struct ConfigurationOrigin: Sendable {
    let whole: ManagedObjectModel
    /// The names of all configurations of the whole model with the same entities, sorted.
    let names: [String]
}

/// A store may be made for one configuration of its model. Then its tables, its Z_PRIMARYKEY and the hashes in its metadata
/// cover only that configuration's entities. Such a store is read and written with the model restricted to them.
extension ManagedObjectModel {
    /// The model that this one was restricted from; the model itself if it is whole.
    package var whole: ManagedObjectModel { origin?.whole ?? self }

    /// The configurations whose entities this model contains, sorted; empty for a whole model.
    package var restrictedConfigurations: [String] { origin?.names ?? [] }

    /// Returns the model of a configuration's entities alone, which describes a store made for the configuration.
    ///
    /// Ancestors of the configuration's entities are included, because they share their tables. Relationships to other entities
    /// are left out, because Core Data allows none between two stores. Version hashes are those of the whole model.
    ///
    /// - Returns: nil if the configuration does not exist or has no entities; the model itself if the configuration has all of
    ///   them.
    /// - Complexity: O(properties); the new model is as large as its part of this one.
    public func restricted(toConfiguration name: String) -> ManagedObjectModel? {
        if let origin { return origin.names.contains(name) ? self : nil }
        guard let members = entities(forConfigurationName: name), !members.isEmpty else { return nil }
        let kept = Set(members.flatMap { resolved[$0.index].lineage }.map { resolved[$0].definition.name })
        guard kept.count < resolved.count else { return self }
        let names = Set(members.map(\.definition.name))
        let same = configurations.filter { Set(definition.configurations[$0] ?? []) == names }
        var part = definition
        part.entities = definition.entities.filter { kept.contains($0.name) }.map { restricted($0, to: kept) }
        part.configurations = Dictionary(uniqueKeysWithValues: same.map { ($0, names.sorted()) })
        part.fetchRequests.removeAll { !kept.contains($0.entityName) }
        let hashes = VersionHash.entityHashes(of: self).filter { kept.contains($0.key) }
        // A part of a valid model is valid.
        return try? ManagedObjectModel(part, origin: ConfigurationOrigin(whole: self, names: same), hashes: hashes)
    }

    private func restricted(_ entity: EntityDefinition, to kept: Set<String>) -> EntityDefinition {
        var entity = entity
        func leaves(_ relationship: RelationshipDefinition) -> Bool {
            !kept.contains(relationship.destinationEntityName)
        }
        for (index, relationship) in entity.relationships.enumerated() where !leaves(relationship) {
            let inverse = relationship.inverseName.flatMap {
                self.entity(named: relationship.destinationEntityName)?.relationship(named: $0)
            }
            if let inverse, leaves(inverse.definition) { entity.relationships[index].inverseName = nil }
        }
        let gone = Set(entity.relationships.filter(leaves).map(\.name))
        entity.relationships.removeAll(where: leaves)
        entity.uniquenessConstraints.removeAll { !gone.isDisjoint(with: $0) }
        entity.compoundIndexes.removeAll { !gone.isDisjoint(with: $0) }
        entity.indexes.removeAll { index in index.elements.contains { $0.propertyName.map(gone.contains) ?? false } }
        return entity
    }

    /// Returns the model for reading a store with some version hashes: this one, or that of one of its configurations.
    ///
    /// - Parameter hashes: `NSStoreModelVersionHashes`: 32 bytes by entity name.
    /// - Returns: nil if the store is of another model. A hash that only Core Data can compute is no evidence against the
    ///   store.
    package func fitting(storeHashes hashes: [String: [UInt8]]) -> ManagedObjectModel? {
        if ModelDifference.describe(store: hashes, model: self).isEmpty { return self }
        guard origin == nil else { return nil }
        return configurations.lazy.compactMap(restricted(toConfiguration:)).first { part in
            part !== self && ModelDifference.describe(store: hashes, model: part).isEmpty
        }
    }

    /// Returns the model for migrating a store of another version's configuration: the configuration with the same name if this
    /// model has it, else all of this model. For the store of a whole model it returns this model.
    package func counterpart(of other: ManagedObjectModel) -> ManagedObjectModel {
        other.restrictedConfigurations.lazy.compactMap(restricted(toConfiguration:)).first ?? self
    }
}
