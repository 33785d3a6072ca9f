import Foundation

extension ManagedObjectModel {
    /// Merges the models in some bundles; nil if there are none, or if several have conflicting entities.
    ///
    /// - Parameter bundles: the bundles; nil for the program's own.
    public static func mergedModel(from bundles: [Bundle]?) -> ManagedObjectModel? {
        let models = files(in: bundles).compactMap { try? ModelLocator.load($0).model }
        return models.count > 1 ? try? ManagedObjectModel(merging: models) : models.first
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

    /// Merges the entities and configurations of several models.
    convenience init(merging models: [ManagedObjectModel]) throws {
        var merged = ModelDefinition()
        for (number, model) in models.enumerated() {
            var definition = model.definition
            merged.xcode.add(definition.xcode)
            if definition.composites.contains(where: { merged.composites[$0.key] ?? $0.value != $0.value }) {
                definition.renameComposites { "\($0)_\(number)" }
            }
            merged.entities += definition.entities
            merged.versionIdentifiers += definition.versionIdentifiers
            merged.fetchRequests += definition.fetchRequests
            merged.configurations.merge(definition.configurations) { $0 + $1 }
            merged.composites.merge(definition.composites) { first, _ in first }
        }
        try self.init(merged)
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

extension ModelDefinition {
    /// Gives the composites other names, which nothing but their uses knows.
    fileprivate mutating func renameComposites(_ rename: (String) -> String) {
        func renamed(_ attributes: [AttributeDefinition]) -> [AttributeDefinition] {
            attributes.map { attribute in
                var attribute = attribute
                attribute.compositeName = attribute.compositeName.map(rename)
                return attribute
            }
        }
        composites = Dictionary(uniqueKeysWithValues: composites.map { (rename($0.key), renamed($0.value)) })
        for index in entities.indices { entities[index].attributes = renamed(entities[index].attributes) }
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
