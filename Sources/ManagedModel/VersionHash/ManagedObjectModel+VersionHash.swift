import struct Foundation.Data

extension ManagedObjectModel {
    /// The version hash of each entity, 32 bytes, by name.
    ///
    /// An entity that has or inherits a derived or composite attribute is absent, because only Core Data can compute its hash.
    /// It is present if a compiled model, or the metadata of the store that the model was read from, states the hash. Computed
    /// at each call, O(p log p) in properties.
    public var entityVersionHashesByName: [String: Data] {
        VersionHash.entityHashes(of: self).compactMapValues { $0.bytes.map { Data($0) } }
    }

    /// Adopts version hashes that only Core Data can compute: those of entities with derived or composite attributes. They come
    /// from a store made for this model or for one of its configurations.
    ///
    /// All other hashes of the store must be equal to the model's. If one is not, the store is of another version: no hash is
    /// adopted, and ``unknownHashReason(ofEntity:)`` names the difference.
    ///
    /// - Parameter hashes: the store's `NSStoreModelVersionHashes`, 32 bytes by entity name. An empty hash stands for one that the
    ///   store leaves out.
    /// - Complexity: O(p log p) in the model's properties.
    package func takeUnknownHashes(from hashes: [String: [UInt8]]) {
        var own = VersionHash.entityHashes(of: self)
        let stated = hashes.filter { name, hash in
            hash.count == VersionHash.byteCount && own[name] != nil && own[name]?.bytes == nil
        }
        guard !stated.isEmpty else { return }
        if fitting(storeHashes: hashes) == nil {
            let difference = ModelDifference.describe(store: hashes, model: self).first ?? "it has other entities"
            for (name, hash) in own where stated[name] != nil {
                own[name] = .unknown(
                    reason: (hash.reason ?? "")
                        + "; the store's metadata state it, but its cached model is another version's: \(difference)")
            }
        } else {
            own.merge(stated.mapValues { .known($0) }) { $1 }
        }
        computed.withLock { $0.versionHashes = own }
    }

    /// Returns the reason why an entity's version hash is unknown, a sentence without a full stop; nil if it is known, and if
    /// there is no such entity.
    package func unknownHashReason(ofEntity name: String) -> String? {
        VersionHash.entityHashes(of: self)[name]?.reason
    }

    /// The checksum over all entities' hashes, in base64, by which Core Data's staged migrations name versions; nil if the hash
    /// of any entity is unknown.
    public var versionChecksum: String? {
        let hashes = VersionHash.entityHashes(of: self)
        let known = hashes.compactMapValues(\.bytes)
        return known.count == hashes.count ? VersionHash.checksum(of: known) : nil
    }
}
