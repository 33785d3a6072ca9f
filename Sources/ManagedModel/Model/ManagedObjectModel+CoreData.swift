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
}
