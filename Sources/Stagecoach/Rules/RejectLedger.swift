import CSQLite
import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The rejected objects of a run with their reasons, on disk. The first reason of an object stays; none is taken back.
///
/// A private SQLite file in the work directory. A kept ledger outlives the process: objects noted before a checkpoint
/// are in it again, later ones may be noted twice. Memory: a page cache of the given size, for any number of objects.
final class RejectLedger {
    /// A rejected object and the reason for rejecting it.
    struct Entry {
        let table: Int
        let key: Int64
        /// The entity's index in the destination model.
        let entity: Int
        let round: Int
        let property: String
        let rule: ValidationRule
        let value: String?
    }

    let connection: Connection
    private let path: String
    private let keeps: Bool
    /// True if something was noted since the last checkpoint.
    private var isUnsaved = true
    private let insert: Statement
    private let find: Statement
    private let findSuspect: Statement
    /// The number of objects noted.
    private(set) var count = 0
    /// The last round whose objects the current load leaves out; -1 in the first load. What breaks a rule now is of the next.
    private(set) var base = -1
    private var countBefore = 0
    /// True if a value could not be computed.
    private(set) var hasValueErrors = false
    /// True if rows may share the values of a uniqueness constraint. The fixpoint decides which ones to reject.
    var hasDuplicates = false

    /// Creates the file.
    ///
    /// - Parameters:
    ///   - path: the file; it does not exist or is no longer needed, unless it is resumed.
    ///   - cacheBytes: the size of the page cache.
    ///   - vfs: the name of the VFS that keeps SQLite's temporary files in the work directory.
    ///   - keeps: true to keep the file for a run that resumes after the process was killed.
    ///   - resumes: true if the file of a killed run exists.
    /// - Throws: `store.full`, `store.io`, `spill.io` (74).
    init(
        path: String, schema: StoreSchema, cacheBytes: Int, vfs: String, keeps: Bool, resumes: Bool
    ) throws(MigrationError) {
        self.path = path
        self.keeps = keeps
        if !resumes {
            for file in [path, path + "-journal"] { try FileSystem.remove(file) }
        }
        connection = try Connection(path: path, vfs: vfs)
        connection.trustFile()
        try connection.execute(
            """
            PRAGMA page_size=4096; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=\(keeps ? "DELETE" : "OFF");
            PRAGMA synchronous=\(keeps ? "FULL" : "OFF");
            PRAGMA temp_store=FILE; PRAGMA cache_size=-\(max(64, cacheBytes / 1024)); BEGIN EXCLUSIVE
            """)
        if !resumes { try Self.makeTables(connection, schema) }
        insert = try connection.prepare("INSERT OR IGNORE INTO rejected VALUES (?, ?, ?, ?, ?, ?, ?)")
        find = try connection.prepare("SELECT rule FROM rejected WHERE t = ? AND k = ?")
        findSuspect = try connection.prepare(
            "SELECT value FROM suspect WHERE t = ? AND k = ? AND property = ? ORDER BY round DESC LIMIT 1")
        guard resumes else { return }
        // BEGIN EXCLUSIVE above rolled back the unfinished transaction, so the file is as it was at its last commit.
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
            CREATE TABLE suspect (t INTEGER NOT NULL, k INTEGER NOT NULL, entity INTEGER NOT NULL,
                round INTEGER NOT NULL, property TEXT NOT NULL, rule TEXT NOT NULL, value TEXT,
                PRIMARY KEY (t, k, property, round)) WITHOUT ROWID;
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

    /// Syncs the noted objects to disk, if the file is kept.
    func synchronize() throws(MigrationError) {
        guard keeps, isUnsaved else { return }
        try connection.execute("COMMIT; BEGIN EXCLUSIVE")
        isUnsaved = false
    }

    /// Begins a load.
    ///
    /// - Parameter round: the last round of objects that the load leaves out; nil in the first load. What a killed run
    ///   computed after the load is removed.
    func begin(after round: Int?) throws(MigrationError) {
        base = round ?? -1
        try connection.execute(
            "DELETE FROM rejected WHERE round > \(base + 1); DELETE FROM suspect WHERE round > \(base + 1)")
        count = Int(try connection.integer("SELECT count(*) FROM rejected") ?? 0)
        countBefore = Int(try connection.integer("SELECT count(*) FROM rejected WHERE round <= \(base)") ?? 0)
        isUnsaved = true
    }

    /// The last round in which objects were rejected.
    func lastRound() throws(MigrationError) -> Int {
        Int(try connection.integer("SELECT max(round) FROM rejected") ?? 0)
    }

    /// True if the next load decides on an object: it lost one that it needs, and may get another instead.
    func hasSuspects() throws(MigrationError) -> Bool {
        try connection.integer(
            """
            SELECT 1 FROM suspect AS s WHERE s.round > \(base + 1)
            AND NOT EXISTS (SELECT 1 FROM rejected AS x WHERE x.t = s.t AND x.k = s.k) LIMIT 1
            """) != nil
    }

    /// True if the current load cannot be published.
    var isDirty: Bool { hasAdded || hasDuplicates }

    /// True if objects were rejected since the current load began.
    var hasAdded: Bool { count > countBefore }

    /// Notes an object. An object that is noted already keeps its reason.
    func note(_ broken: BrokenRule) throws(MigrationError) {
        let lost = try lost(broken)
        insert.bind(Int64(broken.table), broken.key, Int64(broken.entity), Int64(base + 1))
        insert.bind(broken.property, at: 5)
        insert.bind((lost == nil ? broken.rule : .reference).rawValue, at: 6)
        if let value = lost ?? broken.value { insert.bind(value, at: 7) } else { insert.bindNull(at: 7) }
        try insert.run()
        count += changes
        isUnsaved = true
        if broken.rule == .value { hasValueErrors = true }
    }

    /// Returns the rejected object that a required relationship referred to: nil if it had none, and a nil value for members.
    private func lost(_ broken: BrokenRule) throws(MigrationError) -> String?? {
        guard base >= 0, broken.isRelationship, broken.rule == .required else { return nil }
        findSuspect.bind(Int64(broken.table), broken.key)
        findSuspect.bind(broken.property, at: 3)
        defer { findSuspect.reset() }
        return try findSuspect.step() ? .some(findSuspect.text(0)) : nil
    }

    /// Returns the rule for which an object is rejected; nil if it is not.
    func rule(table: Int, key: Int64) throws(MigrationError) -> ValidationRule? {
        find.bind(Int64(table), key)
        defer { find.reset() }
        guard try find.step() else { return nil }
        return find.text(0).flatMap(ValidationRule.init(rawValue:))
    }

    /// Removes objects whose values could not be computed and that a policy deleted afterwards.
    ///
    /// - Parameter exists: tells whether an object of a table and entity still exists.
    func forgetDeleted(exists: (Entry) throws -> Bool, in schema: StoreSchema) throws {
        guard hasValueErrors else { return }
        let delete = try connection.prepare("DELETE FROM rejected WHERE t = ? AND k = ?")
        try forEachEntry(in: schema) { entry in
            guard try !exists(entry) else { return }
            delete.bind(Int64(entry.table), entry.key)
            try delete.run()
            count -= changes
        }
    }

    /// Saves the noted changes of existing rows while the store that holds them is closed.
    func keep(_ touched: TouchedRows) throws {
        try connection.execute("DELETE FROM touched")
        let insert = try connection.prepare("INSERT INTO touched VALUES (?, ?, ?)")
        try touched.forEachNoted { table, key, change in
            insert.bind(Int64(table), key, change.rawValue)
            try insert.run()
        }
    }

    /// Records the kept rows again, in the copy of the store that is loaded next. Changes of own values are recorded as such, all
    /// others as ``TouchedRows/Change/row``: the next load finds changed links itself, and leaves out those to rejected objects.
    func restore(_ touched: TouchedRows) throws {
        let select = try connection.prepare("SELECT t, k, c FROM touched")
        while try select.step() {
            let isOwn = select.integer(2) == TouchedRows.Change.values.rawValue
            try touched.note(select.integer(1), table: Int(select.integer(0)), isOwn ? .values : .row)
        }
    }

    /// Returns the tables of rejected objects.
    func tables() throws(MigrationError) -> [Int] {
        try connection.rows("SELECT DISTINCT t FROM rejected") { Int($0.integer(0)) }
    }

    /// Runs a statement that rejects objects.
    ///
    /// - Returns: the number of objects that were not rejected before.
    func reject(by statement: Statement) throws(MigrationError) -> Int {
        try statement.run()
        let added = changes
        isUnsaved = true
        count += added
        return added
    }

    private var changes: Int { Int(sqlite3_changes64(connection.handle)) }

    /// Attaches another database, which statements see as `store`.
    func attach(_ path: String, cacheBytes: Int) throws(MigrationError) {
        try connection.execute("COMMIT")
        let attach = try connection.prepare("ATTACH ? AS store")
        attach.bind(path, at: 1)
        try attach.run()
        try connection.execute("PRAGMA store.cache_size=-\(max(64, cacheBytes / 1024)); BEGIN")
    }

    /// Detaches the other database.
    func detach() throws(MigrationError) { try connection.execute("COMMIT; DETACH store; BEGIN EXCLUSIVE") }

    /// Returns the keys of the objects that the current load leaves out.
    ///
    /// - Throws: `spill.full`, `spill.io` (74).
    func keys(_ run: MigrationRun) throws(MigrationError) -> RejectedKeys {
        let tables = run.inputs.destinationSchema.tables.count
        let allowance = max(64 << 10, run.inputs.budget.keys / 4 / max(1, tables))
        let select = try connection.prepare("SELECT k FROM rejected WHERE t = ? AND round <= ? ORDER BY k")
        var keys: [KeyIndex?] = []
        for table in 0..<tables {
            let index = KeyIndex(directory: run.inputs.work, name: "rejected", memory: allowance)
            select.bind(Int64(table), Int64(base))
            while try select.step() { try index.append(select.integer(0)) }
            select.reset()
            try index.seal()
            keys.append(index.count == 0 ? nil : index)
        }
        return RejectedKeys(keys)
    }

    /// Calls `body` with every rejected object, by entity name, then key.
    func forEachEntry(in schema: StoreSchema, _ body: (Entry) throws -> Void) throws {
        let select = try connection.prepare(
            "SELECT k, round, property, rule, value FROM rejected WHERE t = ? AND entity = ? ORDER BY k")
        for entity in schema.model.entities.sorted(by: { $0.definition.name < $1.definition.name }) {
            let table = schema.tableIndex(of: entity)
            select.bind(Int64(table), Int64(entity.index))
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

    /// Calls a closure with every rejected object as a line of a reject file, by entity name, then key.
    ///
    /// - Parameter previous: the map from this step's source objects to the objects of the chain's source; nil if no step ran
    ///   before.
    /// - Complexity: O(rejected objects), with a lookup of the origin for each.
    func forEachObject(
        _ run: MigrationRun, _ origins: ObjectOrigins, _ previous: PreviousStepIDMap?,
        _ body: (RejectedObject, Entry, ObjectOrigin?) throws -> Void
    ) throws {
        let schema = run.inputs.destinationSchema
        try forEachEntry(in: schema) { entry in
            try run.services.checkCancelled()
            let name = schema.model.entity(at: entry.entity).definition.name
            let origin = try origins.origin(key: entry.key, entity: entry.entity)
            let sources = try origin?.chainSources(previous) ?? []
            let object = RejectedObject(
                entity: name, id: "\(name)/p\(entry.key)", sourceID: sources.first,
                otherSourceIDs: sources.count > 1 ? Array(sources.dropFirst()) : nil, property: entry.property,
                rule: entry.rule, value: entry.value, mapping: origin?.mappingName)
            try body(object, entry, origin)
        }
    }
}
