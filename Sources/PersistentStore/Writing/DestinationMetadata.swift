import Archives
import Diagnostics
import ManagedModel

/// What Z_METADATA of a destination says.
package struct DestinationMetadata: Sendable {
    /// Z_UUID: the store's identifier in object URIs, an upper-case UUID. A migration keeps the source's.
    package var uuid: String
    /// The source's property list: application keys and the framework's version are carried over from it, and it
    /// says whether digest and checksum are written. Empty for a store without source.
    package var sourceProperties: [String: PropertyListValue]
    /// Version hash, 32 bytes, by entity name. Nothing is invented: an entity without an entry is an error.
    package var versionHashes: [String: [UInt8]]
    /// The model's labels; unset is one empty string or none.
    package var versionIdentifiers: [String]
    /// Whether entities without an entry are left out of the store's hashes, which then say so, in the place of an error.
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

    /// The metadata of a store that comes from another: its application keys and framework version are kept.
    ///
    /// - Parameters:
    ///   - source: what the source's Z_METADATA says.
    ///   - uuid: the new store's identifier; the source's to keep object URIs, a fresh one otherwise.
    ///   - hashes: 32 bytes by entity name of the destination model.
    ///   - identifiers: labels of the destination model.
    package init(carryingOver source: StoreMetadata, uuid: String, hashes: [String: [UInt8]], identifiers: [String]) {
        self.init(
            uuid: uuid, sourceProperties: source.propertyList, versionHashes: hashes, versionIdentifiers: identifiers)
    }

    /// Keys of Z_PLIST that the store's own machinery owns.
    enum Key {
        static let storeType = "NSStoreType"
        /// Not in any real SQLite store's list, but in metadata that a program has set back whole.
        static let storeUUID = "NSStoreUUID"
        static let hashes = "NSStoreModelVersionHashes"
        static let hashesVersion = "NSStoreModelVersionHashesVersion"
        static let identifiers = "NSStoreModelVersionIdentifiers"
        static let autoVacuum = "_NSAutoVacuumLevel"
        static let frameworkVersion = "NSPersistenceFrameworkVersion"
        /// From framework 977 on.
        static let digest = "NSStoreModelVersionHashesDigest"
        /// From framework 1333 on.
        static let checksum = "NSStoreModelVersionChecksumKey"
        /// Ours: names of the entities whose hashes only Core Data can compute and that were left out.
        static let unknownHashes = StoreMetadata.unknownHashesKey
    }

    /// The framework version of a store without source: iOS 14's, the first with today's form of every index.
    package static let defaultFrameworkVersion: Int64 = 1044

    /// The property list of Z_PLIST.
    ///
    /// Digest and checksum are recomputed where the source has them: a wrong one is worse than none, and none is
    /// what older frameworks wrote. Without a source both are left out.
    ///
    /// - Throws: `metadata.missingHash` where an entity of the model has no hash of 32 bytes, and it is not to be left out.
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
        properties[Key.hashes] = .dictionary(hashes.mapValues { .data($0) })
        properties[Key.hashesVersion] = .integer(3)
        properties[Key.identifiers] = .array(versionIdentifiers.map { .string($0) })
        properties[Key.autoVacuum] = .string("2")
        if properties[Key.storeUUID] != nil { properties[Key.storeUUID] = .string(uuid) }
        if properties[Key.frameworkVersion] == nil {
            properties[Key.frameworkVersion] = .integer(Self.defaultFrameworkVersion)
        }
        guard missing.isEmpty else {
            // Both are over all hashes.
            properties[Key.digest] = nil
            properties[Key.checksum] = nil
            return .dictionary(properties)
        }
        if properties[Key.digest] != nil { properties[Key.digest] = .string(VersionHash.digest(of: hashes)) }
        if properties[Key.checksum] != nil { properties[Key.checksum] = .string(VersionHash.checksum(of: hashes)) }
        return .dictionary(properties)
    }
}
