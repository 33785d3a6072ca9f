import CSQLite
import DatabasePages
import Diagnostics
import Glibc
import SpillStorage

/// A store while it is written: first tables, then rows in ascending key order, then indexes and triggers, then the metadata.
///
/// All of this is one transaction without a journal. Until ``finish(metadata:maximumKeys:modelCache:)`` returns, the file is
/// private and unusable. After an error it must be abandoned, because nothing can be rolled back. One task at a time owns it.
///
/// Memory: SQLite's page cache of the given size, the same again while an index is built, and the writers' statements.
package final class DestinationStore {
    /// The settings that the owner of a store chooses for filling it.
    package struct Filling {
        /// True if pages fill empty tables of a fresh file; otherwise SQLite inserts. No statement of the connection may be in
        /// progress while the writer of a table is in use.
        package var writesPages = false
        /// The fetch indexes that are copied unchanged from the source, made once the rows are in.
        package var carriedIndexes: [CarriedIndex] = []
        /// The objects beside the model that are copied unchanged from the source, made once the rows are in.
        package var carried = CarriedObjects()
        /// Derived attributes that are computed when the rows are in.
        package var derived = DerivedSelection()
        /// True if indexes of tables without rows wait until the end, because later mapping models may fill the tables.
        package var defersEmptyIndexes = false
        /// The place for sorting indexes while the rows of their tables are written by pages; if nil, SQLite builds all
        /// indexes.
        package var indexSorts: IndexSorts?
        /// The highest expected key of each table, by table; nil if unknown. It only determines the memory of sorts.
        package var expectedKeys: [Int64]?
    }

    package let path: String
    package let schema: StoreSchema
    /// The connection, for checks. Only this type and its writers may change the store through it.
    package let connection: Connection
    /// The facts about the store that its file does not contain.
    package internal(set) var knowledge = Knowledge()
    var isAppending: Bool { knowledge.isAppending }
    /// The settings for filling the store. A store reopened from a checkpoint has the same.
    package var filling = Filling()
    /// A sentence for each object of the schema that the source has or the model asks for and that could not be made.
    package internal(set) var missing: [String] = []
    /// True if indexes of tables without rows were made in advance, for pages to fill.
    var hasIndexesAhead = false
    /// The file's tables and indexes when they were last asked for, and the schema's version then.
    var knownSchema: (version: Int64, schema: FileSchema)?
    /// True if the connection releases its lock after each transaction and examines the file anew in the next.
    var sharesFile = false
    /// True if transactions can be rolled back after the process is killed: from the first checkpoint of a run on.
    var wantsJournal = false
    var hasJournal = false
    /// The file's user version: the number of the last state described elsewhere; 0 at the end.
    package var stamp: Int64 = 0
    /// Called directly before the last transaction is committed.
    package var willCommit: (() throws(MigrationError) -> Void)?
    /// Called now and then while pages become the index of a table, which may take seconds.
    package var checkCancelled: (() throws(MigrationError) -> Void)?

    /// Makes the file with all its tables, fixed ones included, and begins the transaction.
    ///
    /// - Parameters:
    ///   - path: the path of a file that does not exist.
    ///   - schema: the schema of the store.
    ///   - cacheBytes: the size of the page cache. 2 to 8 MB are as good as more while keys are in order.
    ///   - permissions: the permissions of the file, less those of the process's umask.
    ///   - vfs: the name of the SQLite VFS, nil for the default.
    /// - Throws: `destination.exists` (73), `destination.permission` (77), `destination.cannotCreate` (73),
    ///   `model.unstorableAttribute` (78), `schema.tooManyColumns` (78), `store.full`, `store.io`. Nothing is left at
    ///   the path.
    package init(
        creating path: String, schema: StoreSchema, cacheBytes: Int, permissions: mode_t = 0o644, vfs: String?
    ) throws(MigrationError) {
        self.path = path
        self.schema = schema
        try schema.refuseUnstorable(path)
        try DestinationFile.create(path, permissions: permissions)
        do throws(MigrationError) {
            connection = try Self.open(path, schema: schema, cacheBytes: cacheBytes, vfs: vfs)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Opens a private copy of a store to add rows to, and begins the transaction.
    ///
    /// - Parameters:
    ///   - path: the copy. Nobody else uses it, and it has no -wal or journal.
    ///   - schema: the schema with the file's own names and entity numbers (``StoreSchema/adopting(_:)``).
    ///   - cacheBytes: the size of the page cache.
    ///   - vfs: the name of the SQLite VFS, nil for the default.
    /// - Throws: `model.unstorableAttribute`, `destination.virtualTable` (78) for one beside the model;
    ///   SQLite's errors.
    package init(
        appendingTo path: String, schema: StoreSchema, cacheBytes: Int, vfs: String?
    ) throws(MigrationError) {
        self.path = path
        self.schema = schema
        try schema.refuseUnstorable(path)
        connection = try Self.open(existing: path, cacheBytes: cacheBytes, vfs: vfs)
        stamp = try connection.integer("PRAGMA user_version") ?? 0
        let virtual = try connection.texts("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'")
        // R-trees of the model are filled anew.
        for name in virtual where !schema.trees.contains(where: { $0.index.treeName == name }) {
            throw MigrationError(
                "destination.virtualTable", .configuration,
                "The destination has the virtual table \(name) beside its model, which appended rows would be missing from",
                remedy: "Migrate to a fresh destination, or drop the table in a copy and make it anew afterwards",
                context: .init(path: path))
        }
        knowledge.isAppending = true
        knowledge.firstStamp = stamp
        knowledge.indexed = Set(schema.tables.indices)
        knowledge.indexedJoins = Set(schema.joinTables.indices)
    }

    /// Opens a store of which more is known than its file contains.
    private init(
        _ path: String, _ schema: StoreSchema, _ knowledge: Knowledge, _ stamp: Int64, _ connection: Connection
    ) {
        self.path = path
        self.schema = schema
        self.connection = connection
        self.stamp = stamp
        self.knowledge = knowledge
    }

    /// Opens a store that a killed process wrote, recovered, between two transactions.
    ///
    /// - Parameters:
    ///   - stamp: the number of its state.
    ///   - state: what pages had filled in that state; nil if none did. What they filled since is cut off.
    /// - Throws: `journal.damaged`, `store.damaged`, `store.io` (74).
    package convenience init(
        resuming path: String, schema: StoreSchema, knowledge: Knowledge, stamp: Int64, cuttingTo state: FilledPages?,
        cacheBytes: Int, vfs: String?
    ) throws(MigrationError) {
        let connection = try Self.open(existing: path, cacheBytes: cacheBytes, vfs: vfs, isResumed: true)
        if let state { try state.cut(path, connection) }
        self.init(path, schema, knowledge, stamp, connection)
        sharesFile = true
        wantsJournal = true
    }

    private static func open(
        _ path: String, schema: StoreSchema, cacheBytes: Int, vfs: String?
    ) throws(MigrationError) -> Connection {
        // One task at a time uses the store, so SQLite need not lock a mutex at every bound value.
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs: vfs)
        connection.trustFile()
        let most = Int(sqlite3_limit(connection.handle, SQLITE_LIMIT_COLUMN, -1))
        for table in schema.tables where table.columns.count + 1 > most {
            throw MigrationError(
                "schema.tooManyColumns", .configuration,
                "Table \(table.name) needs \(table.columns.count + 1) columns, SQLite allows \(most)",
                remedy: "Split the entity or its hierarchy",
                context: .init(path: path, entity: schema.entityName(of: table)))
        }
        let cache = max(1, cacheBytes / 1024)
        try connection.execute(
            """
            PRAGMA page_size=4096; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
            PRAGMA auto_vacuum=2;
            PRAGMA temp_store=FILE; PRAGMA secure_delete=OFF; PRAGMA cache_size=-\(cache); BEGIN EXCLUSIVE
            """)
        for statement in schema.tableStatements(withClauses: false) + schema.fixedTableStatements() {
            try connection.execute(statement)
        }
        return connection
    }

    /// Returns the number of rows of every table and join table.
    ///
    /// - Complexity: O(rows), the smallest index of each table.
    package func rowCounts() throws(MigrationError) -> (tables: [Int], joinTables: [Int]) {
        func count(_ name: String) throws(MigrationError) -> Int {
            Int(try connection.integer("SELECT count(*) FROM \(SQLName.quoted(name))") ?? 0)
        }
        return (try schema.tables.map(\.name).map(count), try schema.joinTables.map(\.name).map(count))
    }

    /// Returns a writer for an entity table, with one slot for each column after Z_PK.
    ///
    /// - Parameters:
    ///   - table: the index in the schema's tables.
    ///   - isWhole: true if this writer gets all rows. If false, indexes wait for ``createIndexes(table:)``, because a later
    ///     row would conflict in a unique one.
    package func tableWriter(_ table: Int, isWhole: Bool = true) throws(MigrationError) -> any TableWriter {
        let description = schema.tables[table]
        let entity = schema.entityName(of: description)
        if try canWritePages(description.name, isIndexed: knowledge.indexed.contains(table)) {
            return try pageWriter(
                of: description.name, isKeyed: true,
                description.columns.map { ColumnAffinity(declaredType: $0.type) }, entity: entity,
                indexes: isWhole ? sortableIndexes(ofTable: table) : [],
                among: isWhole ? allSortableIndexes(ofTable: table) : [])
        }
        try beginTransaction()
        if !isAppending, !knowledge.indexed.contains(table) { try dropIndexesAhead(of: description.name) }
        return try SQLiteTableWriter(
            connection: connection,
            target: .init(
                table: description.name, columns: description.columns.count + 1, isKeyed: true,
                ignoresDuplicates: false, entity: entity,
                columnNames: isAppending ? ["Z_PK"] + description.columns.map(\.name) : nil),
            conflicts: InsertConflicts(connection: connection, table: description, model: schema.model))
    }

    /// Returns a writer for a join table, with one slot for each of its columns (``JoinTable/columnNames``). The batch's keys
    /// are ignored. Rows come in ascending order of the two keys.
    ///
    /// - Parameters:
    ///   - joinTable: the index in the schema's join tables.
    ///   - ignoresDuplicates: true to skip an existing link instead of throwing `store.constraint`.
    package func joinWriter(
        _ joinTable: Int, ignoresDuplicates: Bool = false
    ) throws(MigrationError) -> any TableWriter {
        let join = schema.joinTables[joinTable]
        let entity = schema.model.entity(at: join.sides[0].relationship.entity).definition.name
        let isIndexed = knowledge.indexedJoins.contains(joinTable)
        if try ignoresDuplicates ? false : canWritePages(join.name, isIndexed: isIndexed) {
            return try pageWriter(
                of: join.name, isKeyed: false, join.columnNames.map { _ in .integer }, entity: entity,
                indexes: sortableIndexes(ofJoinTable: joinTable),
                among: sortableIndexes(ofJoinTable: joinTable))
        }
        try beginTransaction()
        if !isAppending, !isIndexed { try dropIndexesAhead(of: join.name) }
        return try SQLiteTableWriter(
            connection: connection,
            target: .init(
                table: join.name, columns: join.columnNames.count, isKeyed: false,
                ignoresDuplicates: ignoresDuplicates,
                entity: entity, columnNames: isAppending ? join.columnNames : nil))
    }

    /// Closes the store without finishing it, so that its file can be read again. All writers must be finished.
    package func closeUnfinished() throws(MigrationError) {
        try endTransaction()
        try connection.close()
    }

    /// The state of the store at one time: a copy of its file, and the facts about its indexes.
    package struct Checkpoint {
        fileprivate let path: String
        fileprivate let filling: Filling
        /// The facts about the store at that time.
        package let knowledge: Knowledge
        /// The number in the copy.
        package let stamp: Int64

        /// Removes the copy.
        package func remove() { unlink(path) }
    }

    /// Copies the file in its present state, to return to it with ``init(reopening:at:schema:cacheBytes:vfs:checkCancelled:)``. All writers
    /// must be finished. Other statements may be prepared, but none may be at a row.
    ///
    /// - Parameters:
    ///   - path: the path of the copy, where no file exists.
    ///   - checkCancelled: called once a MiB.
    /// - Complexity: O(1) if the file system shares blocks, else O(bytes); 1 MiB of memory.
    package func checkpoint(to path: String, checkCancelled: () throws -> Void) throws -> Checkpoint {
        try endTransaction()
        // The permissions are kept, because the copy may become the store again.
        try Self.copy(self.path, to: path, checkCancelled: checkCancelled)
        try beginTransaction()
        return checkpoint(at: path, knowledge: knowledge, stamp: stamp)
    }

    private static func synchronize(_ path: String) -> Bool {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return fsync(file) == 0
    }

    private static func copy(_ path: String, to target: String, checkCancelled: () throws -> Void) throws {
        try FileCopy.copy(path, to: target, keepsPermissions: true, checkCancelled: checkCancelled)
    }

    /// Returns the checkpoint that another process made of this store at the same point of its work.
    ///
    /// - Parameters:
    ///   - path: the path of the copy.
    ///   - knowledge: the facts about the store at that time.
    ///   - stamp: the number in the copy.
    package func checkpoint(at path: String, knowledge: Knowledge, stamp: Int64) -> Checkpoint {
        Checkpoint(path: path, filling: filling, knowledge: knowledge, stamp: stamp)
    }

    /// Reopens a store in the state of a checkpoint, which stays, and begins the transaction.
    ///
    /// - Parameters:
    ///   - path: the path of the store; an existing file is replaced.
    ///   - schema: the same schema as before.
    package convenience init(
        reopening checkpoint: Checkpoint, at path: String, schema: StoreSchema, cacheBytes: Int, vfs: String?,
        checkCancelled: () throws -> Void
    ) throws {
        let copy = checkpoint.path + "-again"
        try? FileSystem.remove(copy)
        try Self.copy(checkpoint.path, to: copy, checkCancelled: checkCancelled)
        guard Self.synchronize(copy), rename(copy, path) == 0 else {
            throw MigrationError(
                "store.io", .io, "Going back to a copy failed: \(String(cString: strerror(errno)))",
                context: .init(path: path))
        }
        let connection = try Self.open(existing: path, cacheBytes: cacheBytes, vfs: vfs)
        self.init(path, schema, checkpoint.knowledge, checkpoint.stamp, connection)
        filling = checkpoint.filling
    }

    static func open(
        existing path: String, cacheBytes: Int, vfs: String?, isResumed: Bool = false
    ) throws(MigrationError) -> Connection {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs: vfs)
        connection.trustFile()
        // Triggers of derived attributes call functions of Apple's process, so they must not fire.
        if let handle = connection.handle { _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0) }
        try connection.execute(
            """
            PRAGMA temp_store=FILE; PRAGMA secure_delete=OFF; PRAGMA cache_size=-\(max(1, cacheBytes / 1024))
            """)
        guard !isResumed else { return connection }
        try connection.execute(
            "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN EXCLUSIVE")
        return connection
    }

    /// Abandons the store: closes it without saving and removes the file. Statements of unfinished writers are left to their
    /// owners.
    package func abandon() {
        // Closing fails if a writer still holds a statement. The handle is released with the last of them.
        try? connection.close()
        unlink(path)
    }
}
