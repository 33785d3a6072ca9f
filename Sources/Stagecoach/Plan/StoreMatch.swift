import Diagnostics
import ManagedModel
import PersistentStore

/// Whether a store was written by a model: the wrong model must stop before anything is read with it.
enum StoreMatch {
    /// Compares the store's entity hashes with the model's.
    ///
    /// - Throws: `store.otherModel` (78) saying which entities differ.
    static func check(_ metadata: StoreMetadata, against model: ManagedObjectModel, path: String) throws(MigrationError)
    {
        let differences = ModelDifference.describe(store: metadata.versionHashes, model: model)
        guard !differences.isEmpty else { return }
        let shown = differences.prefix(5).joined(separator: "; ")
        let rest = differences.count > 5 ? "; and \(differences.count - 5) more" : ""
        throw MigrationError(
            "store.otherModel", .configuration, "The store was written by another model version: \(shown)\(rest)",
            remedy: "Give the version that wrote it with --from, or leave --from out to use the store's cached model",
            context: .init(path: path))
    }
}
