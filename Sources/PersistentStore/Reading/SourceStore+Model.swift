import Diagnostics
import ManagedModel

extension SourceStore {
    /// The model that Core Data has left in the store, with the version hashes that only the store's metadata know; nil
    /// where there is none (before iOS 9).
    ///
    /// - Throws: what the reader of keyed archives and models throws.
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
