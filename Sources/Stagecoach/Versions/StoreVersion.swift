import CoreDataStore
import Diagnostics
import ManagedModel

/// The version of a model that wrote a store, with the evidence for it.
public struct StoreVersion: Sendable {
    /// The evidence by which a version is recognised.
    public enum Evidence: String, Sendable, Codable {
        /// The version hashes in the store's metadata are those of the versions.
        case hashes
        /// The store's cached model; no available version has its hashes.
        case cachedModel
        /// Tables and columns are those of the versions; hashes are missing, or belong to no available version.
        case schema
    }

    /// Tells how the version was recognised: by the store's version hashes, its cached model, or its tables.
    public var evidence: Evidence
    /// All versions that match, in the bundle's order; several if a store cannot tell them apart.
    public var names: [String]
    /// The model with which to read the store: its cached model if that fits its hashes, else the last of the versions.
    /// If the store was made for one configuration, the model has only that configuration's entities.
    public var model: ManagedObjectModel
    /// The configurations that the store may have been made for, all with the same entities; empty if it has all
    /// entities of the model.
    public var configurations: [String] { model.restrictedConfigurations }
    /// The version's name in the metadata; nil if they give none.
    public var label: String?

    /// The version, for messages.
    public var version: ModelVersion { ModelVersion(name: names.last ?? label, model: model) }

    /// Finds the version that wrote a store: by its hashes, else by its cached model, else by its tables.
    ///
    /// - Parameters:
    ///   - path: the store; it is only read.
    ///   - bundle: the folder with the available versions, or a single model; nil: only the store's cached model is used.
    ///   - namesAll: true to get all versions that match. Else the bundle is read only if the store's cached model does
    ///     not tell which model wrote it.
    /// - Throws: `model.unknownVersion` (78) with the evidence that was checked and the nearest version; the errors of
    ///   opening the store and the bundle.
    /// - Complexity: O(versions × properties); one version is held at a time, and those that match.
    public static func find(
        store path: String, bundle: String?, namesAll: Bool = false
    ) throws(MigrationError) -> StoreVersion {
        let store = try SourceStore(path: path, cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
        var found = try StoreVersionSearch(store: store, bundle: bundle, namesAll: namesAll).find()
        // A private store has the model that the version hashes of the original have named.
        if found.evidence == .cachedModel, StandInStore.of(path) != nil { found.evidence = .hashes }
        try store.close()
        return found
    }

    /// Tells whether a store with some hashes may be read with a model. A hash that only Core Data can compute is not
    /// held against it.
    package static func wrote(_ model: ManagedObjectModel, _ hashes: [String: [UInt8]]) -> Bool {
        ModelDifference.describe(store: hashes, model: model).isEmpty
    }
}

/// The search for the version that wrote a store.
private struct StoreVersionSearch {
    let store: SourceStore
    let bundle: String?
    let namesAll: Bool

    func find() throws(MigrationError) -> StoreVersion {
        let hashes = store.metadata.versionHashes
        // Hashes that only Core Data can compute may have been left out. If all were, hashes give no evidence.
        let hasHashes = hashes.values.contains { !$0.isEmpty }
        let said = store.metadata.versionIdentifiers.filter { !$0.isEmpty }
        let label = said.isEmpty ? nil : said.joined(separator: ", ")
        var reasons: [String] = []
        let cached = try cachedModel(hashes, &reasons)
        if let cached, !namesAll {
            return StoreVersion(evidence: .cachedModel, names: [], model: cached, label: label)
        }
        let names = try bundle.map { path throws(MigrationError) in try ModelLocator.candidates(of: path) } ?? []
        let tables = try StoreTableNames(store)
        var matching: [ModelVersion] = []
        var same: [String] = []
        var fitting: [ModelVersion] = []
        var nearest: (name: String, differences: [String])?
        for name in names {
            guard let bundle, let model = try Self.version(name, in: bundle) else { continue }
            if hasHashes, let fitting = model.fitting(storeHashes: hashes) {
                matching.append(ModelVersion(name: name, model: fitting))
            }
            if let cached {
                if ModelDifference.describe(storeModel: cached.whole, model: model).isEmpty { same.append(name) }
                continue
            }
            let differences = tables.differences(from: model)
            let parts = differences.isEmpty ? [] : model.configurations.compactMap(model.restricted(toConfiguration:))
            if differences.isEmpty {
                fitting.append(ModelVersion(name: name, model: model))
            } else if let part = parts.first(where: { tables.differences(from: $0).isEmpty }) {
                fitting.append(ModelVersion(name: name, model: part))
            }
            if nearest.map({ differences.count < $0.differences.count }) ?? true { nearest = (name, differences) }
        }
        if matching.count > 1, matching.contains(where: { $0.model.hasUnknownHashes }) {
            // Unknown hashes match every version, so tell the versions apart by the cached model or by the tables.
            let alike = matching.filter { version in same.contains { $0 == version.name } }
            let told = alike.isEmpty ? matching.filter { tables.differences(from: $0.model).isEmpty } : alike
            if !told.isEmpty { matching = told }
        }
        if let last = matching.last {
            // The program that wrote the store may have left only its configuration in the cache.
            let isPart = matching.allSatisfy { !$0.model.restrictedConfigurations.isEmpty }
            let isCachedWhole = cached?.restrictedConfigurations.isEmpty ?? true
            return StoreVersion(
                evidence: .hashes, names: matching.compactMap(\.name),
                model: cached.flatMap { isPart && isCachedWhole ? nil : $0 } ?? last.model, label: label)
        }
        if let cached { return StoreVersion(evidence: .cachedModel, names: same, model: cached, label: label) }
        if let last = fitting.last {
            return StoreVersion(evidence: .schema, names: fitting.compactMap(\.name), model: last.model, label: label)
        }
        throw unknown(reasons, hasHashes: hasHashes, nearest)
    }

    /// Returns a version of the bundle; nil if it is not a valid model, because then it cannot be recognised. An error
    /// of the disk is thrown, because that version may be the one.
    private static func version(_ name: String, in bundle: String) throws(MigrationError) -> ManagedObjectModel? {
        do throws(MigrationError) { return try ModelLocator.candidate(name, of: bundle) } catch {
            guard error.category != .io else { throw error }
            return nil
        }
    }

    /// Returns the cached model, if it is the one that wrote the store.
    private func cachedModel(
        _ hashes: [String: [UInt8]], _ reasons: inout [String]
    ) throws(MigrationError) -> ManagedObjectModel? {
        do throws(MigrationError) {
            guard let model = try store.cachedModel() else {
                reasons.append("it has no cached model")
                return nil
            }
            if hashes.isEmpty { return model }
            if let fitting = model.fitting(storeHashes: hashes) { return fitting }
            let first = ModelDifference.describe(store: hashes, model: model).first ?? ""
            reasons.append("its cached model does not match its version hashes: \(first)")
        } catch {
            guard error.category != .io else { throw error }
            reasons.append("its cached model cannot be read (\(error.message))")
        }
        return nil
    }

    private func unknown(
        _ reasons: [String], hasHashes: Bool, _ nearest: (name: String, differences: [String])?
    ) -> MigrationError {
        var text = reasons.joined(separator: "; ")
        if let bundle {
            text += hasHashes ? "; no version in \(bundle) has its version hashes" : "; it has no version hashes"
        }
        if let nearest, let first = nearest.differences.first {
            text += "; its tables are nearest to those of \(nearest.name), but \(first)"
            if nearest.differences.count > 1 {
                text += ", and \((nearest.differences.count - 1).counted("more difference"))"
            }
        }
        return MigrationError(
            "model.unknownVersion", .configuration, "Nothing says which model version wrote the store: \(text)",
            remedy: "Name the model version that wrote the store with --from", context: .init(path: store.givenPath))
    }
}

extension ManagedObjectModel {
    /// True if there are entities whose version hashes only Core Data can compute.
    fileprivate var hasUnknownHashes: Bool {
        VersionHash.entityHashes(of: self).values.contains { if case .unknown = $0 { true } else { false } }
    }
}
