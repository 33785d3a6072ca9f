import Foundation

extension ManagedObjectModel {
    /// Merges the models in some bundles; nil if there are none, or if several have conflicting entities.
    ///
    /// - Parameter bundles: the bundles; nil for the program's own.
    public static func mergedModel(from bundles: [Bundle]?) -> ManagedObjectModel? {
        let models = files(in: bundles).compactMap { path in
            (try? ModelLocator.load(path).model).map { (name: path, model: $0) }
        }
        return models.count > 1 ? try? ManagedObjectModel(merging: models) : models.first?.model
    }

    /// Finds the model version in some bundles that wrote a store; nil if none did.
    ///
    /// - Parameters:
    ///   - bundles: the bundles; nil for the program's own.
    ///   - metadata: the metadata of the store, with `NSStoreModelVersionHashes`.
    /// - Complexity: reads every version until one fits.
    public static func mergedModel(
        from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
    ) -> ManagedObjectModel? {
        for path in files(in: bundles) {
            let versions = (try? ModelLocator.versions(in: path))?.map { path + ":" + $0 } ?? [path]
            for version in versions {
                guard let model = try? ModelLocator.load(version).model,
                    model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
                else { continue }
                return model
            }
        }
        return nil
    }

    /// Returns the files and folders with some extensions in the bundles, without those in such folders.
    package static func files(
        in bundles: [Bundle]?, withExtensions endings: Set<String> = ["momd", "mom", "xcdatamodeld", "xcdatamodel"]
    ) -> [String] {
        (bundles ?? [Bundle.main]).flatMap { bundle in
            let folder = bundle.resourcePath ?? bundle.bundlePath
            let names = (FileManager.default.enumerator(atPath: folder)?.allObjects ?? []).compactMap { $0 as? String }
            return names.sorted().filter { name in
                let isInside = name.split(separator: "/").dropLast().contains { part in
                    endings.contains((String(part) as NSString).pathExtension)
                }
                return !isInside && endings.contains((name as NSString).pathExtension)
            }.map { folder + "/" + $0 }
        }
    }
}

extension ManagedObjectModel {
    /// Reads the model of a file or folder, as ``ModelLocator`` finds it; nil if it cannot be read.
    public convenience init?(contentsOf url: URL) {
        guard let definition = try? ModelLocator.load(url.path).model.definition else { return nil }
        try? self.init(definition)
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
