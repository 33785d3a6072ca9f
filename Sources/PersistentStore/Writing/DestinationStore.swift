import Archives
import CSQLite
import Diagnostics
import Glibc

/// A fresh store while it is written: tables first, then rows in ascending key order, then indexes and triggers,
/// then the metadata.
///
/// All of it is one transaction without a journal: until ``finish(metadata:maximumKeys:modelCache:)`` returns the
/// file is private and worthless, and after an error it must be abandoned: nothing of it can be rolled back. Owned by
/// one task at a time.
///
/// Memory: SQLite's page cache of the given size, as much again while an index is built, and the writers' statements.
package final class DestinationStore {
    package let path: String
    package let schema: StoreSchema
    /// The connection, for checks; nothing but this type and its writers may change the store through it.
    package let connection: Connection

    /// Makes the file with all its tables, fixed ones included, and opens the transaction.
    ///
    /// - Parameters:
    ///   - path: a file that does not exist.
    ///   - schema: what to make.
    ///   - cacheBytes: size of the page cache; 2 to 8 MB serve as well as more while keys come in order.
    ///   - vfs: name of the SQLite VFS, nil for the default.
    /// - Throws: `destination.exists` (73), `destination.permission` (77), `destination.cannotCreate` (73),
    ///   `model.unstorableAttribute` (78), `schema.tooManyColumns` (78), `store.full`, `store.io`. Nothing is left at
    ///   the path.
    package init(
        creating path: String, schema: StoreSchema, cacheBytes: Int, vfs: String?
    ) throws(MigrationError) {
        self.path = path
        self.schema = schema
        if let attribute = schema.unstorableAttributes.first {
            let entity = schema.model.entity(at: attribute.entity)
            let type = entity.attribute(named: attribute.name)?.attributeType.label ?? ""
            throw MigrationError(
                "model.unstorableAttribute", .configuration,
                "How Core Data stores an attribute of type \(type) is not known",
                remedy: "Make the attribute transient or replace it by attributes of simple types",
                context: .init(path: path, entity: entity.name, property: attribute.name))
        }
        try DestinationFile.create(path)
        do throws(MigrationError) {
            connection = try Self.open(path, schema: schema, cacheBytes: cacheBytes, vfs: vfs)
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func open(
        _ path: String, schema: StoreSchema, cacheBytes: Int, vfs: String?
    ) throws(MigrationError) -> Connection {
        // One task at a time uses the store, so SQLite need not lock a mutex at every bound value.
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs: vfs)
        // A defensive connection refuses journal_mode OFF; this file is our own work, not a stranger's.
        if let handle = connection.handle { _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0) }
        let most = Int(sqlite3_limit(connection.handle, SQLITE_LIMIT_COLUMN, -1))
        for table in schema.tables where table.columns.count + 1 > most {
            throw MigrationError(
                "schema.tooManyColumns", .configuration,
                "Table \(table.name) needs \(table.columns.count + 1) columns, SQLite allows \(most)",
                remedy: "Split the entity or its hierarchy",
                context: .init(path: path, entity: schema.model.entity(at: table.root).name))
        }
        let cache = max(1, cacheBytes / 1024)
        try connection.execute(
            """
            PRAGMA page_size=4096; PRAGMA auto_vacuum=2; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF;
            PRAGMA synchronous=OFF; PRAGMA temp_store=FILE; PRAGMA secure_delete=OFF; PRAGMA cache_size=-\(cache);
            BEGIN EXCLUSIVE
            """)
        for statement in schema.tableStatements() + schema.fixedTableStatements() {
            try connection.execute(statement)
        }
        return connection
    }

    /// A writer for an entity table: one slot for each column after Z_PK.
    ///
    /// - Parameter table: index in the schema's tables.
    package func tableWriter(_ table: Int) throws(MigrationError) -> any TableWriter {
        let description = schema.tables[table]
        return try SQLiteTableWriter(
            connection: connection,
            target: .init(
                table: description.name, columns: description.columns.count + 1, isKeyed: true,
                ignoresDuplicates: false, entity: schema.model.entity(at: description.root).name))
    }

    /// A writer for a join table: one slot for each of its columns (``JoinTable/columnNames``); the batch's keys are
    /// not looked at. Rows come in ascending order of the two keys.
    ///
    /// - Parameters:
    ///   - joinTable: index in the schema's join tables.
    ///   - ignoresDuplicates: whether a link that is there already is passed over instead of being
    ///     `store.constraint`.
    package func joinWriter(
        _ joinTable: Int, ignoresDuplicates: Bool = false
    ) throws(MigrationError) -> any TableWriter {
        let join = schema.joinTables[joinTable]
        return try SQLiteTableWriter(
            connection: connection,
            target: .init(
                table: join.name, columns: join.columnNames.count, isKeyed: false,
                ignoresDuplicates: ignoresDuplicates,
                entity: schema.model.entity(at: join.sides[0].relationship.entity).name))
    }

    /// Builds the indexes of an entity table, after its rows are in.
    ///
    /// - Throws: `validation.uniqueness` (65) where rows break a uniqueness constraint, `store.full`, `store.io`.
    package func createIndexes(table: Int) throws(MigrationError) {
        for index in schema.indexes[table] {
            do throws(MigrationError) {
                try connection.execute(index.statement(on: schema.tables[table]))
            } catch {
                guard error.code == "store.constraint",
                    let violation = UniquenessViolation(index, schema.tables[table], schema.model)
                else { throw error }
                throw try violation.error(connection, cause: error)
            }
        }
    }

    /// Builds the indexes of an entity table, after its rows are in, but not those of uniqueness constraints that rows
    /// break. Such a store is of use for reading only.
    ///
    /// A constraint is looked at before its index is built: a build that fails leaves the file damaged, because
    /// nothing of it can be rolled back.
    ///
    /// - Parameter duplicates: called with each index that is left out.
    /// - Throws: `store.full`, `store.io`.
    package func createIndexes(
        table: Int, leavingOut duplicates: (StoreIndex) -> Void
    ) throws(MigrationError) {
        for index in schema.indexes[table] {
            if index.isUnique {
                let columns = index.terms.map { SQLName.quoted(schema.tables[table].columns[$0.column].name) }
                let found = try connection.integer(
                    "SELECT 1 FROM \(SQLName.quoted(schema.tables[table].name)) WHERE "
                        + columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
                        + " GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 1")
                if found != nil {
                    duplicates(index)
                    continue
                }
            }
            try connection.execute(index.statement(on: schema.tables[table]))
        }
    }

    /// Gives the store up but leaves its file, closed, to be read once more. All writers must be finished.
    package func closeUnfinished() throws(MigrationError) {
        try connection.execute("COMMIT")
        try connection.close()
    }

    /// Builds the index of a join table, after its rows are in.
    package func createIndexes(joinTable: Int) throws(MigrationError) {
        for statement in schema.indexStatements(forJoinTable: joinTable) { try connection.execute(statement) }
    }

    /// Makes the triggers of derived attributes. They call functions of Apple's process: no row may be written
    /// afterwards.
    package func createTriggers() throws(MigrationError) {
        for statement in schema.triggerStatements() { try connection.execute(statement) }
    }

    /// Writes Z_PRIMARYKEY, Z_METADATA and Z_MODELCACHE, commits, closes, checks the file's header and brings the
    /// file to the disk. All writers must be finished.
    ///
    /// - Parameters:
    ///   - maximumKeys: Z_MAX by table: the highest key ever given. It stands on the root entity's row only.
    ///   - modelCache: what Z_MODELCACHE holds; nil leaves the table empty.
    /// - Throws: `metadata.missingHash` (78), `store.full`, `store.io`.
    package func finish(
        metadata: DestinationMetadata, maximumKeys: [Int64], modelCache: [UInt8]?
    ) throws(MigrationError) {
        precondition(maximumKeys.count == schema.tables.count, "one maximum key a table")
        let properties = try metadata.propertyList(for: schema.model)
        try writePrimaryKeys(maximumKeys)
        try writeMetadata(metadata.uuid, properties)
        if let modelCache {
            let insert = try connection.prepare("INSERT INTO Z_MODELCACHE VALUES (?)")
            insert.bind(modelCache, at: 1)
            try insert.run()
        }
        precondition(sqlite3_next_stmt(connection.handle, nil) == nil, "a writer is not finished")
        try connection.execute("COMMIT")
        try connection.close()
        try DestinationFile.checkAndSync(path)
    }

    private func writePrimaryKeys(_ maximumKeys: [Int64]) throws(MigrationError) {
        let insert = try connection.prepare("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)")
        for (index, number) in schema.entityNumbers.enumerated().sorted(by: { $0.element < $1.element }) {
            let entity = schema.model.entity(at: index)
            insert.bind(Int64(number), at: 1)
            insert.bind(entity.definition.name, at: 2)
            insert.bind(Int64(entity.superentity.map(schema.number(of:)) ?? 0), at: 3)
            insert.bind(entity.superentity == nil ? maximumKeys[schema.tableByEntity[index]] : 0, at: 4)
            try insert.run()
        }
    }

    private func writeMetadata(_ uuid: String, _ properties: PropertyListValue) throws(MigrationError) {
        let insert = try connection.prepare("INSERT INTO Z_METADATA VALUES (1, ?, ?)")
        insert.bind(uuid, at: 1)
        insert.bind(try BinaryPropertyList.encode(properties), at: 2)
        try insert.run()
    }

    /// Gives the store up: closes it without saving and removes the file. Statements of unfinished writers are left
    /// to their owners.
    package func abandon() {
        // A failed close means that a writer still holds a statement; the handle goes with the last of them.
        try? connection.close()
        unlink(path)
    }
}
