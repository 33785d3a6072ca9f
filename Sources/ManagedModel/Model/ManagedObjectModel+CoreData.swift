import Foundation

extension ManagedObjectModel {
    /// Reads the model of a file or folder, as ``ModelLocator`` finds it; nil if it cannot be read.
    public convenience init?(contentsOf url: URL) {
        do {
            try self.init(ModelLocator.load(url.path).model.definition)
        } catch {
            return nil
        }
    }

    /// Tells whether this version wrote a store with some metadata.
    ///
    /// - Parameters:
    ///   - name: a configuration; nil for all entities.
    ///   - metadata: the metadata of the store, with `NSStoreModelVersionHashes`.
    public func isConfiguration(withName name: String?, compatibleWithStoreMetadata metadata: [String: Any]) -> Bool {
        guard let stored = metadata["NSStoreModelVersionHashes"] as? [String: Data],
            let entities = entities(forConfigurationName: name)
        else { return false }
        let own = entityVersionHashesByName
        let names = Set(entities.compactMap { $0.name })
        guard names == Set(stored.keys) else { return false }
        // A hash that only Core Data can compute is no evidence against the store.
        return names.allSatisfy { own[$0] == nil || own[$0] == stored[$0] }
    }

    /// Returns the checksum of each version of a model, by the version's name. Versions whose checksum only Core Data can
    /// compute are left out.
    ///
    /// - Parameter url: a folder of versions, compiled (`.momd`) or not (`.xcdatamodeld`).
    /// - Throws: the errors of ``ModelLocator/load(_:)`` (66, 74, 77, 78).
    public static func checksumsForVersionedModel(at url: URL) throws -> [String: String] {
        var checksums: [String: String] = [:]
        for version in try ModelLocator.versions(in: url.path) {
            checksums[version] = try ModelLocator.load("\(url.path):\(version)").model.versionChecksum
        }
        return checksums
    }
}
