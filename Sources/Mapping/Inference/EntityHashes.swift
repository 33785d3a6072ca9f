import Foundation
import ManagedModel

extension EntityDescription {
    /// The version hash; nil if only Core Data can compute it.
    var knownHash: Data? {
        VersionHash.entityHashes(of: managedObjectModel)[definition.name]?.bytes.map { Data($0) }
    }

    /// Tells whether another version of the entity is the same: their hashes are equal or, if one is unknown, all ingredients
    /// of the hash are.
    func isUnchanged(in new: EntityDescription) -> Bool {
        if let knownHash, let newHash = new.knownHash { return knownHash == newHash }
        return ingredients == new.ingredients
    }

    /// The parts of an entity that determine the form of its rows: those that enter its version hash.
    private var ingredients: [[AnyHashable?]] {
        let lineage = sequence(first: self, next: \.superentity).map { ancestor -> [AnyHashable?] in
            let constraints = ancestor.uniquenessConstraints.map { $0.joined(separator: ".") }.sorted()
            return [ancestor.definition.name, ancestor.isAbstract, ancestor.versionHashModifier, constraints]
        }
        let attributes = attributes.filter { !$0.isTransient }.map { attribute -> [AnyHashable?] in
            let definition = attribute.definition
            return [
                attribute.name, attribute.isOptional, definition.versionHashModifier, definition.type,
                definition.allowsExternalBinaryDataStorage, definition.preservesValueInHistoryOnDeletion,
                definition.derivationExpression, attribute.requiringComposite,
            ]
        }
        let relationships = relationships.filter { !$0.isTransient }.map { relationship -> [AnyHashable?] in
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
