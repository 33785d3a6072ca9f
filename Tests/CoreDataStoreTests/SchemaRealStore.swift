import Archives
import Foundation
import ManagedModel
import TestSupport

@testable import CoreDataStore

/// A real store: the schema in its file, and the model that wrote it.
struct SchemaRealStore {
    let name: String
    let url: URL
    private let folder: TemporaryFolder
    private let copy: String
    let frameworkVersion: Int64
    /// SQL by name, without the tables of persistent history.
    let tables: [String: String]
    let indexes: [String: String]
    let triggers: [String: String]
    /// Rows of Z_PRIMARYKEY, without those of persistent history, as `number|name|parent`.
    let primaryKeys: [String]
    let plist: [String: PropertyListValue]
    /// The model that was found; nil if no readable model fits the store.
    let model: ManagedObjectModel?

    /// All stores of the shared folder, by path.
    static func all() throws -> [SchemaRealStore] {
        let folder = try TemporaryFolder()
        let models = XMLModels()
        return try SharedStores.paths(withExtensions: ["sqlite", "moody", "wiredatabase"]).compactMap { url in
            guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { return nil }
            return try SchemaRealStore(copy: folder.copyStore(url), in: folder, url: url, models: models)
        }
    }

    private init?(copy: String, in folder: TemporaryFolder, url: URL, models: XMLModels) throws {
        self.folder = folder
        self.copy = copy
        name = url.lastPathComponent
        self.url = url
        let connection = try Connection(path: copy, flags: 2)
        let row = try connection.prepare("SELECT Z_PLIST FROM Z_METADATA")
        guard try row.step(), let bytes = row.blob(0),
            case .dictionary(let plist) = try BinaryPropertyList.decode(bytes)
        else { return nil }
        row.reset()
        self.plist = plist.byKey
        if case .integer(let version) = plist["NSPersistenceFrameworkVersion"] {
            frameworkVersion = version
        } else {
            frameworkVersion = 0
        }
        func objects(_ type: String) throws -> [String: String] {
            let select = try connection.prepare(
                "SELECT name, sql FROM sqlite_master WHERE type = '\(type)' AND sql IS NOT NULL "
                    + "AND tbl_name NOT IN ('ACHANGE', 'ATRANSACTION', 'ATRANSACTIONSTRING')")
            var found: [String: String] = [:]
            while try select.step() { found[select.text(0) ?? ""] = select.text(1) ?? "" }
            return found
        }
        tables = try objects("table")
        indexes = try objects("index")
        triggers = try objects("trigger")
        let found = try connection.firstColumn(
            "SELECT Z_ENT || '|' || Z_NAME || '|' || Z_SUPER FROM Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY Z_ENT")
        primaryKeys = found
        if tables["Z_MODELCACHE"] != nil {
            let cache = try connection.prepare("SELECT Z_CONTENT FROM Z_MODELCACHE")
            guard try cache.step(), let content = cache.blob(0) else { return nil }
            model = try ManagedObjectModel(try ModelCache.decode(content))
        } else {
            model = models.model(inFolderOf: url, hashes: plist["NSStoreModelVersionHashes"])
        }
    }

    /// A schema with the names that the file has for the same things.
    func namesTakenOver(by schema: StoreSchema) throws -> StoreSchema {
        let store = try SourceStore(path: copy, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
        let taken = try store.namesTakenOver(by: schema, from: store.layout(for: schema.model))
        try store.close()
        return taken
    }

    /// True if the file was altered in place: a column was added at the end of a table, or a table was renamed. Fresh tables
    /// end in a blank and a parenthesis and have no quotes.
    var isAlteredInPlace: Bool {
        tables.contains { name, sql in
            !FixedTables.names.contains(name) && (!sql.hasSuffix(" )") || sql.contains("\"")) && !sql.contains("UNIQUE")
        }
    }
}

/// The XML models of the shared folder, for stores without a cached model.
private final class XMLModels {
    private var byProject: [String: [ManagedObjectModel]] = [:]

    /// The model of the store's project whose version hashes are the store's.
    func model(inFolderOf store: URL, hashes: PropertyListValue?) -> ManagedObjectModel? {
        let project = store.deletingLastPathComponent().deletingLastPathComponent().lastPathComponent
        let models = byProject[project] ?? load(project)
        byProject[project] = models
        return models.first { model in
            let computed = VersionHash.entityHashes(of: model).mapValues { hash -> PropertyListValue in
                if case .known(let bytes) = hash { .data(bytes) } else { .null }
            }
            return hashes == .dictionary(PropertyListDictionary(computed))
        }
    }

    private func load(_ project: String) -> [ManagedObjectModel] {
        let bundles = SharedStores.paths(in: project, withExtensions: ["xcdatamodeld", "xcdatamodel"])
        return bundles.flatMap { bundle -> [URL] in
            guard bundle.pathExtension == "xcdatamodeld" else { return [bundle] }
            let names = (try? FileManager.default.contentsOfDirectory(atPath: bundle.path)) ?? []
            return names.filter { $0.hasSuffix(".xcdatamodel") }.map { bundle.appendingPathComponent($0) }
        }.compactMap { try? ModelLocator.load($0.path).model }
    }
}
