import CoreDataStore
import Diagnostics
import ManagedModel

/// Checks that a store was written by a model, before anything is read with the wrong model.
enum StoreMatch {
    /// Reads an existing store to which rows are to be added.
    ///
    /// - Throws: `destination.otherModel` (78) with the entities that differ; the errors of reading a damaged store.
    static func existing(_ path: String, model: ManagedObjectModel) throws(MigrationError) -> ExistingStore {
        try ExistingStore(path: path, model: model) { metadata throws(MigrationError) in
            guard let shown = differences(metadata, model) else { return }
            throw MigrationError(
                "destination.otherModel", .configuration,
                "The destination is a store of another model version: \(shown)",
                remedy: "Append to a store of the version given with --to, or name a destination that does not exist",
                context: .init(path: path))
        }
    }

    private static func differences(_ metadata: StoreMetadata, _ model: ManagedObjectModel) -> String? {
        let differences = ModelDifference.describe(store: metadata.versionHashes, model: model)
        return differences.isEmpty ? nil : differences.shown
    }

    /// Compares the store's entity hashes with the model's.
    ///
    /// - Throws: `store.otherModel` (78) with the entities that differ.
    static func check(_ metadata: StoreMetadata, against model: ManagedObjectModel, path: String) throws(MigrationError)
    {
        guard let shown = differences(metadata, model) else { return }
        if let name = model.fitting(storeHashes: metadata.versionHashes)?.restrictedConfigurations.first {
            throw MigrationError(
                "store.otherModel", .configuration, "The store was made for the configuration \(name) of the model",
                remedy: "Give the models that restricted(toConfiguration:) returns", context: .init(path: path))
        }
        throw MigrationError(
            "store.otherModel", .configuration, "The store was written by another model version: \(shown)",
            remedy: "Give the version that wrote it with --from, or leave --from out to use the store's cached model",
            context: .init(path: path))
    }
}
