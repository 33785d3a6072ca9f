import Archives
import Diagnostics

/// The content of a `VersionInfo.plist`, in which Xcode's compiler describes the versions of a `.momd`.
package struct CompiledVersionInfo: Sendable {
    static let fileName = "VersionInfo.plist"

    /// The current version; nil if there is a single version.
    package let currentVersion: String?
    /// The version hashes, 32 bytes, by version and entity name.
    package let hashes: [String: [String: [UInt8]]]
    /// The checksums by version, from newer compilers: the base64 text of ``VersionHash/checksum(of:)``.
    package let checksums: [String: String]
    let path: String

    /// Reads the file of a folder; nil if there is none.
    ///
    /// - Throws: `model.versionInfo` (78) if it is not such a property list, `model.permission` (77), `model.unreadable` (74).
    init?(folder: String) throws(MigrationError) {
        path = "\(folder)/\(Self.fileName)"
        guard try ModelFile.isFile(path) else { return nil }
        let bytes = try ModelFile.read(path)
        do throws(MigrationError) { (currentVersion, hashes, checksums) = try Self.read(Array(bytes)) } catch {
            throw MigrationError(
                "model.versionInfo", .configuration, "The bundle's \(Self.fileName) cannot be read",
                remedy: "Build the app again, or name one of the .mom files", context: .init(path: path), cause: error)
        }
    }

    private static func read(
        _ bytes: [UInt8]
    ) throws(MigrationError) -> (String?, [String: [String: [UInt8]]], [String: String]) {
        func malformed(_ what: String) -> MigrationError { .archive("archive.type", "The property list \(what)") }
        let limits = BinaryPropertyList.Limits(bytes: 16 << 20, expandedValues: 500_000, depth: 16)
        guard case .dictionary(let root) = try BinaryPropertyList.decode(bytes, limits: limits) else {
            throw malformed("is no dictionary")
        }
        let current = root["NSManagedObjectModel_CurrentVersionName"] ?? .string("")
        guard case .string(let name) = current else {
            throw malformed("names the current version by a \(current.kindName)")
        }
        let stated = root["NSManagedObjectModel_VersionHashes"] ?? .dictionary([:])
        guard case .dictionary(let versions) = stated else {
            throw malformed("holds a \(stated.kindName) where hashes are expected")
        }
        var hashes: [String: [String: [UInt8]]] = [:]
        for (version, entities) in versions {
            guard case .dictionary(let entities) = entities else { throw malformed("has a version without hashes") }
            for (entity, hash) in entities {
                guard case .data(let hash) = hash, hash.count == VersionHash.byteCount else {
                    throw malformed("has a hash of \(version)'s \(entity) that is not \(VersionHash.byteCount) bytes")
                }
                hashes[version, default: [:]][entity] = hash
            }
        }
        var checksums: [String: String] = [:]
        if case .dictionary(let versions)? = root["NSManagedObjectModel_VersionChecksums"] {
            for case (let version, .string(let checksum)) in versions { checksums[version] = checksum }
        }
        return (name.isEmpty ? nil : name, hashes, checksums)
    }

    /// Compares a version's model with the compiler's hashes, and sets the hashes of the model that cannot be computed: those
    /// of entities with derived or composite attributes.
    ///
    /// A difference is an error and not a warning, because the app's Core Data refuses to open a store with hashes other than
    /// the compiler's.
    ///
    /// - Throws: `model.versionHash` (78) naming the entities that differ, and those that one of the two lacks.
    /// - Complexity: O(p log p) in the model's properties.
    func apply(to model: ManagedObjectModel, version: String) throws(MigrationError) {
        guard let stated = hashes[version] else { return }
        let computed = VersionHash.entityHashes(of: model)
        let differing = Set(stated.keys).union(computed.keys).filter { name in
            guard let hash = stated[name], let own = computed[name] else { return true }
            return own.bytes != nil && own.bytes != hash
        }
        guard differing.isEmpty else {
            let names = differing.sorted(by: ModelResolution.precedes).joined(separator: ", ")
            throw MigrationError(
                "model.versionHash", .configuration,
                "The compiled model \(version) is not the one that \(Self.fileName) describes: \(names) "
                    + (differing.count == 1 ? "differs" : "differ"),
                remedy: "Build the app again, or name the .xcdatamodel the version is compiled from",
                context: .init(path: path, entity: differing.min(by: ModelResolution.precedes)))
        }
        model.computed.withLock { $0.versionHashes = stated.mapValues { .known($0) } }
    }
}
