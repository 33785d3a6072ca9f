import CoreDataStore
import Diagnostics
import ManagedModel
import Stagecoach
import SwiftSources

/// The encodable description of a store for `inspect`.
struct StoreDescription: Encodable {
    /// An entity of the store.
    struct Entity: Encodable {
        let name: String
        /// Its Z_ENT in the file; nil in a store without such numbers.
        let number: Int?
        let parent: String?
        /// The number of objects without those of subentities; nil if the entity's table is unknown.
        var objects: Int?
        /// The highest key given out; only for root entities.
        let maximumKey: Int?
    }

    /// The known facts about the version that wrote the store.
    struct Version: Encodable {
        let bundle: String
        /// All versions that match; empty if none does.
        let versions: [String]
        /// The evidence for the match: `hashes`, `cachedModel` or `schema`; nil if no version was found.
        let evidence: StoreVersion.Evidence?
        /// The reason why no version was found; nil if one was.
        let problem: String?
        /// The configurations of the versions that the store may have been made for; empty if it has all entities.
        var configurations: [String] = []
        /// The entities without a version hash in the store's metadata.
        var withoutHashes: [String] = []
    }

    let kind = "store"
    /// The type of the store, in Core Data's words.
    var type = "SQLite"
    let path: String
    let uuid: String
    let frameworkVersion: Int?
    let modelVersionIdentifiers: [String]
    let versionChecksum: String?
    let hasCachedModel: Bool
    /// The configurations of the model that the store may have been made for; empty if it has all entities.
    var configurations: [String] = []
    /// The versions of a bundle that wrote the store; nil if no bundle was named.
    var version: Version?
    /// The journal mode and the size of a page; nil in a store that is no database.
    let journalMode: String?
    let pageSize: Int?
    let fileBytes: Int
    /// The size of the -wal; nil if there is none.
    let walBytes: Int?
    let applicationKeys: [String]
    let features: [String]
    /// The parts that the store lacks compared with the model in its metadata and cached model, a sentence each.
    private(set) var damages: [String] = []
    var entities: [Entity]

    /// Reads a store's facts and counts its objects.
    ///
    /// - Parameters:
    ///   - bundle: the versions of a model, to find those that wrote the store.
    ///   - repairs: true to count objects as if missing parts were empty or nil.
    /// - Complexity: O(rows) time, O(entities) memory and a small page cache.
    init(path: String, bundle argument: String? = nil, repairs: Bool = false) throws(MigrationError) {
        let store = try ModelArgument.open(path)
        let metadata = store.metadata
        var model: ManagedObjectModel?
        if let argument {
            (version, model) = try Version.find(store: path, argument: argument, hashes: metadata.versionHashes)
            version?.withoutHashes = metadata.versionHashes.filter(\.value.isEmpty).keys.sorted()
        }
        self.path = path
        uuid = metadata.uuid
        frameworkVersion = metadata.frameworkVersion.map(Int.init)
        modelVersionIdentifiers = metadata.versionIdentifiers.filter { !$0.isEmpty }
        versionChecksum = metadata.versionChecksum
        journalMode = store.file.journalMode.rawValue
        pageSize = store.file.pageSize
        fileBytes = Int(store.file.size)
        walBytes = store.file.walSize.map(Int.init)
        applicationKeys = metadata.applicationValues.map(\.key)
        hasCachedModel = try store.cachedModelContent() != nil
        // Without a readable cached model, the other facts of the store are still worth printing.
        do { model = try store.cachedModel() ?? model } catch  where error.category != .io {}
        if let whole = model { model = whole.fitting(storeHashes: metadata.versionHashes) ?? whole }
        configurations = version?.configurations ?? model?.restrictedConfigurations ?? []
        let connection = try Connection.openSource(path: store.path, vfs: .standard)
        let names = try connection.texts("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        features = StoreFeatures.list(model: model, tables: names)
        let nameByNumber = Dictionary(
            store.primaryKeys.map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
        entities = store.primaryKeys.map {
            Entity(
                name: $0.name, number: $0.number, parent: $0.parent == 0 ? nil : nameByNumber[$0.parent], objects: nil,
                maximumKey: $0.parent == 0 ? Int($0.maximum) : nil)
        }
        if let model, entities.isEmpty {
            // A store without Z_PRIMARYKEY: the numbers come from its model.
            entities = StoreSchema(model: model).entityByNumber.sorted { $0.key < $1.key }.map { number, index in
                let entity = model.entity(at: index)
                return Entity(
                    name: entity.definition.name, number: number, parent: entity.superentity?.definition.name,
                    objects: nil, maximumKey: nil)
            }
        }
        if try !count(by: model, in: store, repairs: repairs) {
            try count(connection, tables: names, keys: store.primaryKeys)
        }
        try connection.close()
        try store.close()
    }

    /// Counts objects with the cached model. Returns false if it does not fit the file.
    private mutating func count(
        by model: ManagedObjectModel?, in store: SourceStore, repairs: Bool
    ) throws(MigrationError) -> Bool {
        guard let model else { return false }
        let layout: StoreLayout
        do {
            damages = try store.damages(of: model).map(\.shortName)
            layout = try store.layout(for: model, damage: repairs ? .repair : .refuse)
            if !layout.damages.isEmpty { damages = layout.damages.map(\.sentence) }
        } catch {
            guard error.category == .data else { throw error }
            if damages.isEmpty, error.code == "store.incomplete" { damages = [error.message] }
            return false
        }
        var objects: [Int: Int] = [:]
        for table in layout.schema.tables.indices {
            let counts = try store.counts(table: table, in: layout)
            for entity in layout.schema.tables[table].entities {
                objects[layout.fileNumber(ofEntity: entity)] = Int(counts.byEntity[entity] ?? 0)
            }
        }
        for index in entities.indices { entities[index].objects = entities[index].number.flatMap { objects[$0] } }
        return true
    }

    /// Counts objects by the names in Z_PRIMARYKEY. The table of a root entity and its descendants is `Z` and its name.
    private mutating func count(
        _ connection: Connection, tables: [String], keys: [PrimaryKeyRow]
    ) throws(MigrationError) {
        let parents = Dictionary(keys.map { ($0.number, $0.parent) }, uniquingKeysWith: { first, _ in first })
        func root(of number: Int) -> Int {
            var number = number
            // A damaged hierarchy may be cyclic.
            for _ in 0..<keys.count {
                guard let parent = parents[number], parent != 0 else { break }
                number = parent
            }
            return number
        }
        for (number, members) in Dictionary(grouping: entities.indices, by: { root(of: entities[$0].number ?? 0) }) {
            guard let row = keys.first(where: { $0.number == number }) else { continue }
            let table = "Z" + row.name.uppercased()
            guard tables.contains(table) else { continue }
            // One scan without a sort, for any number of rows.
            let sums = members.map { "sum(Z_ENT = \(entities[$0].number ?? 0))" }
            for first in stride(from: 0, to: sums.count, by: 500) {
                let part = first..<min(first + 500, sums.count)
                let statement = try connection.prepare(
                    "SELECT \(sums[part].joined(separator: ", ")) FROM \(SQLName.quoted(table))")
                guard try statement.step() else { continue }
                for place in part { entities[members[place]].objects = Int(statement.integer(Int32(place - first))) }
            }
        }
    }
}

extension StoreDescription.Version {
    fileprivate static func find(
        store: String, argument: String, hashes: [String: [UInt8]]
    ) throws(MigrationError) -> (Self, ManagedObjectModel?) {
        let sources = try SwiftModelArgument.admit(argument, known: [.init(origin: store, hashes: hashes)])
        let isLone = ModelLocator.bundle(of: argument) == nil
        let folder = ModelLocator.bundle(of: argument) ?? argument
        do throws(MigrationError) {
            let found = try StoreVersion.find(store: store, bundle: folder, namesAll: true)
            let problem =
                sources.map { SwiftModelWording.nearest($0, to: hashes, model: found.model).joined(separator: ". ") }
                ?? (isLone
                    ? "the version hashes are not equal"
                    : "the store's cached model is that of no version there, and no version has its hashes")
            let version = Self(
                bundle: folder, versions: found.names, evidence: found.evidence,
                problem: found.names.isEmpty ? problem : nil, configurations: found.configurations)
            return (version, found.model)
        } catch {
            guard error.code == "model.unknownVersion" else { throw error }
            let problem = isLone ? "the version hashes are not equal. \(error.message)" : error.message
            return (Self(bundle: folder, versions: [], evidence: nil, problem: problem), nil)
        }
    }
}

/// Lists the features of Core Data that a store uses beyond plain rows, in words.
enum StoreFeatures {
    /// - Parameters:
    ///   - model: the cached model; if nil, features that only the model shows are left out.
    ///   - tables: the tables of the file.
    static func list(model: ManagedObjectModel?, tables: [String]) -> [String] {
        var features: [String] = []
        for entity in model?.entities ?? [] {
            let name = entity.definition.name
            features += entity.composites.filter(entity.declares).map { "composite attribute \(name).\($0.path)" }
            for attribute in entity.ownAttributes.map(\.definition) {
                let kinds = [
                    (attribute.derivationExpression != nil, "derived attribute"),
                    (attribute.allowsExternalBinaryDataStorage, "external storage allowed for"),
                    (attribute.type == .transformable, "transformable"),
                ]
                features += kinds.filter(\.0).map { "\($0.1) \(name).\(attribute.name)" }
            }
            features += entity.definition.uniquenessConstraints.map {
                "uniqueness constraint \(name)(\($0.joined(separator: ", ")))"
            }
            features += entity.definition.relationships.filter { $0.isToMany && $0.isOrdered }.map {
                "ordered relationship \(name).\($0.name)"
            }
        }
        if tables.contains("ATRANSACTION") { features.append("persistent history") }
        if tables.contains(where: { $0.hasPrefix("ANSCK") }) { features.append("CloudKit mirroring") }
        return features
    }
}
