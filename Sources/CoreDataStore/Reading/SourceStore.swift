import Archives
import CSQLite
import DatabasePages
import Diagnostics
import ManagedModel

/// A store opened for reading: one snapshot of the main file and `-wal`, held from the initialiser to ``close()``.
///
/// Nothing in the store or beside it is created, changed or touched. One task at a time uses it. Readers and cursors keep the
/// store alive; all must be released before ``close()``.
/// Memory: the page cache of `cacheBytes`, the same again for a sort, 8 bytes a frame of the `-wal`, and the largest row (up to
/// `valueLimit` bytes a value).
package final class SourceStore {
    /// The header and sizes.
    package let file: DatabaseFile
    /// The fingerprint of the snapshot.
    package let fingerprint: StoreFingerprint
    package let metadata: StoreMetadata
    /// The rows of Z_PRIMARYKEY by number; empty if the file lacks it.
    package let primaryKeys: [PrimaryKeyRow]
    /// True if the file has Z_PRIMARYKEY. A store without it is damaged.
    let hasNumbers: Bool
    /// The tables that temporary ones replace, by upper-cased name, each with the reason: ``repair(_:_:)``, ``SourceChanges``.
    var replaced: [String: String] = [:]
    /// The size in bytes of the largest value that is read.
    package let valueLimit: Int
    /// Returns the memory limit in MiB that would allow reading a value of a number of bytes; for the remedy of errors.
    package var limitNeeded: ((Int) -> Int)?
    /// True to read rows from the file's pages if that is safe. If false, SQLite reads everything.
    package var readsPages = false
    /// True to read rows from pages a second time through SQLite, of every 32nd batch, and to compare them.
    package var comparesReaders = false
    /// The reason why SQLite reads although pages were requested; nil if it does not, or before the first read.
    package internal(set) var pagesRefusal: String?
    /// The tables that SQLite reads while others are read from pages, with the first reason for each.
    package private(set) var pageFallbacks: [String: String] = [:]
    /// The file's pages, once a reader has requested them. They are empty if SQLite must read.
    var pages: SourcePages?
    let connection: Connection
    /// True if the file's text is UTF-8.
    package let isUTF8: Bool
    let pool: StatementPool
    /// The columns whose values are counted, by table.
    var countedColumns: [Int: Set<Int>] = [:]
    /// The tables of one entity whose rows' numbers (Z_ENT) are compared with it.
    var comparedTables: Set<Int> = []
    /// The tallies that count while rows are read, by table.
    var tallies: [Int: ValueTally] = [:]
    /// The numbers that a killed run had counted, by table.
    var countedBefore: [Int: [Int]] = [:]
    /// The readers of huge values, by table and column.
    var hugeColumns: [[Int]: HugeColumn] = [:]

    /// The path, with symbolic links resolved.
    package var path: String { file.path }
    /// The path as it was given, for errors that people read.
    package let givenPath: String
    /// The private store that is read in the place of the one that was named; nil: that one is read itself.
    private let standIn: StandInStore?

    func noteFallback(_ table: String, _ reason: String) {
        if pagesRefusal == nil, pageFallbacks[table] == nil { pageFallbacks[table] = reason }
    }

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - path: the main file.
    ///   - cacheBytes: the size of SQLite's page cache in bytes; at least 64 KiB are used.
    ///   - valueLimit: the size in bytes of the largest value to read. A larger one is `store.valueTooLarge`.
    ///   - temporaryDirectory: the directory for sorts that spill, in files without names; if nil, sorts stay in memory.
    /// - Throws: the errors of ``DatabaseFile/read(path:)``; `store.notCoreData`, `store.hotJournal`, `store.damaged`,
    ///   `store.metadata` (65), `store.busy`, `store.moved` (75).
    package init(
        path: String, cacheBytes: Int = 256 << 10, valueLimit: Int = 64 << 20, temporaryDirectory: String? = nil
    ) throws(MigrationError) {
        let vfs = temporaryDirectory.map { SourceVFS(temporaryDirectory: $0) } ?? SourceVFS.standard
        standIn = StandInStore.of(path)
        givenPath = OpenFolders.shown(standIn?.original ?? path)
        let (file, connection, fingerprint) = try SourceStore.snapshot(
            path: standIn?.path ?? path, vfs: vfs, cacheBytes: cacheBytes)
        self.file = file
        self.connection = connection
        self.fingerprint = standIn?.fingerprint ?? fingerprint
        self.valueLimit = max(1, valueLimit)
        pool = StatementPool(connection)
        do {
            try SourceStore.requireCoreData(connection)
            isUTF8 = try connection.text("PRAGMA encoding") == "UTF-8"
            metadata = try SourceStore.readMetadata(connection)
            hasNumbers = try connection.hasTable("Z_PRIMARYKEY")
            primaryKeys = hasNumbers ? try SourceStore.readPrimaryKeys(connection) : []
        } catch { throw SourceStore.blamingData(error) }
        limitValues()
    }

    deinit {
        pages?.close()
        pool.drain()
    }

    /// Allows long statements to end early: see ``Connection/interrupt(when:)``.
    package func interrupt(when isWanted: @escaping () -> Bool) { connection.interrupt(when: isWanted) }

    /// Ends the snapshot and closes the files.
    ///
    /// - Throws: `store.busy` if a reader is still in use.
    package func close() throws(MigrationError) {
        pool.drain()
        pages?.close()
        try connection.close()
    }

    /// Takes the fingerprint again.
    ///
    /// - Throws: `store.moved` (75) if another process wrote since the store was opened, or replaced it.
    package func checkUnchanged() throws(MigrationError) {
        let path = standIn?.original ?? path
        let now: StoreFingerprint
        do {
            now = try standIn == nil ? StoreFingerprint.take(path: path) : StandInStore.fingerprint(of: path)
        } catch {
            throw error.category == .io ? error : SourceStore.moved(path)
        }
        guard now == fingerprint else { throw SourceStore.moved(path) }
    }

    /// Returns the content of Z_MODELCACHE in its stored, compressed form; nil if there is none.
    package func cachedModelContent() throws(MigrationError) -> [UInt8]? {
        sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, SourceStore.metadataLimit)
        defer { limitValues() }
        return try blamingData { () throws(MigrationError) in
            guard try connection.hasTable("Z_MODELCACHE") else { return nil }
            let statement = try connection.prepare("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1")
            guard try statement.step(), let content = statement.blob(0), !content.isEmpty else { return nil }
            return content
        }
    }

    /// Returns the model that Core Data has cached in the store, with the version hashes from the store's metadata; nil if
    /// there is none (before iOS 9).
    ///
    /// - Throws: the errors of the reader of keyed archives and models.
    package func cachedModel() throws(MigrationError) -> ManagedObjectModel? {
        guard let content = try cachedModelContent() else { return nil }
        do throws(MigrationError) {
            let model = try ManagedObjectModel(try ModelCache.decode(content))
            model.takeUnknownHashes(from: metadata.versionHashes)
            return model
        } catch {
            throw error.inside(.init(path: path))
        }
    }

    /// Prepares a query of the snapshot that no reader of rows serves: counts, groups, rows without a partner.
    ///
    /// All statements must be released before ``close()``.
    ///
    /// - Throws: `store.damaged` (65) if the file lacks a name in the query.
    package func query(_ sql: String) throws(MigrationError) -> Statement {
        try blamingData { () throws(MigrationError) in try connection.prepare(sql) }
    }

    /// Steps a query; what is wrong with it is wrong with the data.
    package func stepping(_ statement: Statement) throws(MigrationError) -> Bool {
        try blamingData { () throws(MigrationError) in try statement.step() }
    }

    /// Returns the first column of the first row of a query; nil if there is no row or it is NULL. What is wrong with the query
    /// is wrong with the data.
    func integer(_ sql: String) throws(MigrationError) -> Int64? {
        try blamingData { () throws(MigrationError) in try connection.integer(sql) }
    }

    /// Registers the functions of texts for ``query(_:)``.
    package func addTextFunctions() throws(MigrationError) { try connection.addTextFunctions() }

    /// Lets a body create temporary tables and views, which SQLite stores apart from the file.
    func writingTemporary(_ body: () throws(MigrationError) -> Void) throws(MigrationError) {
        sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, SourceStore.metadataLimit)
        defer { limitValues() }
        try blamingData { () throws(MigrationError) in
            try connection.execute("PRAGMA query_only=0")
            let result = Result { () throws(MigrationError) in try body() }
            try connection.execute("PRAGMA query_only=1")
            try result.get()
        }
    }

    // MARK: Opening

    /// The greatest size in bytes of metadata and cached model, independent of the value limit.
    private static let metadataLimit: Int32 = 64 << 20

    private func limitValues() {
        sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, Int32(clamping: valueLimit))
    }

    /// Opens the store, begins its one read transaction, and ensures that the fingerprint matches the snapshot.
    private static func snapshot(
        path: String, vfs: SourceVFS, cacheBytes: Int
    ) throws(MigrationError) -> (DatabaseFile, Connection, StoreFingerprint) {
        for _ in 0..<3 {
            let file = try DatabaseFile.read(path: path)
            let before = try StoreFingerprint.take(path: file.path)
            let connection = try Connection.openSource(path: file.path, vfs: vfs)
            do throws(MigrationError) {
                sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, metadataLimit)
                try connection.execute("PRAGMA temp_store=\(vfs.temporaryDirectory == nil ? "MEMORY" : "FILE")")
                try connection.execute("PRAGMA query_only=1")
                // An automatic index would need unbounded memory.
                try connection.execute("PRAGMA automatic_index=0")
                try connection.execute("BEGIN")
                do throws(MigrationError) {
                    _ = try connection.integer("SELECT count(*) FROM sqlite_master")
                } catch {
                    guard error.category == .data, try connection.passOverBrokenTriggers() else { throw error }
                }
                try connection.execute("PRAGMA mmap_size=0")
                try connection.execute("PRAGMA cache_size=-\(max(64, cacheBytes / 1024))")
                try connection.execute("PRAGMA cell_size_check=1")
            } catch { throw blamingData(error) }
            if try StoreFingerprint.take(path: file.path) == before { return (file, connection, before) }
            try connection.close()
        }
        throw moved(path)
    }

    static func moved(_ path: String) -> MigrationError {
        MigrationError(
            "store.moved", .temporary, "The source is being written",
            remedy: "Close the program that uses the store and run the command again", context: .init(path: path))
    }

    private static func requireCoreData(_ connection: Connection) throws(MigrationError) {
        guard try !connection.hasTable("Z_METADATA") else { return }
        let found = ForeignDatabase.description(
            of: try connection.texts(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name LIMIT 1000"
            ))
        throw MigrationError(
            "store.notCoreData", .data, "The SQLite database is \(found.what)", remedy: found.remedy,
            context: .init(path: connection.path))
    }

    private static func readMetadata(_ connection: Connection) throws(MigrationError) -> StoreMetadata {
        func damaged(_ what: String, _ cause: MigrationError? = nil) -> MigrationError {
            MigrationError(
                "store.metadata", .data, "The store's metadata is damaged: \(what)",
                context: .init(path: connection.path), cause: cause)
        }
        let statement = try connection.prepare("SELECT Z_UUID, Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION LIMIT 1")
        guard try statement.step() else { throw damaged("Z_METADATA has no row") }
        let uuid = statement.text(0) ?? ""
        guard let bytes = statement.blob(1) else { throw damaged("Z_PLIST is empty") }
        let value: PropertyListValue
        do { value = try BinaryPropertyList.decode(bytes) } catch { throw damaged("Z_PLIST cannot be read", error) }
        guard case .dictionary(let list) = value else { throw damaged("Z_PLIST is no dictionary") }
        return StoreMetadata(uuid: uuid, propertyList: list.byKey)
    }

    private static func readPrimaryKeys(_ connection: Connection) throws(MigrationError) -> [PrimaryKeyRow] {
        let most = 65536
        let sql = "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT LIMIT \(most + 1)"
        let rows = try connection.rows(sql) { row in
            PrimaryKeyRow(
                number: Int(row.integer(0)), name: row.text(1) ?? "", parent: Int(row.integer(2)),
                maximum: row.integer(3))
        }
        // Core Data's numbers end at 16003. A file with more rows than this is not its store, and they would be held in memory.
        guard rows.count <= most else {
            throw MigrationError(
                "store.damaged", .data, "Z_PRIMARYKEY has more than \(most.counted("row"))",
                context: .init(path: connection.path)
            )
        }
        return rows
    }

    // MARK: Errors

    /// Returns an error of the data for an error that SQLite attributes to the SQL: the SQL fits the schema, so the schema is
    /// false.
    static func blamingData(_ error: MigrationError) -> MigrationError {
        guard error.code == "store.sqlite" else { return error }
        var copy = error
        copy.code = "store.damaged"
        copy.category = .data
        return copy
    }

    /// Returns the error for rows that no intact file has.
    func damaged(_ message: String, _ context: MigrationError.Context? = nil) -> MigrationError {
        MigrationError(
            "store.damaged", .data, message, remedy: "Run PRAGMA integrity_check on a copy",
            context: context ?? .init(path: path))
    }

    func failure(_ code: Int32, reading subject: String) -> MigrationError {
        Self.blamingData(
            SQLiteFailure.error(connection.handle, code: code, doing: "Reading \(subject)", path: path))
    }

    /// Runs a body and attributes its SQL errors to the data.
    func blamingData<Result>(_ body: () throws(MigrationError) -> Result) throws(MigrationError) -> Result {
        do { return try body() } catch { throw SourceStore.blamingData(error) }
    }
}

extension Connection {
    /// Tells whether a table exists; names are compared as in SQLite.
    func hasTable(_ name: String) throws(MigrationError) -> Bool {
        try integer(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = \(SQLName.literal(name)) COLLATE NOCASE")
            != nil
    }

    /// Loads a schema without the triggers and views of it that SQLite cannot understand: a trigger of a table that is not
    /// there keeps it from reading anything.
    ///
    /// - Returns: false if anything else is missing then.
    fileprivate func passOverBrokenTriggers() throws(MigrationError) -> Bool {
        guard let handle else { return false }
        _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0)
        defer { _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1) }
        // A part that cannot be understood is left out then; nothing is written.
        try execute("PRAGMA writable_schema=ON")
        let missing = try integer(
            """
            SELECT count(*) FROM sqlite_master AS m WHERE m.type NOT IN ('trigger', 'view') AND NOT EXISTS (
            SELECT 1 FROM pragma_table_list AS t WHERE m.type = 'table' AND t.schema = 'main' AND t.name = m.name
            UNION ALL SELECT 1 FROM pragma_index_list(m.tbl_name) AS i WHERE m.type = 'index' AND i.name = m.name)
            """)
        try execute("PRAGMA writable_schema=OFF")
        return missing == 0
    }
}
