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
        return EntityStructure(old) == EntityStructure(new)
    }
}
