import ManagedModel

extension ManagedObjectModel {
    /// The entities in the order in which Core Data numbers them (Z_ENT): roots sorted by name without regard to case, each
    /// followed directly by its subentities, sorted likewise.
    ///
    /// For example, `SyncableSettingsMetadata` precedes `SyncFeatureEntity` in the store of duckduckgo's sync metadata. Names
    /// that differ only in case are in code point order.
    ///
    /// - Complexity: O(n log n) in entities.
    package var entitiesInStoreOrder: [EntityDescription] {
        func sorted(_ entities: [EntityDescription]) -> [EntityDescription] {
            entities.map { (key: $0.definition.name.lowercased(), entity: $0) }.sorted {
                if $0.key == $1.key { return $0.entity.index < $1.entity.index }
                return $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars)
            }.map(\.entity)
        }
        var order: [EntityDescription] = []
        // A stack instead of recursion, because the model chooses the depth of the hierarchy.
        var pending = Array(sorted(entities.filter { $0.superentity == nil }).reversed())
        while let next = pending.popLast() {
            order.append(next)
            pending.append(contentsOf: sorted(next.subentities).reversed())
        }
        return order
    }
}

extension EntityDescription {
    /// Tells whether one of the two entities is the other or inherits from it.
    package func isKin(of other: EntityDescription) -> Bool { isKindOf(entity: other) || other.isKindOf(entity: self) }
}
