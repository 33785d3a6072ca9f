import Archives
import CSQLite
import Diagnostics

/// The end of a store: derived attributes, triggers and R-trees, then the metadata and the commit.
extension DestinationStore {
    /// Makes the tables of persistent history, with their rows if these are carried over. Triggers come after them, as in
    /// Core Data's stores.
    ///
    /// - Throws: the errors of ``HistoryCopy``, `store.full`, `store.io`.
    package func carryOver(_ history: HistoryCopy) throws(MigrationError) {
        try beginTransaction()
        try history.run(into: connection)
    }

    /// Brings derived counts up to date, as their triggers would have, and makes the triggers, R-trees and what is taken over
    /// from the source. Triggers call functions of Apple's process: no row may be written afterwards.
    package func createTriggers() throws(MigrationError) {
        try beginTransaction()
        try refreshDerivedAttributes()
        try moveUniqueClauses()
        filling.indexSorts?.space.release()
        for index in filling.carriedIndexes { try make(index.statements, fill: index.fill) }
        for tree in treesByRule {
            let table = schema.tables[tree.table]
            try make(tree.statements(on: table), fill: tree.fill(on: table))
        }
        for object in filling.carried.objects where object.made.kind != .trigger { try make(object) }
        for statement in schema.triggerStatements { try connection.execute(statement) }
        for object in filling.carried.objects where object.made.kind == .trigger { try make(object) }
        try noteMissing()
    }

    /// The R-trees that are not taken over from the source.
    private var treesByRule: [StoreTree] {
        schema.trees.filter { tree in !filling.carriedIndexes.contains { $0.index.treeName == tree.index.treeName } }
    }

    /// Makes an index or an R-tree with its triggers, unless SQLite here does not know what it uses.
    private func make(_ statements: [String], fill: String?) throws(MigrationError) {
        for (number, sql) in statements.enumerated() {
            // A statement that cannot be prepared has changed nothing.
            guard let statement = try? connection.prepare(sql) else { return }
            try statement.run()
            if number == 0, let fill { try connection.execute(fill) }
        }
    }

    private func make(_ object: CarriedObjects.Object) throws(MigrationError) {
        // A build that fails cannot be rolled back.
        if let breaks = object.breaks, try connection.integer(breaks) != nil { return }
        guard let statement = try? connection.prepare(object.made.sql) else { return }
        try statement.run()
        for sql in object.fill { try connection.execute(sql) }
    }

    /// Looks which of the wanted objects the file has not got.
    func noteMissing() throws(MigrationError) {
        let names = Set(try connection.texts("SELECT name FROM sqlite_master"))
        let trees = filling.carriedIndexes.map(\.index) + treesByRule.map(\.index)
        missing = trees.filter { !names.contains($0.isTree ? $0.treeName : $0.name) }.map(\.note)
        missing += filling.carried.objects.filter { !names.contains($0.made.name) }.map { object in
            "The \(object.made.kind.rawValue) \(object.made.name) of the source is left behind: "
                + (object.breaks == nil ? "SQLite here cannot make it" : "rows of the copy share its values")
        }
    }

    private func refreshDerivedAttributes() throws(MigrationError) {
        try connection.addTextFunctions()
        for statement in schema.derivedRefreshes(filling.derived, isAppended: isAppending) {
            try connection.execute(statement)
        }
    }

    /// Updates derived attributes, writes Z_MAX into an appended store, commits, closes, checks the file's header and syncs the
    /// file. Metadata and cached model stay unchanged. All writers must be finished.
    ///
    /// - Parameter maximumKeys: the highest key ever given out, by table.
    package func finishAppending(maximumKeys: [Int64]) throws(MigrationError) {
        precondition(maximumKeys.count == schema.tables.count, "one maximum key a table")
        try beginTransaction()
        try refreshDerivedAttributes()
        try refillTrees()
        try updatePrimaryKeys(maximumKeys)
        try commit()
    }

    /// Fills the R-trees that an appended store has, as their own triggers would have.
    private func refillTrees() throws(MigrationError) {
        for tree in schema.trees where try connection.hasTable(tree.index.treeName) {
            let table = schema.tables[tree.table]
            let name = tree.index.treeName
            let own = try connection.text(
                "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = \(SQLName.literal(table.name)) "
                    + "AND name = \(SQLName.literal("\(name)_INSERT"))")
            try connection.execute("DELETE FROM \(SQLName.quoted(name))")
            try connection.execute(own.flatMap { TreeTrigger.fill($0, name, table.name) } ?? tree.fill(on: table))
        }
    }

    private func updatePrimaryKeys(_ maximumKeys: [Int64]) throws(MigrationError) {
        for (table, maximum) in zip(schema.tables, maximumKeys) {
            try connection.execute(
                "UPDATE Z_PRIMARYKEY SET Z_MAX = \(maximum) WHERE Z_ENT = \(schema.entityNumbers[table.root])")
        }
    }

    private func commit() throws(MigrationError) {
        // A virtual table keeps statements of its own until the connection closes.
        let hasTrees =
            !schema.trees.isEmpty || filling.carriedIndexes.contains { $0.fill != nil }
            || filling.carried.objects.contains { $0.made.kind == .virtualTable }
        precondition(hasTrees || sqlite3_next_stmt(connection.handle, nil) == nil, "a writer is not finished")
        if stamp != knowledge.firstStamp {
            try connection.execute("PRAGMA user_version=\(knowledge.firstStamp)")
        }
        try willCommit?()
        try connection.execute("COMMIT")
        try connection.close()
        try DestinationFile.checkAndSync(path, isOurs: !isAppending)
    }

    /// Writes Z_PRIMARYKEY, Z_METADATA and Z_MODELCACHE, commits, closes, checks the file's header and syncs the file. All
    /// writers must be finished.
    ///
    /// - Parameters:
    ///   - maximumKeys: Z_MAX by table: the highest key ever given out. Only the root entity's row has it.
    ///   - modelCache: the content of Z_MODELCACHE; nil leaves the table empty.
    /// - Throws: `metadata.missingHash` (78), `store.full`, `store.io`.
    package func finish(
        metadata: DestinationMetadata, maximumKeys: [Int64], modelCache: [UInt8]?
    ) throws(MigrationError) {
        precondition(maximumKeys.count == schema.tables.count, "one maximum key a table")
        let properties = try metadata.propertyList(for: schema.model)
        try beginTransaction()
        try writePrimaryKeys(maximumKeys)
        try writeMetadata(metadata.uuid, properties)
        if let modelCache {
            let insert = try connection.prepare("INSERT INTO Z_MODELCACHE VALUES (?)")
            insert.bind(modelCache, at: 1)
            try insert.run()
        }
        // Dropped indexes may have left free pages.
        try connection.execute("PRAGMA incremental_vacuum")
        try commit()
    }

    private func writePrimaryKeys(_ maximumKeys: [Int64]) throws(MigrationError) {
        let rows = schema.entityNumbers.enumerated().map { index, number in
            let entity = schema.model.entity(at: index)
            return PrimaryKeyRow(
                number: number, name: entity.definition.name, parent: entity.superentity.map(schema.number(of:)) ?? 0,
                maximum: entity.superentity == nil ? maximumKeys[schema.tableByEntity[index]] : 0)
        }
        try connection.insert(rows.sorted { $0.number < $1.number })
    }

    private func writeMetadata(_ uuid: String, _ properties: PropertyListValue) throws(MigrationError) {
        let insert = try connection.prepare("INSERT INTO Z_METADATA VALUES (1, ?, ?)")
        insert.bind(uuid, at: 1)
        insert.bind(try BinaryPropertyList.encode(properties), at: 2)
        try insert.run()
    }
}

extension Connection {
    /// Adds rows to Z_PRIMARYKEY.
    func insert(_ rows: [PrimaryKeyRow]) throws(MigrationError) {
        let insert = try prepare("INSERT INTO Z_PRIMARYKEY VALUES (?1, ?4, ?2, ?3)")
        for row in rows {
            insert.bind(Int64(row.number), Int64(row.parent), row.maximum)
            insert.bind(row.name, at: 4)
            try insert.run()
        }
    }
}
