import struct Foundation.Data

extension ManagedObjectModel {
    /// The version hash of each entity, 32 bytes, by name.
    ///
    /// An entity that has or inherits a derived or composite attribute is absent: its hash is known to Core Data
    /// only. Computed at each call, O(p log p) in properties.
    public var entityVersionHashesByName: [String: Data] {
        VersionHash.entityHashes(of: self).compactMapValues { $0.bytes.map { Data($0) } }
    }

    /// The checksum over all entities' hashes, base64, as Core Data names versions in staged migrations; nil where
    /// the hash of any entity is not known.
    public var versionChecksum: String? {
        let hashes = VersionHash.entityHashes(of: self)
        let known = hashes.compactMapValues(\.bytes)
        return known.count == hashes.count ? VersionHash.checksum(of: known) : nil
    }
}
