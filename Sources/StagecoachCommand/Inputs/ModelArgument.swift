import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import Stagecoach

/// A model and what people call it.
struct NamedModel {
    let model: ManagedObjectModel
    /// Of the version, where the file's name or the model itself says it.
    let name: String?
    /// The bundle that has the version under this name; nil for a model by itself.
    var bundle: String?
}

extension MappingModel {
    /// Names the versions that the mapping model is between, where both are of one bundle: elsewhere the names say nothing.
    func nameVersions(_ source: NamedModel, _ destination: NamedModel) {
        guard let bundle = source.bundle, bundle == destination.bundle, source.name != destination.name else { return }
        (sourceVersionName, destinationVersionName) = (source.name, destination.name)
    }
}

/// Finds the models of a migration: what `--from` and `--to` name, and what a store says when `--from` is left out.
enum ModelArgument {
    /// Reads the model of an argument: a model on disk, or the cached model of a store.
    ///
    /// - Throws: what ``ModelLocator`` and ``SourceStore`` throw; `model.noCache` (78).
    static func load(_ argument: String) throws(MigrationError) -> NamedModel {
        guard try InputFile.isDatabase(argument) else {
            let loaded = try ModelLocator.load(argument)
            return NamedModel(
                model: loaded.model, name: loaded.versionName ?? label(loaded.model.versionIdentifiers),
                bundle: loaded.versionName.flatMap { _ in ModelLocator.bundle(of: argument) }.map(
                    PathIdentity.canonical))
        }
        let store = try open(argument)
        guard let model = try store.cachedModel() else {
            throw MigrationError(
                "model.noCache", .configuration, "The store has no cached model",
                remedy: "Name an .xcdatamodel, .xcdatamodeld, .momd or .mom", context: .init(path: argument))
        }
        try store.close()
        return NamedModel(model: model, name: label(store.metadata.versionIdentifiers))
    }

    /// Finds the version that wrote a store: its cached model, else the version of a bundle by hashes, else by tables.
    ///
    /// - Parameters:
    ///   - store: the store's path.
    ///   - bundle: the `--to` argument: its other versions are tried where the store has no usable cached model.
    ///   - namesAll: whether they are tried in any case.
    /// - Throws: what opening the store throws; `model.unknownVersion` (78) asking for `--from`.
    /// - Complexity: O(model); O(versions of the bundle) where the store has no cached model.
    static func ofStore(_ store: String, bundle: String, namesAll: Bool = false) throws(MigrationError) -> StoreVersion
    {
        do throws(MigrationError) {
            return try StoreVersion.find(
                store: store, bundle: ModelLocator.bundle(of: bundle), namesAll: namesAll)
        } catch { throw error.inside(.init(path: store)) }
    }

    /// A version that `--via` names: of the bundle of `--to`, or a model.
    ///
    /// - Throws: what ``ModelLocator`` throws.
    static func stop(_ argument: String, bundle: String?) throws(MigrationError) -> ModelVersion {
        if let bundle, !argument.contains("/"), ModelLocator.bundle(of: argument) == nil {
            return ModelVersion(name: argument, model: try ModelLocator.load("\(bundle):\(argument)").model)
        }
        let named = try load(argument)
        return ModelVersion(name: named.name, model: named.model)
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
}
