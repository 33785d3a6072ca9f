import Foundation

extension ManagedObjectModel {
    /// The model of a file or folder, as ``ModelLocator`` finds it; nil where there is none that can be read.
    public convenience init?(contentsOf url: URL) {
        do {
            try self.init(ModelLocator.load(url.path).model.definition)
        } catch {
            return nil
        }
    }

    /// Whether a store of some metadata was written by this version.
    ///
    /// - Parameters:
    ///   - name: a configuration; nil: all entities.
    ///   - metadata: a store's, with `NSStoreModelVersionHashes`.
    public func isConfiguration(withName name: String?, compatibleWithStoreMetadata metadata: [String: Any]) -> Bool {
        guard let stored = metadata["NSStoreModelVersionHashes"] as? [String: Data],
            let entities = entities(forConfigurationName: name)
        else { return false }
        let own = entityVersionHashesByName
        let names = Set(entities.compactMap { $0.name })
        guard names == Set(stored.keys) else { return false }
        // A hash that only Core Data knows cannot speak against the store.
        return names.allSatisfy { own[$0] == nil || own[$0] == stored[$0] }
    }
}
