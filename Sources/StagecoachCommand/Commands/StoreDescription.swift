import Diagnostics
import ManagedModel
import PersistentStore
import Stagecoach

/// What `inspect` says of a store: a value that can be encoded.
struct StoreDescription: Encodable {
    /// An entity of the store.
    struct Entity: Encodable {
        let name: String
        /// Z_ENT in the file.
        let number: Int
        let parent: String?
        /// Objects, those of subentities not counted; nil where the entity's table is not known.
        var objects: Int?
        /// The highest key handed out; on root entities only.
        let maximumKey: Int?
    }

    /// What is known of the version that wrote the store.
    struct Version: Encodable {
        let bundle: String
        /// The model to read the store by; nil where nothing says it.
        private(set) var model: ManagedObjectModel?
        /// All that match; empty where none does.
        let versions: [String]
        /// `hashes`, `cachedModel` or `schema`; nil where nothing says it.
        let evidence: StoreVersion.Evidence?
        /// Why nothing says it.
        let problem: String?
        /// The versions' configurations that the store may have been made for; empty where it has all entities.
        var configurations: [String] = []
        /// Entities without a version hash: whoever wrote the store left it out.
        var withoutHashes: [String] = []

        private enum CodingKeys: String, CodingKey {
            case bundle
            case versions
            case evidence
            case problem
            case configurations
            case withoutHashes
        }
    }

    let kind = "store"
    let path: String
    let uuid: String
    let frameworkVersion: Int?
    let modelVersionIdentifiers: [String]
    let versionChecksum: String?
    let hasCachedModel: Bool
    /// The configurations of the model that the store may have been made for; empty where it has all entities.
    private(set) var configurations: [String] = []
    /// Which versions of a bundle wrote the store; nil where no bundle was named.
    private(set) var version: Version?
    let journalMode: String
    let pageSize: Int
    let fileBytes: Int
    /// Nil where there is no -wal.
    let walBytes: Int?
    let applicationKeys: [String]
    let features: [String]
    /// What the store lacks of the model that its metadata and its cached model name, a sentence each.
    private(set) var damages: [String] = []
    private(set) var entities: [Entity]

    /// Reads a store's facts and counts its objects.
    ///
    /// - Parameters:
    ///   - bundle: versions of a model, to say which of them wrote the store.
    ///   - repairs: whether objects are counted as if what is missing were empty or nil.
    /// - Throws: what ``SourceStore`` throws (65, 66, 74, 75, 77).
    /// - Complexity: O(rows) time, O(entities) memory and a small page cache.
    init(path: String, bundle argument: String? = nil, repairs: Bool = false) throws(MigrationError) {
        let store = try ModelArgument.open(path)
        let metadata = store.metadata
        if let argument {
            version = try Version.find(store: path, argument: argument)
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
        // A cached model that cannot be read is no reason to say nothing of the store.
        var model = version?.model
        do { model = try store.cachedModel() ?? model } catch  where error.category != .io {}
        if let whole = model { model = whole.fitting(storeHashes: metadata.versionHashes) ?? whole }
        configurations = version?.configurations ?? model?.restrictedConfigurations ?? []
        let connection = try Connection.openSource(path: store.path, vfs: .standard)
        let names = try StoreTables.names(connection)
        features = StoreFeatures.list(model: model, tables: names)
        let nameByNumber = Dictionary(
            store.primaryKeys.map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
        entities = store.primaryKeys.map {
            Entity(
                name: $0.name, number: $0.number, parent: $0.parent == 0 ? nil : nameByNumber[$0.parent], objects: nil,
                maximumKey: $0.parent == 0 ? Int($0.maximum) : nil)
        }
        if let model, entities.isEmpty {
            // A store without Z_PRIMARYKEY: its model has the numbers.
            let schema = StoreSchema(model: model)
            entities = schema.entityByNumber.sorted { $0.key < $1.key }.map { number, index in
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

    /// Counts through the cached model; false where it does not fit the file.
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
        for index in entities.indices { entities[index].objects = objects[entities[index].number] }
        return true
    }

    /// Counts by the names in Z_PRIMARYKEY: the table of a root entity and of all below it is `Z` and its name.
    private mutating func count(
        _ connection: Connection, tables: [String], keys: [PrimaryKeyRow]
    ) throws(MigrationError) {
        let parents = Dictionary(keys.map { ($0.number, $0.parent) }, uniquingKeysWith: { first, _ in first })
        func root(of number: Int) -> Int {
            var number = number
            // A damaged hierarchy may be a ring.
            for _ in 0..<keys.count {
                guard let parent = parents[number], parent != 0 else { break }
                number = parent
            }
            return number
        }
        let roots = Dictionary(grouping: entities.indices, by: { root(of: entities[$0].number) })
        for (number, members) in roots {
            guard let row = keys.first(where: { $0.number == number }) else { continue }
            let table = "Z" + row.name.uppercased()
            guard tables.contains(table) else { continue }
            // One scan without a sort, whatever the number of rows.
            let sums = members.map { "sum(Z_ENT = \(entities[$0].number))" }
            for (position, part) in sums.chunked(by: 500) {
                let statement = try connection.prepare(
                    "SELECT \(part.joined(separator: ", ")) FROM \(StoreTables.quoted(table))")
                guard try statement.step() else { continue }
                for offset in part.indices {
                    entities[members[position + offset]].objects = Int(statement.integer(Int32(offset)))
                }
            }
        }
    }
}

extension StoreDescription.Version {
    /// - Throws: what reading the store and the bundle throws; not that no version matches.
    fileprivate static func find(store: String, argument: String) throws(MigrationError) -> Self {
        guard let folder = ModelLocator.bundle(of: argument) else {
            throw MigrationError(
                "model.noBundle", .configuration, "The model is not a folder of versions",
                remedy: "Name an .xcdatamodeld or .momd", context: .init(path: argument))
        }
        do throws(MigrationError) {
            let found = try StoreVersion.find(store: store, bundle: folder, namesAll: true)
            return Self(
                bundle: folder, model: found.model, versions: found.names, evidence: found.evidence,
                problem: found.names.isEmpty
                    ? "the store's cached model is that of no version there, and no version has its hashes" : nil,
                configurations: found.configurations)
        } catch {
            guard error.code == "model.unknownVersion" else { throw error }
            return Self(bundle: folder, versions: [], evidence: nil, problem: error.message)
        }
    }
}

extension Array {
    /// Parts of at most so many elements, each with the position of its first.
    fileprivate func chunked(by size: Int) -> [(position: Int, part: [Element])] {
        stride(from: 0, to: count, by: size).map { ($0, Array(self[$0..<Swift.min($0 + size, count)])) }
    }
}

/// The tables of a store by name.
enum StoreTables {
    /// - Complexity: O(tables).
    static func names(_ connection: Connection) throws(MigrationError) -> [String] {
        let statement = try connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        var names: [String] = []
        while try statement.step() {
            if let name = statement.text(0) { names.append(name) }
        }
        return names
    }

    /// A name as an SQL identifier.
    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

/// What a store uses of Core Data beyond plain rows, in words.
enum StoreFeatures {
    /// - Parameters:
    ///   - model: the cached model; nil leaves what only it can say unsaid.
    ///   - tables: the file's tables.
    static func list(model: ManagedObjectModel?, tables: [String]) -> [String] {
        var features: [String] = []
        for entity in model?.entities ?? [] {
            let name = entity.definition.name
            for composite in entity.composites where entity.declares(composite) {
                features.append("composite attribute \(name).\(composite.path)")
            }
            for attribute in entity.ownAttributes.map(\.definition) {
                if attribute.derivationExpression != nil {
                    features.append("derived attribute \(name).\(attribute.name)")
                }
                if attribute.allowsExternalBinaryDataStorage {
                    features.append("external storage allowed for \(name).\(attribute.name)")
                }
                if attribute.type == .transformable { features.append("transformable \(name).\(attribute.name)") }
            }
            for constraint in entity.definition.uniquenessConstraints {
                features.append("uniqueness constraint \(name)(\(constraint.joined(separator: ", ")))")
            }
            for relationship in entity.definition.relationships where relationship.isToMany && relationship.isOrdered {
                features.append("ordered relationship \(name).\(relationship.name)")
            }
        }
        if tables.contains("ATRANSACTION") { features.append("persistent history") }
        if tables.contains(where: { $0.hasPrefix("ANSCK") }) { features.append("CloudKit mirroring") }
        return features
    }
}
