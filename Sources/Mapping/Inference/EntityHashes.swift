import Foundation
import ManagedModel

extension EntityDescription {
    /// The version hash; nil if only Core Data can compute it.
    var knownHash: Data? {
        VersionHash.entityHashes(of: managedObjectModel)[definition.name]?.bytes.map { Data($0) }
    }

    /// Tells whether another version of the entity is the same: their hashes are equal or, if one is unknown, all that enters
    /// the hash is.
    func isUnchanged(in new: EntityDescription) -> Bool {
        if let knownHash, let newHash = new.knownHash { return knownHash == newHash }
        return ModelDifference.areAlike(self, new)
    }
}
