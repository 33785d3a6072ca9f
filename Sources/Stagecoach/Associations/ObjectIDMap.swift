import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage

/// The map from source to destination objects, for users who store object ids elsewhere. It has every association of the run,
/// by entity mapping in mapping order, then by source key.
///
/// The columns are the entity mapping, the source entity and key (Z_PK), the destination entity and key. Deleted and rejected
/// objects are left out.
///
/// Memory: the memory of reading the association tables, and 64 KiB of lines or a page cache of 1 MiB in SQLite.
final class ObjectIDMap {
    private enum Form: String, CaseIterable {
        case csv = ".csv"
        case sqlite = ".sqlite"
    }

    private let file: ResultFile
    /// The file's path, and the path at which it lies until it is published.
    var parts: (path: String, part: String) { file.parts }
    private let form: Form
    /// The map of the previous steps in a chain of versions. Its source objects replace the source objects of this step.
    private let previous: PreviousStepIDMap?

    /// Begins the file.
    ///
    /// - Parameters:
    ///   - permissions: the permissions of the file, less those of the process's umask.
    ///   - previous: the SQLite map of the previous steps; nil for a first step.
    /// - Throws: `output.ending` (64) if the name's ending is unknown; the errors of ``ResultFile``.
    init(path: String, permissions: FilePermissions, previous: String? = nil) throws(MigrationError) {
        guard let form = Form.allCases.first(where: { path.hasSuffix($0.rawValue) }) else {
            throw MigrationError(
                "output.ending", .usage, "The id map's name ends in neither .csv nor .sqlite",
                context: .init(path: path))
        }
        self.form = form
        self.previous = try previous.map { path throws(MigrationError) in try PreviousStepIDMap(path: path) }
        file = try ResultFile(path: path, kind: "id map", permissions: permissions)
    }

    /// Writes the associations of the mappings from an index on.
    ///
    /// - Parameter storePath: the finished store, before it is published.
    /// - Throws: `output.io` (74), `store.full`, `store.io`.
    /// - Complexity: O(associations); if objects were deleted or rejected, one lookup in the store for each.
    func write(_ run: MigrationRun, _ archive: AssociationArchive, firstMapping: Int, storePath: String) throws {
        // The keys of the finished store; nil if every associated object has a row.
        let rows = archive.hasDeletions ? try StoredKeys(path: storePath, run.inputs.destinationSchema) : nil
        func forEachPair(_ body: (IDPair) throws -> Void) throws {
            for table in archive.tables.dropFirst(firstMapping) {
                try Self.forEachPair(of: table, run, rows) { pair in
                    // In a chain the source's object is the one of the chain's source.
                    if let previous { try previous.forEach(before: pair, body) } else { try body(pair) }
                }
            }
        }
        switch form {
        case .csv:
            try file.append(line: "entityMapping,sourceEntity,sourceKey,destinationEntity,destinationKey")
            try forEachPair { pair in
                try file.append(
                    line: "\(pair.mapping.asCommaSeparated),\(pair.sourceEntity.asCommaSeparated),\(pair.sourceKey),"
                        + "\(pair.destinationEntity.asCommaSeparated),\(pair.destinationKey)")
            }
        case .sqlite:
            let connection = try Connection(path: file.part, flags: SQLITE_OPEN_READWRITE)
            connection.trustFile()
            try connection.execute(
                """
                PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-1024; PRAGMA temp_store=FILE; BEGIN;
                CREATE TABLE id_map (entity_mapping TEXT NOT NULL, source_entity TEXT NOT NULL,
                    source_key INTEGER NOT NULL, destination_entity TEXT NOT NULL, destination_key INTEGER NOT NULL)
                """)
            do {
                let insert = try connection.prepare("INSERT INTO id_map VALUES (?1, ?2, ?3, ?4, ?5)")
                try forEachPair { pair in
                    insert.bind(pair.mapping, at: 1)
                    insert.bind(pair.sourceEntity, at: 2)
                    insert.bind(pair.sourceKey, at: 3)
                    insert.bind(pair.destinationEntity, at: 4)
                    insert.bind(pair.destinationKey, at: 5)
                    try insert.run()
                }
            }
            try connection.execute("CREATE INDEX id_map_source ON id_map (source_entity, source_key)")
            try connection.execute(
                "CREATE INDEX id_map_destination ON id_map (destination_entity, destination_key); COMMIT")
            try connection.close()
        }
        try file.finish()
    }

    /// Shows a mapping's associations: first its own rows by source key, then those that policies made.
    private static func forEachPair(
        of table: MappingAssociations, _ run: MigrationRun, _ rows: StoredKeys?, _ body: (IDPair) throws -> Void
    ) throws {
        let mapping = table.mapping
        let model = run.inputs.destinationSchema.model
        if let keys = table.keys, table.isCreated, let from = mapping.source, let made = mapping.destination,
            let destinationTable = mapping.destinationTable
        {
            let (sourceName, madeName) = (from.definition.name, made.definition.name)
            try forEachHolder(of: keys) { source, destination in
                if let rows, try !rows.contains(destination, table: destinationTable) { return }
                try body(
                    IDPair(
                        mapping: mapping.name, sourceEntity: sourceName, sourceKey: source, destinationEntity: madeName,
                        destinationKey: destination))
            }
        }
        guard table.hasPairs else { return }
        let cursor = try table.pairs.pairs()
        while let pair = try cursor.next() {
            let entity = Int(pair.destination.entity)
            let destinationTable = run.inputs.destinationSchema.tableByEntity[entity]
            if let rows, try !rows.contains(pair.destination.key, table: destinationTable) { continue }
            if entity == mapping.destination?.index,
                let own = try table.ownDestination(ofKey: pair.source.key, table: Int(pair.source.entity)),
                own == pair.destination.key
            {
                continue
            }
            try body(
                IDPair(
                    mapping: mapping.name, sourceEntity: try sourceEntity(pair.source, run), sourceKey: pair.source.key,
                    destinationEntity: model.entity(at: entity).definition.name, destinationKey: pair.destination.key))
        }
    }

    /// Shows the source objects of a mapping that make or share an object, ascending, each with the key of the object.
    private static func forEachHolder(of keys: DestinationKeys, _ body: (Int64, Int64) throws -> Void) throws {
        if let matched = keys.matched { return try forEachHolder(of: keys, and: matched, body) }
        guard let shared = keys.shared else { return try keys.forEachPair(body) }
        let others = shared.walk()
        var next = try others.next()
        try keys.forEachPair { source, destination in
            while let other = next, other.key < source {
                if let key = try keys.givenKey(of: other.value) { try body(other.key, key) }
                next = try others.next()
            }
            try body(source, destination)
        }
        while let other = next {
            if let key = try keys.givenKey(of: other.value) { try body(other.key, key) }
            next = try others.next()
        }
    }

    /// Shows the source objects of a mapping that make an object or became a row of the destination, ascending.
    private static func forEachHolder(
        of keys: DestinationKeys, and matched: MatchedObjects, _ body: (Int64, Int64) throws -> Void
    ) throws {
        let others = matched.walk()
        var next = try others.next()
        try keys.forEachPair { source, destination in
            while let other = next, other.key < source {
                try body(other.key, other.value)
                next = try others.next()
            }
            try body(source, destination)
        }
        while let other = next {
            try body(other.key, other.value)
            next = try others.next()
        }
    }

    /// Returns the entity of a source object. Associations of policies have only its table.
    private static func sourceEntity(_ object: ObjectReference, _ run: MigrationRun) throws -> String {
        let (layout, index) = (run.inputs.layout, Int(object.entity))
        let table = layout.schema.tables[index]
        let isSingle = table.entities.count == 1
        var found = try isSingle ? nil : run.inputs.source.entity(ofKey: object.key, table: index, in: layout)
        if found == nil, !isSingle {
            found = try run.sourceChanges?.entity(ofDeleted: object.key, table: index)?.index
        }
        return layout.schema.model.entity(at: found ?? table.root).definition.name
    }

    /// Renames the file to its final path.
    func place() throws(MigrationError) { try file.place() }

    /// Removes the file again, if the destination could not be published.
    func withdraw() { file.withdraw() }
}

/// One association.
private struct IDPair {
    /// The name of the entity mapping; in a chain of versions the names of several, first to last.
    var mapping: String
    var sourceEntity: String
    var sourceKey: Int64
    var destinationEntity: String
    var destinationKey: Int64
}

/// The map of the previous steps in a chain of versions.
final class PreviousStepIDMap {
    private let connection: Connection
    private let find: Statement

    /// - Throws: `store.…` if the map cannot be read.
    init(path: String) throws(MigrationError) {
        connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        try connection.execute("PRAGMA cache_size=-1024")
        find = try connection.prepare(
            """
            SELECT entity_mapping, source_entity, source_key FROM id_map
            WHERE destination_entity = ?1 AND destination_key = ?2 ORDER BY rowid
            """)
    }

    /// Returns the objects of the chain's source that became an object of this step's source. Both are written as
    /// `Entity/p<key>`.
    ///
    /// - Returns: an empty array if no object of the chain's source became it.
    func sources(of id: String) throws(MigrationError) -> [String] {
        guard let mark = id.range(of: "/p", options: .backwards), let key = Int64(id[mark.upperBound...]) else {
            return []
        }
        defer { find.reset() }
        find.bind(String(id[..<mark.lowerBound]), at: 1)
        find.bind(key, at: 2)
        var sources: [String] = []
        while try find.step() { sources.append("\(find.text(1) ?? "")/p\(find.integer(2))") }
        return sources
    }

    /// Shows a pair with its source object replaced by the objects of the chain's source from which that came. Shows nothing if
    /// there are none.
    fileprivate func forEach(before pair: IDPair, _ body: (IDPair) throws -> Void) throws {
        defer { find.reset() }
        find.bind(pair.sourceEntity, at: 1)
        find.bind(pair.sourceKey, at: 2)
        while try find.step() {
            var whole = pair
            whole.mapping = MappingComposition.joinedName(find.text(0) ?? "", pair.mapping)
            whole.sourceEntity = find.text(1) ?? ""
            whole.sourceKey = find.integer(2)
            try body(whole)
        }
    }
}

/// The keys in a finished store.
private final class StoredKeys {
    private let connection: Connection
    private let schema: StoreSchema
    private var statements: [Int: Statement] = [:]

    init(path: String, _ schema: StoreSchema) throws(MigrationError) {
        connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        try connection.execute("PRAGMA cache_size=-1024")
        self.schema = schema
    }

    func contains(_ key: Int64, table: Int) throws(MigrationError) -> Bool {
        let statement: Statement
        if let known = statements[table] {
            statement = known
        } else {
            let name = SQLName.quoted(schema.tables[table].name)
            statement = try connection.prepare("SELECT 1 FROM \(name) WHERE \"Z_PK\" = ?1")
            statements[table] = statement
        }
        defer { statement.reset() }
        statement.bind(key, at: 1)
        return try statement.step()
    }
}
