import Foundation

/// The version hashes by which Core Data decides if a model fits a store (`NSStoreModelVersionHashesVersion` 3).
///
/// An entity's hash covers its name, its being abstract or not, its parent's hash, its properties with their types and counts,
/// the hash modifiers and the uniqueness constraints. Defaults, bounds, delete rules, indexes, classes and renaming identifiers
/// do not enter. SampleModel3_V1 shows the plainest case: one entity, two strings.
///
/// Names enter as UTF-8; real stores show ASCII names only.
package enum VersionHash {
    /// The number of bytes of a hash.
    package static let byteCount = SHA256.digestCount

    /// Returns the hash of every entity, by name.
    ///
    /// - Parameter model: the model.
    /// - Returns: the hashes; ``EntityVersionHash/unknown(reason:)`` for an entity that has, or inherits, a stored property
    ///   whose hash is unknown: see ``hash(of:composites:)``.
    /// - Complexity: O(p log p) in properties, inherited ones counted in each entity; O(1) for later calls.
    package static func entityHashes(of model: ManagedObjectModel) -> [String: EntityVersionHash] {
        if let known = model.computed.withLock({ $0.versionHashes }) { return known }
        let hashes = computeEntityHashes(of: model)
        model.computed.withLock { $0.versionHashes = hashes }
        return hashes
    }

    private static func computeEntityHashes(of model: ManagedObjectModel) -> [String: EntityVersionHash] {
        // An ancestor is hashed once, before its descendants, so that depth needs no recursion.
        var byName: [String: EntityVersionHash] = [:]
        for entity in model.resolved.sorted(by: { $0.lineage.count < $1.lineage.count }) {
            let parent = entity.superentity.map { model.resolved[$0].definition.name }
            byName[entity.definition.name] = model.entity(named: entity.definition.name).map {
                entityHash($0, superentityHash: parent.flatMap { byName[$0] })
            }
        }
        return byName
    }

    /// Returns the hash of every property that enters the entity's own, inherited ones included, by name.
    ///
    /// Transient and fetched properties are left out, as Core Data does.
    ///
    /// - Complexity: O(p log p) in the entity's properties.
    package static func propertyHashes(of entity: EntityDescription) -> [String: EntityVersionHash] {
        var hashes: [String: EntityVersionHash] = [:]
        for attribute in entity.declaredAttributes where !attribute.isTransient {
            let definition = entity.managedObjectModel.definition
            hashes[attribute.name] = hash(
                of: attribute.definition, composites: definition.composites, isFlat: definition.hashesCompositesFlat)
        }
        for relationship in entity.relationships where !relationship.isTransient {
            hashes[relationship.name] = hash(of: relationship)
        }
        return hashes
    }

    /// Returns the digest that stores have as `NSStoreModelVersionHashesDigest` since framework 977: base64 of the SHA-512 over
    /// name and hash of each entity, by name in code point order (SyncMetadata_V3 confirms this order).
    ///
    /// - Parameter hashes: 32 bytes by entity name.
    package static func digest(of hashes: [String: [UInt8]]) -> String {
        var function = SHA512()
        for (name, hash) in ordered(hashes) { function.update(name.utf8 + hash) }
        return Data(function.finalize()).base64EncodedString()
    }

    /// Returns the checksum that stores have as `NSStoreModelVersionChecksumKey` since framework 1333, and compiled models as
    /// `NSManagedObjectModel_VersionChecksums`: base64 of the SHA-256 over the hashes in the digest's order.
    ///
    /// - Parameter hashes: 32 bytes by entity name.
    package static func checksum(of hashes: [String: [UInt8]]) -> String {
        Data(SHA256.hash(ordered(hashes).flatMap(\.value))).base64EncodedString()
    }

    private static func ordered(_ hashes: [String: [UInt8]]) -> [(key: String, value: [UInt8])] {
        hashes.sorted { ModelResolution.precedes($0.key, $1.key) }
    }

    /// Returns H( name ‖ abstract ‖ parent's hash ‖ properties by name ‖ modifier ‖ own constraints ).
    private static func entityHash(
        _ entity: EntityDescription, superentityHash: EntityVersionHash?
    ) -> EntityVersionHash {
        let definition = entity.definition
        var function = SHA256()
        function.update(definition.name)
        function.update([definition.isAbstract ? 1 : 0])
        switch superentityHash {
        case nil: break
        case .known(let bytes): function.update(bytes)
        case .unknown(let reason): return .unknown(reason: reason)
        }
        for (name, hash) in propertyHashes(of: entity).sorted(by: { ModelResolution.precedes($0.key, $1.key) }) {
            switch hash {
            case .known(let bytes): function.update(bytes)
            case .unknown(let reason): return .unknown(reason: "\(definition.name).\(name) \(reason)")
            }
        }
        function.update(definition.versionHashModifier ?? "")
        let constraints = definition.uniquenessConstraints.map { $0.joined(separator: ".") }
        for constraint in constraints.sorted(by: ModelResolution.precedes) { function.update(constraint) }
        return .known(function.finalize())
    }
}

/// The version hash of an entity or a property: 32 bytes, or the reason why only Core Data can compute it.
package enum EntityVersionHash: Sendable, Equatable {
    /// The 32 bytes of the hash.
    case known([UInt8])
    /// The reason, a sentence without a full stop. A hash is never invented: a store with a wrong one claims to be of another
    /// version.
    case unknown(reason: String)

    /// The bytes if the hash is known; else nil.
    package var bytes: [UInt8]? {
        if case .known(let bytes) = self { bytes } else { nil }
    }

    /// The reason if the hash is unknown; else nil.
    package var reason: String? {
        if case .unknown(let reason) = self { reason } else { nil }
    }
}
