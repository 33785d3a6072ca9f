import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Synchronization
import TestSupport

/// A version of a model among the shared stores.
struct RealVersion: Sendable {
    let name: String
    let model: ManagedObjectModel
    /// 32 bytes by entity; entities whose hash is not known are absent.
    let hashes: [String: [UInt8]]
    /// The hashes that Xcode's compiler gave the version, from VersionInfo.plist; nil if there is no compiled model.
    let compiledHashes: [String: [UInt8]]?

    init(name: String, model: ManagedObjectModel, compiledHashes: [String: [UInt8]]?) {
        self.name = name
        self.model = model
        self.compiledHashes = compiledHashes
        hashes = VersionHash.entityHashes(of: model).compactMapValues(\.bytes)
    }

    /// Tells whether a store with these hashes was written by this version, as far as hashes are known.
    func wrote(_ stored: [String: [UInt8]]) -> Bool {
        Set(stored.keys) == Set(model.entities.map(\.definition.name))
            && hashes.allSatisfy { stored[$0.key] == $0.value }
    }
}

/// A store as Core Data left it.
struct RealStore: Sendable {
    let name: String
    let url: URL
    /// The cached model; of a store without one the version of the family whose hashes are the store's.
    let model: ManagedObjectModel
    let hasModelCache: Bool
    let hashes: [String: [UInt8]]
    let frameworkVersion: Int64

    /// The store's files and their bytes, by name.
    static func files(beside path: String) throws -> [String: Data] {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.appendingPathComponent($0))) })
    }
}

/// The versions of one `.xcdatamodeld` of the shared stores, oldest first, and the stores that they wrote.
struct RealFamily: Sendable {
    let name: String
    let versions: [RealVersion]
    let stores: [RealStore]

    /// The versions that come after the one that wrote a store; all, where none of them did (store1-24 of wire is older
    /// than the oldest). The store's own version is among them: hashes do not tell every change.
    func versions(from store: RealStore) -> ArraySlice<RealVersion> {
        versions[(versions.firstIndex { $0.wrote(store.hashes) } ?? 0)...]
    }

    /// The store of a version, where there is one.
    func store(of version: RealVersion) -> RealStore? { stores.first { version.wrote($0.hashes) } }

    /// Versions whose names do not sort by age.
    private static let firstNames = [
        "ArtsyPartner", "ArtsyPartner 2", "ArtsyPartner 3", "ArtsyPartner 4", "ArtsyPartner 5", "UserDataModel",
        "Beam (early, 664b7b6b)", "Beam (early, 1c94b480)", "CyfaceModel",
    ]

    private static let cache = Mutex<[String: RealFamily]>([:])

    /// Reads a family, once.
    ///
    /// - Parameter bundle: the path of the `.xcdatamodeld` below the shared stores.
    static func load(_ bundle: String) throws -> RealFamily {
        if let known = cache.withLock({ $0[bundle] }) { return known }
        let url = SharedStores.url.appendingPathComponent(bundle)
        let names = try ModelLocator.versions(in: url.path)
        let project = String(bundle.prefix { $0 != "/" })
        let compiled = try compiledHashes(
            "\(project)/momd/\(url.deletingPathExtension().lastPathComponent).momd/VersionInfo.plist")
        let versions = try (firstNames.filter(names.contains) + names.filter { !firstNames.contains($0) }).map {
            RealVersion(
                name: $0, model: try ModelLocator.load("\(url.path):\($0)").model, compiledHashes: compiled[$0])
        }
        let family = RealFamily(
            name: url.deletingPathExtension().lastPathComponent, versions: versions,
            stores: try stores(of: project).compactMap { try read($0, versions: versions, isOfFamily: true) })
        cache.withLock { $0[bundle] = family }
        return family
    }

    /// The hashes of a compiled model by version and entity; empty if there is no such file.
    static func compiledHashes(_ path: String) throws -> [String: [String: [UInt8]]] {
        guard let bytes = try? Data(contentsOf: SharedStores.url.appendingPathComponent(path)) else { return [:] }
        let list = try PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any]
        let versions = list?["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]] ?? [:]
        return versions.mapValues { $0.mapValues { Array($0) } }
    }

    /// The stores of a project, by name.
    static func stores(of project: String) -> [URL] {
        SharedStores.paths(in: project, withExtensions: ["sqlite", "moody", "wiredatabase"]).filter {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true
        }
    }

    /// A store with its model, its own or that of the version that wrote it; nil if there is none.
    ///
    /// - Parameter isOfFamily: whether a store that neither a version wrote nor shares most entities with them is nil.
    static func read(_ url: URL, versions: [RealVersion], isOfFamily: Bool) throws -> RealStore? {
        let folder = try TemporaryFolder()
        let source = try SourceStore(
            path: folder.copyStore(url), cacheBytes: 1 << 16, valueLimit: 1 << 24, temporaryDirectory: nil)
        defer { try? source.close() }
        let hashes = source.metadata.versionHashes
        let writer = versions.first { $0.wrote(hashes) }
        let known = Set(versions.flatMap { $0.model.entities.map(\.definition.name) })
        let isKin = writer != nil || hashes.keys.count(where: known.contains) * 2 > hashes.count
        guard isKin || !isOfFamily else { return nil }
        let cached = try source.cachedModel()
        guard let model = cached ?? writer?.model else { return nil }
        return RealStore(
            name: url.lastPathComponent, url: url, model: model, hasModelCache: cached != nil, hashes: hashes,
            frameworkVersion: source.metadata.frameworkVersion ?? 0)
    }
}
