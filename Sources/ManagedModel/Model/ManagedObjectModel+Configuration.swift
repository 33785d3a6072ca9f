/// Where a model of one configuration comes from.
struct ConfigurationOrigin: Sendable {
    let whole: ManagedObjectModel
    /// All configurations of the whole model with the same entities, sorted.
    let names: [String]
}

/// A store may be made for one configuration of its model: then its tables, its Z_PRIMARYKEY and the hashes in its
/// metadata are of that configuration's entities only. Such a store is read and written by the model that has no others.
extension ManagedObjectModel {
    /// The model that this one was restricted from; itself where it is whole.
    package var whole: ManagedObjectModel { origin?.whole ?? self }

    /// The configurations that this model holds the entities of, sorted; empty for a whole model.
    package var restrictedConfigurations: [String] { origin?.names ?? [] }

    /// The model of a configuration's entities alone: what a store that was made for the configuration holds.
    ///
    /// Ancestors of the configuration's entities belong to it, as they share their tables. Relationships to other
    /// entities are left out: Core Data allows none between two stores. Version hashes are those of the whole model.
    ///
    /// - Returns: nil where there is no such configuration, or none of its entities; the model itself where the
    ///   configuration has all of them.
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
        // A part of a sound model is sound.
        return try? ManagedObjectModel(part, origin: ConfigurationOrigin(whole: self, names: same), hashes: hashes)
    }

    private func restricted(_ entity: EntityDefinition, to kept: Set<String>) -> EntityDefinition {
        var entity = entity
        func leaves(_ relationship: RelationshipDefinition) -> Bool {
            !kept.contains(relationship.destinationEntityName)
        }
        for index in entity.relationships.indices where !leaves(entity.relationships[index]) {
            let relationship = entity.relationships[index]
            guard let name = relationship.inverseName,
                let inverse = self.entity(named: relationship.destinationEntityName)?.relationship(named: name),
                leaves(inverse.definition)
            else { continue }
            entity.relationships[index].inverseName = nil
        }
        let gone = Set(entity.relationships.filter(leaves).map(\.name))
        guard !gone.isEmpty else { return entity }
        entity.relationships.removeAll(where: leaves)
        entity.uniquenessConstraints.removeAll { !gone.isDisjoint(with: $0) }
        entity.compoundIndexes.removeAll { !gone.isDisjoint(with: $0) }
        entity.indexes.removeAll { index in index.elements.contains { $0.propertyName.map(gone.contains) ?? false } }
        return entity
    }

    /// The model that a store of some version hashes is read by: this one, or that of one of its configurations.
    ///
    /// - Parameter hashes: `NSStoreModelVersionHashes`: 32 bytes by entity name.
    /// - Returns: nil where the store is of another model. A hash that only Core Data knows cannot speak against the
    ///   store.
    package func fitting(storeHashes hashes: [String: [UInt8]]) -> ManagedObjectModel? {
        if ModelDifference.describe(store: hashes, model: self).isEmpty { return self }
        guard origin == nil else { return nil }
        for name in configurations {
            guard let part = restricted(toConfiguration: name), part !== self,
                ModelDifference.describe(store: hashes, model: part).isEmpty
            else { continue }
            return part
        }
        return nil
    }

    /// What a store of another version's configuration becomes a store of: the configuration of the same name, where this
    /// model has it, else all of this model. Itself for a whole model's store.
    package func counterpart(of other: ManagedObjectModel) -> ManagedObjectModel {
        for name in other.restrictedConfigurations {
            if let part = restricted(toConfiguration: name) { return part }
        }
        return self
    }
}
