import Archives
import Diagnostics
import ManagedModel

/// The content of a destination's Z_METADATA.
package struct DestinationMetadata: Sendable {
    /// Z_UUID: the store's identifier in object URIs, an upper-case UUID. A migration keeps that of the source.
    package var uuid: String
    /// The source's property list. Application keys and the framework's version are taken from it, and it decides if digest and
    /// checksum are written. Empty for a store without source.
    package var sourceProperties: [String: PropertyListValue]
    /// The version hashes by entity name, 32 bytes each. None is invented: an entity without a hash is an error.
    package var versionHashes: [String: [UInt8]]
    /// The version identifiers of the model. If none is set, this is one empty string or nothing.
    package var versionIdentifiers: [String]
    /// True to omit entities without a hash from the store's hashes and to record this in the store, instead of throwing an
    /// error.
    package var omitsUnknownHashes = false

    package init(
        uuid: String, sourceProperties: [String: PropertyListValue], versionHashes: [String: [UInt8]],
        versionIdentifiers: [String]
    ) {
        self.uuid = uuid
        self.sourceProperties = sourceProperties
        self.versionHashes = versionHashes
        self.versionIdentifiers = versionIdentifiers
    }

    /// The keys of Z_PLIST that Core Data itself manages.
    enum Key {
        static let storeType = "NSStoreType"
        /// Not in the list of any real SQLite store, but in metadata that a program has copied back as a whole.
        static let storeUUID = "NSStoreUUID"
        static let hashes = "NSStoreModelVersionHashes"
        static let hashesVersion = "NSStoreModelVersionHashesVersion"
        static let identifiers = "NSStoreModelVersionIdentifiers"
        static let autoVacuum = "_NSAutoVacuumLevel"
        static let frameworkVersion = "NSPersistenceFrameworkVersion"
        /// Used from framework 977 on.
        static let digest = "NSStoreModelVersionHashesDigest"
        /// Used from framework 1333 on.
        static let checksum = "NSStoreModelVersionChecksumKey"
        /// A key of Stagecoach: the names of the entities whose hashes only Core Data can compute, and which were omitted.
        static let unknownHashes = StoreMetadata.unknownHashesKey
    }

    /// The framework version of a store without source: that of iOS 14, the first with today's form of every index.
    package static let defaultFrameworkVersion: Int64 = 1044

    /// Returns the property list of Z_PLIST.
    ///
    /// Digest and checksum are recomputed if the source has them. A wrong one is worse than none, and older frameworks wrote
    /// none. Without a source both are omitted.
    ///
    /// - Throws: `metadata.missingHash` if an entity of the model has no hash of 32 bytes and must not be omitted.
    package func propertyList(for model: ManagedObjectModel) throws(MigrationError) -> PropertyListValue {
        var hashes: [String: [UInt8]] = [:]
        var missing: [String] = []
        for entity in model.entities {
            let name = entity.definition.name
            guard let hash = versionHashes[name], hash.count == VersionHash.byteCount else {
                if omitsUnknownHashes, versionHashes[name]?.isEmpty ?? true {
                    missing.append(name)
                    continue
                }
                throw MigrationError(
                    "metadata.missingHash", .configuration, "The version hash of an entity is not known",
                    remedy: "Give the destination model as a compiled .momd, whose VersionInfo.plist holds the hashes",
                    context: .init(entity: name))
            }
            hashes[name] = hash
        }
        var properties = sourceProperties
        properties[Key.unknownHashes] = missing.isEmpty ? nil : .array(missing.sorted().map { .string($0) })
        properties[Key.storeType] = .string("SQLite")
        properties[Key.hashes] = .dictionary(PropertyListDictionary(hashes.mapValues { .data($0) }))
        properties[Key.hashesVersion] = .integer(3)
        properties[Key.identifiers] = .array(versionIdentifiers.map { .string($0) })
        properties[Key.autoVacuum] = .string("2")
        if properties[Key.storeUUID] != nil { properties[Key.storeUUID] = .string(uuid) }
        if properties[Key.frameworkVersion] == nil {
            properties[Key.frameworkVersion] = .integer(Self.defaultFrameworkVersion)
        }
        guard missing.isEmpty else {
            // Both are computed over all hashes.
            properties[Key.digest] = nil
            properties[Key.checksum] = nil
            return .dictionary(PropertyListDictionary(properties))
        }
        if properties[Key.digest] != nil { properties[Key.digest] = .string(VersionHash.digest(of: hashes)) }
        if properties[Key.checksum] != nil { properties[Key.checksum] = .string(VersionHash.checksum(of: hashes)) }
        return .dictionary(PropertyListDictionary(properties))
    }
}
