import Diagnostics
import ManagedModel

extension SourceStore {
    /// Returns the model that Core Data has cached in the store, with the version hashes from the store's metadata; nil if
    /// there is none (before iOS 9).
    ///
    /// - Throws: the errors of the reader of keyed archives and models.
    package func cachedModel() throws(MigrationError) -> ManagedObjectModel? {
        guard let content = try cachedModelContent() else { return nil }
        do throws(MigrationError) {
            let model = try ManagedObjectModel(try ModelCache.decode(content))
            model.takeUnknownHashes(from: metadata.versionHashes)
            return model
        } catch {
            throw error.inside(.init(path: path))
        }
    }
}
