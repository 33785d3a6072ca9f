import Diagnostics
import ManagedModel
import PersistentStore

/// A model and what people call it.
struct NamedModel {
    let model: ManagedObjectModel
    /// Of the version, where the file's name or the model itself says it.
    let name: String?
}

/// Finds the models of a migration: what `--from` and `--to` name, and what a store says when `--from` is left out.
enum ModelArgument {
    /// Reads the model of an argument: a model on disk, or the cached model of a store.
    ///
    /// - Throws: what ``ModelLocator`` and ``SourceStore`` throw; `model.noCache` (78).
    static func load(_ argument: String) throws(MigrationError) -> NamedModel {
        guard InputFile.isDatabase(argument) else {
            let loaded = try ModelLocator.load(argument)
            return NamedModel(model: loaded.model, name: loaded.versionName ?? label(loaded.model.versionIdentifiers))
        }
        let store = try open(argument)
        guard let model = try cachedModel(of: store) else {
            throw MigrationError(
                "model.noCache", .configuration, "The store has no cached model",
                remedy: "Name an .xcdatamodel, .xcdatamodeld, .momd or .mom", context: .init(path: argument))
        }
        try store.close()
        return NamedModel(model: model, name: label(store.metadata.versionIdentifiers))
    }

    /// Finds the model that wrote a store.
    ///
    /// - Parameters:
    ///   - store: the store's path.
    ///   - bundle: the `--to` argument: its other versions are tried where the store has no usable cached model.
    /// - Throws: what opening the store throws; `model.unknownVersion` (78) asking for `--from`.
    /// - Complexity: O(model); O(versions of the bundle) where the store has no cached model. One model is held.
    static func ofStore(_ store: String, bundle: String) throws(MigrationError) -> NamedModel {
        let opened = try open(store)
        let metadata = opened.metadata
        var reason = "The store has no cached model"
        do {
            if let model = try cachedModel(of: opened) {
                let differences = ModelDifference.describe(store: metadata.versionHashes, model: model)
                if differences.isEmpty { return NamedModel(model: model, name: label(metadata.versionIdentifiers)) }
                reason = "The store's cached model does not match its version hashes: \(differences[0])"
            }
        } catch {
            guard error.category != .io else { throw error }
            reason = "The store's cached model cannot be read: \(error.message)"
        }
        try opened.close()
        if let found = try version(of: bundle, matching: metadata.versionHashes) { return found }
        let isBundle = ModelLocator.bundle(of: bundle) != nil
        throw MigrationError(
            "model.unknownVersion", .configuration,
            reason
                + (isBundle
                    ? ", and no version in \(ModelLocator.bundle(of: bundle) ?? bundle) matches its hashes" : ""),
            remedy: "Name the model version that wrote the store with --from", context: .init(path: store))
    }

    /// The model in a store's Z_MODELCACHE; nil where there is none.
    ///
    /// - Throws: `archive.…` where it cannot be read.
    static func cachedModel(of store: SourceStore) throws(MigrationError) -> ManagedObjectModel? {
        guard let content = try store.cachedModelContent() else { return nil }
        do {
            return try ManagedObjectModel(try ModelCache.decode(content))
        } catch { throw error.inside(.init(path: store.path)) }
    }

    /// Opens a store for its metadata, with little memory.
    static func open(_ path: String) throws(MigrationError) -> SourceStore {
        try SourceStore(path: path, cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
    }

    /// Version identifiers in one text; nil where they say nothing.
    static func label(_ identifiers: [String]) -> String? {
        let said = identifiers.filter { !$0.isEmpty }
        return said.isEmpty ? nil : said.joined(separator: ", ")
    }

    private static func version(
        of argument: String, matching hashes: [String: [UInt8]]
    ) throws(MigrationError) -> NamedModel? {
        guard let bundle = ModelLocator.bundle(of: argument), !hashes.isEmpty else { return nil }
        for name in try ModelLocator.versions(in: bundle) {
            // A version that does not parse is none that could be recognised.
            guard let loaded = try? ModelLocator.load("\(bundle):\(name)"),
                ModelDifference.describe(store: hashes, model: loaded.model).isEmpty
            else { continue }
            return NamedModel(model: loaded.model, name: name)
        }
        return nil
    }
}
