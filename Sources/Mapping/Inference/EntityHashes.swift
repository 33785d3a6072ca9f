import ManagedModel

import struct Foundation.Data

/// The version hashes of a model's entities, as far as they are known.
struct EntityHashes {
    private let byName: [String: Data]

    init(_ model: ManagedObjectModel) { byName = model.entityVersionHashesByName }

    subscript(entity: EntityDescription) -> Data? { byName[entity.definition.name] }

    /// Tells whether two versions of an entity are the same: their hashes are equal or, if one is unknown, all ingredients of
    /// the hash are.
    static func isUnchanged(
        _ old: EntityDescription, _ new: EntityDescription, _ oldHashes: EntityHashes, _ newHashes: EntityHashes
    ) -> Bool {
        if let oldHash = oldHashes[old], let newHash = newHashes[new] { return oldHash == newHash }
        return ingredients(of: old) == ingredients(of: new)
    }

    /// The parts of an entity that determine the form of its rows: those that enter its version hash.
    private static func ingredients(of entity: EntityDescription) -> [[AnyHashable?]] {
        let lineage = sequence(first: entity, next: \.superentity).map { ancestor -> [AnyHashable?] in
            let constraints = ancestor.uniquenessConstraints.map { $0.joined(separator: ".") }.sorted()
            return [ancestor.definition.name, ancestor.isAbstract, ancestor.versionHashModifier, constraints]
        }
        let attributes = entity.attributes.filter { !$0.isTransient }.map { attribute -> [AnyHashable?] in
            let definition = attribute.definition
            return [
                attribute.name, attribute.isOptional, definition.versionHashModifier, definition.type,
                definition.allowsExternalBinaryDataStorage, definition.preservesValueInHistoryOnDeletion,
                definition.derivationExpression, attribute.requiringComposite,
            ]
        }
        let relationships = entity.relationships.filter { !$0.isTransient }.map { relationship -> [AnyHashable?] in
            let definition = relationship.definition
            return [
                relationship.name, relationship.isOptional, definition.versionHashModifier,
                definition.destinationEntityName, definition.inverseName, relationship.minCount,
                relationship.maxCount, relationship.isOrdered,
            ]
        }
        return lineage + attributes + relationships
    }
}
