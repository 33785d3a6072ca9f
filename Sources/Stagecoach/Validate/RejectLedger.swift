import CSQLite
import Diagnostics
import ManagedModel
import PersistentStore
import SpillStorage

/// The rejected objects of a run with their reasons, on disk: the first reason of each stays, nothing is taken back.
///
/// A private SQLite file in the work directory. One that is kept outlives the process: what was noted up to a checkpoint is
/// in it again, and what came later may be noted twice. Memory: a page cache of
/// the given size, whatever the number of objects.
final class RejectLedger {
    /// A rejected object and what rejected it.
    struct Entry {
        let table: Int
        let key: Int64
        /// Index in the destination model.
        let entity: Int
        let round: Int
        let property: String
        let rule: ValidationRule
        let value: String?
    }

    let connection: Connection
    private let path: String
    private let keeps: Bool
    /// Whether something was noted since the last checkpoint.
    private var isUnsaved = true
    private let insert: Statement
    private let find: Statement
    /// Objects noted.
    private(set) var count = 0
    /// Whether a value could not be computed.
    private(set) var hasValueErrors = false
    /// Whether rows may share the values of a uniqueness constraint; which ones is decided among the survivors.
    var hasDuplicates = false

    /// Makes the file.
    ///
    /// - Parameters:
    ///   - path: a file that does not exist, or is of no use any more.
    ///   - cacheBytes: size of the page cache.
    ///   - vfs: name of the VFS that keeps SQLite's temporary files in the work directory.
    /// - Throws: `store.full`, `store.io`, `spill.io` (74).
    convenience init(path: String, schema: StoreSchema, cacheBytes: Int, vfs: String) throws(MigrationError) {
        try self.init(path: path, schema: schema, cacheBytes: cacheBytes, vfs: vfs, keeps: false, goesOn: false)
    }

    /// The same, kept for a run that goes on after the process was killed.
    ///
    /// - Parameter goesOn: whether the file of such a run stands there.
    init(
        path: String, schema: StoreSchema, cacheBytes: Int, vfs: String, keeps: Bool, goesOn: Bool
    ) throws(MigrationError) {
        self.path = path
        self.keeps = keeps
        if !goesOn {
            for file in [path, path + "-journal"] { try FileSystem.remove(file) }
            if keeps { try FileSums.begin(path) }
        }
        connection = try FileSums.rollingBack(path) { () throws(MigrationError) in
            let connection = try Connection(
                path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs: vfs)
            // A defensive connection refuses journal_mode OFF; this file is our own work, not a stranger's.
            if let handle = connection.handle { _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0) }
            try connection.execute(
                """
                PRAGMA page_size=4096; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=\(keeps ? "DELETE" : "OFF");
                PRAGMA synchronous=\(keeps ? "FULL" : "OFF");
                PRAGMA temp_store=FILE; PRAGMA cache_size=-\(max(64, cacheBytes / 1024)); BEGIN EXCLUSIVE
                """)
            return connection
        }
        if !goesOn { try Self.makeTables(connection, schema) }
        insert = try connection.prepare("INSERT OR IGNORE INTO rejected VALUES (?, ?, ?, 0, ?, ?, ?)")
        find = try connection.prepare("SELECT rule FROM rejected WHERE t = ? AND k = ?")
        guard goesOn else { return }
        // What was under way was rolled back when the transaction began.
        try FileSums.check(path)
        count = Int(try connection.integer("SELECT count(*) FROM rejected") ?? 0)
        hasValueErrors =
            try connection.integer(
                "SELECT 1 FROM rejected WHERE rule = '\(ValidationRule.value.rawValue)' LIMIT 1") != nil
    }

    private static func makeTables(_ connection: Connection, _ schema: StoreSchema) throws(MigrationError) {
        try connection.execute(
            """
            CREATE TABLE rejected (t INTEGER NOT NULL, k INTEGER NOT NULL, entity INTEGER NOT NULL,
                round INTEGER NOT NULL, property TEXT NOT NULL, rule TEXT NOT NULL, value TEXT,
                PRIMARY KEY (t, k)) WITHOUT ROWID;
            CREATE INDEX rejected_by_round ON rejected (round, t, k);
            CREATE TABLE touched (t INTEGER NOT NULL, k INTEGER NOT NULL, c INTEGER NOT NULL);
            CREATE TABLE entity (n INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL);
            CREATE UNIQUE INDEX entity_by_number ON entity (number);
            """)
        let entities = try connection.prepare("INSERT INTO entity VALUES (?, ?, ?)")
        for entity in schema.model.entities {
            entities.bind(Int64(entity.index), at: 1)
            entities.bind(Int64(schema.number(of: entity)), at: 2)
            entities.bind(entity.definition.name, at: 3)
            try entities.run()
        }
    }

    deinit { if !keeps { unlink(path) } }

    /// Brings what was noted to the disk, where the file is kept.
    func synchronize() throws(MigrationError) {
        guard keeps, isUnsaved else { return }
        try connection.execute("COMMIT; BEGIN EXCLUSIVE")
        isUnsaved = false
    }

    /// Takes back what was rejected for others' sake: a killed run was computing that.
    func forgetRounds() throws(MigrationError) {
        try connection.execute("DELETE FROM rejected WHERE round > 0")
        count -= changes
        isUnsaved = true
    }

    /// Whether the load that is under way cannot be published.
    var isDirty: Bool { count > 0 || hasDuplicates }

    /// Notes an object; a reason that it has already stays.
    func note(_ broken: BrokenRule) throws(MigrationError) {
        insert.bind(Int64(broken.table), at: 1)
        insert.bind(broken.key, at: 2)
        insert.bind(Int64(broken.entity), at: 3)
        insert.bind(broken.property, at: 4)
        insert.bind(broken.rule.rawValue, at: 5)
        if let value = broken.value { insert.bind(value, at: 6) } else { insert.bindNull(at: 6) }
        try insert.run()
        count += changes
        isUnsaved = true
        if broken.rule == .value { hasValueErrors = true }
    }

    /// The rule for which an object is rejected; nil where it is not.
    func rule(table: Int, key: Int64) throws(MigrationError) -> ValidationRule? {
        find.bind(Int64(table), at: 1)
        find.bind(key, at: 2)
        defer { find.reset() }
        guard try find.step() else { return nil }
        return find.text(0).flatMap(ValidationRule.init(rawValue:))
    }

    /// Forgets objects whose values could not be computed where a policy deleted them afterwards.
    ///
    /// - Parameter exists: whether an object of a table and entity is still there.
    func forgetDeleted(exists: (Entry) throws -> Bool, in schema: StoreSchema) throws {
        guard hasValueErrors else { return }
        let delete = try connection.prepare("DELETE FROM rejected WHERE t = ? AND k = ?")
        try forEachEntry(in: schema) { entry in
            guard try !exists(entry) else { return }
            delete.bind(Int64(entry.table), at: 1)
            delete.bind(entry.key, at: 2)
            try delete.run()
            count -= changes
        }
    }

    /// Keeps which rows a mapping model changed, while the store in which they are noted is not open.
    func keep(_ touched: TouchedRows) throws {
        let insert = try connection.prepare("INSERT INTO touched VALUES (?, ?, ?)")
        try touched.forEachNoted { table, key, change in
            insert.bind(Int64(table), at: 1)
            insert.bind(key, at: 2)
            insert.bind(change.rawValue, at: 3)
            try insert.run()
        }
    }

    /// Notes the kept rows again. Which links changed is known anew when they are saved: some lead to rejects.
    func restore(_ touched: TouchedRows) throws {
        let select = try connection.prepare("SELECT t, k, c FROM touched")
        while try select.step() {
            let isOwn = select.integer(2) == TouchedRows.Change.values.rawValue
            try touched.note(select.integer(1), table: Int(select.integer(0)), isOwn ? .values : .row)
        }
    }

    /// The tables of rejected objects.
    func tables() throws(MigrationError) -> [Int] {
        let select = try connection.prepare("SELECT DISTINCT t FROM rejected")
        var tables: [Int] = []
        while try select.step() { tables.append(Int(select.integer(0))) }
        return tables
    }

    /// Runs a statement that rejects objects.
    ///
    /// - Returns: how many were not rejected before.
    func reject(by statement: Statement) throws(MigrationError) -> Int {
        try statement.run()
        let added = changes
        isUnsaved = true
        count += added
        return added
    }

    private var changes: Int { Int(sqlite3_changes64(connection.handle)) }

    /// Lets statements see another database as `store`.
    func attach(_ path: String, cacheBytes: Int) throws(MigrationError) {
        try connection.execute("COMMIT")
        let attach = try connection.prepare("ATTACH ? AS store")
        attach.bind(path, at: 1)
        try attach.run()
        try connection.execute("PRAGMA store.cache_size=-\(max(64, cacheBytes / 1024)); BEGIN")
    }

    /// Lets the other database go.
    func detach() throws(MigrationError) { try connection.execute("COMMIT; DETACH store; BEGIN EXCLUSIVE") }

    /// Calls `body` with the rejected keys of a table, ascending.
    func forEachKey(ofTable table: Int, _ body: (Int64) throws(MigrationError) -> Void) throws(MigrationError) {
        let select = try connection.prepare("SELECT k FROM rejected WHERE t = ? ORDER BY k")
        select.bind(Int64(table), at: 1)
        while try select.step() { try body(select.integer(0)) }
    }

    /// Calls `body` with every rejected object, by entity name, then key.
    func forEachEntry(in schema: StoreSchema, _ body: (Entry) throws -> Void) throws {
        let select = try connection.prepare(
            "SELECT k, round, property, rule, value FROM rejected WHERE t = ? AND entity = ? ORDER BY k")
        let entities = schema.model.entities.sorted { $0.definition.name < $1.definition.name }
        for entity in entities {
            let table = schema.tableIndex(of: entity)
            select.bind(Int64(table), at: 1)
            select.bind(Int64(entity.index), at: 2)
            while try select.step() {
                guard let rule = select.text(3).flatMap(ValidationRule.init(rawValue:)) else { continue }
                try body(
                    Entry(
                        table: table, key: select.integer(0), entity: entity.index, round: Int(select.integer(1)),
                        property: select.text(2) ?? "", rule: rule, value: select.text(4)))
            }
            select.reset()
        }
    }
}
