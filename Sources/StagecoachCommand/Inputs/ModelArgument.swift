import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import Synchronization

/// A model and its name in messages.
struct NamedModel {
    let model: ManagedObjectModel
    /// The name of the version, from the file's name or the model itself; nil if unknown.
    let name: String?
    /// The bundle that contains the version; nil for a single model.
    var bundle: String?
}

extension MappingModel {
    /// Names the versions of the mapping model if both are of one bundle. Otherwise the names have no meaning.
    func nameVersions(_ source: NamedModel, _ destination: NamedModel) {
        guard let bundle = source.bundle, bundle == destination.bundle, source.name != destination.name else { return }
        (sourceVersionName, destinationVersionName) = (source.name, destination.name)
    }
}

/// Finds the models of a migration: those named by `--from` and `--to`, and the store's own if `--from` is omitted.
enum ModelArgument {
    /// Reads the model of an argument: a model on disk, or the cached model of a store.
    static func load(_ argument: String) throws(MigrationError) -> NamedModel {
        guard try InputFile.isDatabase(argument) else {
            if !ModelLocator.isModel(name: argument) {
                try AtomicArgument.refuseAsModel(argument)
                try SwiftModelArgument.admit(argument)
            }
            let loaded = try ModelLocator.load(argument)
            return NamedModel(
                model: loaded.model, name: loaded.versionName ?? label(loaded.model.definition.versionIdentifiers),
                bundle: loaded.versionName.flatMap { _ in ModelLocator.bundle(of: argument) }.map(
                    PathIdentity.canonical))
        }
        let store = try open(argument)
        let model = try cachedModel(of: store, argument, remedy: "Name an .xcdatamodel, .xcdatamodeld, .momd or .mom")
        try store.close()
        return NamedModel(model: model, name: label(store.metadata.versionIdentifiers))
    }

    /// Returns the cached model of a store.
    ///
    /// - Throws: `model.noCache` (78) if it has none.
    static func cachedModel(
        of store: SourceStore, _ path: String, as name: String = "store", remedy: String
    ) throws(MigrationError) -> ManagedObjectModel {
        if let model = try store.cachedModel() { return model }
        throw MigrationError(
            "model.noCache", .configuration, "The \(name) has no cached model", remedy: remedy, at: path)
    }

    /// Finds the version that wrote a store: its cached model, else the version of a bundle by hashes, else by tables.
    ///
    /// - Parameters:
    ///   - store: the store's path.
    ///   - bundle: the `--to` argument. Its versions, or the single model, are tried if the store has no usable cached model.
    ///   - hashes: the store's version hashes, by which a version found by the cached model gets its name in the bundle.
    ///   - namesAll: true to try them in any case.
    /// - Complexity: O(model); O(versions of the bundle) if the store has no cached model, and once for its names.
    static func ofStore(
        _ store: String, bundle: String, hashes: [String: [UInt8]] = [:], namesAll: Bool = false
    ) throws(MigrationError) -> StoreVersion {
        let bundle = ModelLocator.bundle(of: bundle) ?? (ModelLocator.isModel(name: bundle) ? bundle : nil)
        do throws(MigrationError) {
            var found = try StoreVersion.find(store: store, bundle: bundle, namesAll: namesAll)
            if found.names.isEmpty, let bundle { found.names = versionName(hashes, in: bundle).map { [$0] } ?? [] }
            return found
        } catch { throw error.inside(.init(path: store)) }
    }

    /// The version hashes of the versions of bundles. They are kept because a batch asks for thousands of stores.
    private static let versions = Mutex<[String: [(name: String, hashes: [String: [UInt8]])]]>([:])

    /// Returns the name of the version of a bundle whose hashes are those of a store; nil if there is none.
    private static func versionName(_ hashes: [String: [UInt8]], in bundle: String) -> String? {
        guard !hashes.isEmpty else { return nil }
        return versions.withLock { known in
            let versions =
                known[bundle]
                ?? ((try? ModelLocator.candidates(of: bundle)) ?? []).compactMap { name in
                    let model = try? ModelLocator.candidate(name, of: bundle)
                    return model.map { (name, $0.entityVersionHashesByName.mapValues { Array($0) }) }
                }
            known[bundle] = versions
            return versions.first { $0.hashes == hashes }?.name
        }
    }

    /// Reads a version named by `--via`: a version of the `--to` bundle, or a model.
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

    /// Joins version identifiers into one text; nil if all are empty.
    static func label(_ identifiers: [String]) -> String? {
        let said = identifiers.filter { !$0.isEmpty }
        return said.isEmpty ? nil : said.joined(separator: ", ")
    }
}
