import Archives
import CSQLite
import DatabasePages
import Diagnostics

/// A store opened for reading: one snapshot of main file and `-wal`, held from the initialiser to ``close()``.
///
/// Nothing beside the store or in it is created, changed or touched. Used by one task at a time. Readers and cursors
/// keep the store alive; all of them must be gone before ``close()``.
/// Memory: the page cache of `cacheBytes`, the same once more for a sort, 8 bytes a frame of the `-wal`, and the
/// largest row (up to `valueLimit` bytes a value).
package final class SourceStore {
    /// Header and sizes.
    package let file: DatabaseFile
    /// The state that is read.
    package let fingerprint: StoreFingerprint
    package let metadata: StoreMetadata
    /// Z_PRIMARYKEY, by number; empty where the file lacks it.
    package let primaryKeys: [PrimaryKeyRow]
    /// Whether the file has Z_PRIMARYKEY: what lacks it is damaged.
    let hasNumbers: Bool
    /// Names, in upper case, of the tables that temporary ones stand before: ``repair(_:_:)``.
    var repaired: Set<String> = []
    /// Bytes of the largest value that is read.
    package let valueLimit: Int
    /// The memory limit, in MiB, under which a value of so many bytes could be read: for the error's remedy.
    package var limitNeeded: ((Int) -> Int)?
    /// Whether rows are read from the file's pages where that is safe; else SQLite reads everything.
    package var readsPages = false
    /// Why SQLite reads although pages were asked for; nil where it does not, or nothing was read yet.
    package internal(set) var pagesRefusal: String?
    /// Tables that SQLite read although the others' pages were read, and why: the first reason of each.
    package private(set) var pageFallbacks: [String: String] = [:]
    /// The file's pages, once a reader asked for them; those of none where it has to be SQLite.
    var pages: SourcePages?
    let connection: Connection
    /// Whether the file's text is UTF-8.
    let isUTF8: Bool
    let pool: StatementPool
    /// Columns whose values are counted, by table.
    var countedColumns: [Int: Set<Int>] = [:]
    /// Those that count while rows are read, by table.
    var tallies: [Int: ValueTally] = [:]
    /// By table and column.
    var hugeColumns: [[Int]: HugeColumn] = [:]

    /// The path, symbolic links resolved.
    package var path: String { file.path }

    /// Notes why SQLite reads a table.
    func noteFallback(_ table: String, _ reason: String) {
        if pagesRefusal == nil, pageFallbacks[table] == nil { pageFallbacks[table] = reason }
    }

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - path: the main file.
    ///   - cacheBytes: bytes of SQLite's page cache; at least 64 KiB are used.
    ///   - valueLimit: bytes of the largest value to read; a larger one is `store.valueTooLarge`.
    ///   - temporaryDirectory: where sorts may spill, without names; nil: sorts stay in memory.
    /// - Throws: what ``DatabaseFile/read(path:)`` throws; `store.notCoreData`, `store.hotJournal`, `store.damaged`,
    ///   `store.metadata` (65), `store.busy`, `store.moved` (75).
    package init(
        path: String, cacheBytes: Int, valueLimit: Int, temporaryDirectory: String?
    ) throws(MigrationError) {
        let vfs = temporaryDirectory.map { SourceVFS(temporaryDirectory: $0) } ?? SourceVFS.standard
        let (file, connection, fingerprint) = try SourceStore.snapshot(path: path, vfs: vfs, cacheBytes: cacheBytes)
        self.file = file
        self.connection = connection
        self.fingerprint = fingerprint
        self.valueLimit = max(1, valueLimit)
        pool = StatementPool(connection)
        do {
            try SourceStore.requireCoreData(connection)
            let encoding = try connection.prepare("PRAGMA encoding")
            isUTF8 = try encoding.step() && encoding.text(0) == "UTF-8"
            encoding.reset()
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

    /// Lets long statements end early: see ``Connection/interrupt(when:)``.
    package func interrupt(when isWanted: @escaping () -> Bool) { connection.interrupt(when: isWanted) }

    /// Ends the snapshot and closes the files.
    ///
    /// - Throws: `store.busy` where a reader is still in use.
    package func close() throws(MigrationError) {
        pool.drain()
        pages?.close()
        try connection.close()
    }

    /// Takes the fingerprint again.
    ///
    /// - Throws: `store.moved` (75) where somebody wrote since the store was opened, or replaced it.
    package func checkUnchanged() throws(MigrationError) {
        let now: StoreFingerprint
        do { now = try StoreFingerprint.take(path: path) } catch {
            throw error.category == .io ? error : SourceStore.moved(path)
        }
        guard now == fingerprint else { throw SourceStore.moved(path) }
    }

    /// The bytes of Z_MODELCACHE, compressed as they are stored; nil where there are none.
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

    /// Lets a body create temporary tables and views, which SQLite keeps apart from the file.
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

    /// Bytes of metadata and cached model that are read whatever the limit of values.
    private static let metadataLimit: Int32 = 64 << 20

    private func limitValues() {
        sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, Int32(clamping: valueLimit))
    }

    /// Opens, begins the one read transaction, and makes sure that the fingerprint is that of what it sees.
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
                // An index made on the fly would need memory without bound.
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

    private static func moved(_ path: String) -> MigrationError {
        MigrationError(
            "store.moved", .temporary, "The source is being written",
            remedy: "Close the program that uses the store and run the command again", context: .init(path: path))
    }

    private static func requireCoreData(_ connection: Connection) throws(MigrationError) {
        guard try !connection.hasTable("Z_METADATA") else { return }
        let statement = try connection.prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name LIMIT 1000")
        var tables: [String] = []
        while try statement.step() { tables.append(statement.text(0) ?? "") }
        let found = ForeignDatabase.description(of: tables)
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
        return StoreMetadata(uuid: uuid, propertyList: list)
    }

    private static func readPrimaryKeys(_ connection: Connection) throws(MigrationError) -> [PrimaryKeyRow] {
        let statement = try connection.prepare("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT")
        var rows: [PrimaryKeyRow] = []
        while try statement.step() {
            // Numbers end at 16003; more than this is no Core Data store, and would be held in memory.
            guard rows.count < 65536 else {
                throw MigrationError(
                    "store.damaged", .data, "Z_PRIMARYKEY has more than 65536 rows",
                    context: .init(path: connection.path))
            }
            rows.append(
                PrimaryKeyRow(
                    number: Int(statement.integer(0)), name: statement.text(1) ?? "",
                    parent: Int(statement.integer(2)), maximum: statement.integer(3)))
        }
        return rows
    }

    // MARK: Errors

    /// An error that SQLite reports as one of the SQL: the schema, which the SQL was made for, is not what it says.
    static func blamingData(_ error: MigrationError) -> MigrationError {
        guard error.code == "store.sqlite" else { return error }
        var copy = error
        copy.code = "store.damaged"
        copy.category = .data
        return copy
    }

    /// Runs a body, its SQL errors blamed on the data.
    func blamingData<Result>(_ body: () throws(MigrationError) -> Result) throws(MigrationError) -> Result {
        do { return try body() } catch { throw SourceStore.blamingData(error) }
    }
}

extension Connection {
    /// Whether there is a table of the name, compared as SQLite compares names.
    func hasTable(_ name: String) throws(MigrationError) -> Bool {
        let statement = try prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE")
        statement.bind(name, at: 1)
        return try statement.step()
    }

    /// Loads a schema without the triggers and views of it that SQLite cannot understand: a trigger of a table that is not there
    /// keeps it from reading anything.
    ///
    /// - Returns: false where anything else is missing then.
    fileprivate func passOverBrokenTriggers() throws(MigrationError) -> Bool {
        guard let handle else { return false }
        _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0)
        defer { _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1) }
        // What cannot be understood is left out then; nothing is written.
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
