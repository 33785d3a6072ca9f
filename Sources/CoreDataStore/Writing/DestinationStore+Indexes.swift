import Diagnostics

/// The indexes of tables: dropped while many rows come, and built afterwards.
extension DestinationStore {
    /// Prepares an entity table for many rows. If it has rows and indexes and as many rows are to come, its indexes are dropped
    /// until ``createIndexes(table:)``, because rebuilding them costs less than maintaining them.
    ///
    /// - Parameter rows: the expected number of rows.
    package func prepareRows(table: Int, expecting rows: Int) throws(MigrationError) {
        guard knowledge.indexed.contains(table) else { return }
        try takeIndexes(of: schema.tables[table].name, key: "Z_PK", expecting: rows)
    }

    /// Prepares a join table likewise.
    package func prepareRows(joinTable: Int, expecting rows: Int) throws(MigrationError) {
        guard knowledge.indexedJoins.contains(joinTable) else { return }
        try takeIndexes(of: schema.joinTables[joinTable].name, key: "rowid", expecting: rows)
    }

    /// Prepares an entity table for changes of attributes. Two rows that exchange values break a uniqueness constraint for a
    /// moment, so its indexes are dropped until ``createIndexes(table:)``.
    func prepareUpdates(table: Int) throws(MigrationError) {
        let name = schema.tables[table].name
        guard knowledge.indexed.contains(table), knowledge.absent[name] == nil,
            schema.indexes[table].contains(where: \.isUnique)
        else {
            return
        }
        try beginTransaction()
        knowledge.absent[name] = try AbsentIndexes(takingFrom: name, connection, onlyUnique: true)
    }

    private func takeIndexes(of table: String, key: String, expecting rows: Int) throws(MigrationError) {
        let name = SQLName.quoted(table)
        let present = try connection.integer("SELECT max(\(key)) FROM \(name)") ?? 0
        guard rows > 0, Int64(rows) >= present / 4, knowledge.absent[table] == nil else { return }
        try beginTransaction()
        knowledge.absent[table] = try AbsentIndexes(takingFrom: table, connection)
    }

    /// Builds the indexes of an entity table after its rows are inserted. Existing ones are kept.
    ///
    /// - Parameter duplicates: called for the index of each uniqueness constraint that rows break, which is left out; such a
    ///   store is only for reading. Nil: such rows are an error. A constraint is then checked before its index is built, because
    ///   a failed build cannot be rolled back and would leave the file damaged.
    /// - Throws: `validation.uniqueness` (65) if rows break a uniqueness constraint, `store.full`, `store.io`.
    package func createIndexes(table: Int, leavingOut duplicates: (() -> Void)? = nil) throws(MigrationError) {
        try beginTransaction()
        let description = schema.tables[table]
        if let absent = knowledge.absent.removeValue(forKey: description.name) {
            return try absent.rebuild(connection, table: description, model: schema.model, leavingOut: duplicates)
        }
        for index in try missingIndexes(of: table) {
            let columns = index.isUnique ? index.terms.map(description.name(of:)) : nil
            try AbsentIndexes.build(
                index.statement(on: description), unique: columns, of: description, connection, leavingOut: duplicates
            ) { UniquenessViolation(index, description, schema.model) }
        }
    }

    /// Builds the index of a join table after its rows are inserted. An existing one is kept.
    package func createIndexes(joinTable: Int) throws(MigrationError) {
        try beginTransaction()
        let name = schema.joinTables[joinTable].name
        if let absent = knowledge.absent.removeValue(forKey: name) {
            return try absent.rebuild(connection, model: schema.model)
        }
        guard !knowledge.indexedJoins.contains(joinTable), try !waits(name) else { return }
        knowledge.indexedJoins.insert(joinTable)
        for index in try unmade([schema.joinTables[joinTable].index], of: name, { $0.name }) {
            try connection.execute(index.statement)
        }
    }

    /// Tells whether a table's indexes wait for rows of a later mapping model.
    private func waits(_ table: String) throws(MigrationError) -> Bool {
        guard filling.defersEmptyIndexes else { return false }
        return try !connection.hasRows(table)
    }

    /// Returns the indexes of an entity table that are to be made now: pages have not filled them.
    private func missingIndexes(of table: Int) throws(MigrationError) -> [StoreIndex] {
        guard !knowledge.indexed.contains(table), try !waits(schema.tables[table].name) else { return [] }
        knowledge.indexed.insert(table)
        return try unmade(schema.indexes[table], of: schema.tables[table].name) { $0.name }
    }

    /// Returns the indexes that a table has not got, and makes room to build them.
    private func unmade<Index>(
        _ indexes: [Index], of table: String, _ name: (Index) -> String
    ) throws(MigrationError) -> [Index] {
        let present = try indexNames(of: table)
        let missing = indexes.filter { !present.contains(name($0)) }
        // SQLite sorts in the memory of the page writer's sorts.
        if !missing.isEmpty { filling.indexSorts?.space.release() }
        return missing
    }

    /// Prepares an entity table for rows that may break its uniqueness constraints: its unique indexes are dropped until
    /// ``createIndexes(table:leavingOut:)``.
    ///
    /// - Returns: false if the table itself has a constraint, in the form of older frameworks: see ``loosen(table:)``.
    package func prepareDuplicates(table: Int) throws(MigrationError) -> Bool {
        try prepareUpdates(table: table)
        return try !AbsentIndexes.hasOwnConstraint(schema.tables[table].name, connection)
    }

    /// Replaces an entity table by one without its own uniqueness constraints. Such a store is only for reading.
    ///
    /// - Complexity: O(rows).
    package func loosen(table: Int) throws(MigrationError) {
        try beginTransaction()
        let name = schema.tables[table].name
        let indexes = try AbsentIndexes(takingFrom: name, connection)
        let old = SQLName.quoted(name)
        let loose = SQLName.quoted("stagecoach_loose_" + name)
        let key = try connection.integer("SELECT 1 FROM pragma_table_info(\(SQLName.literal(name))) WHERE pk > 1")
        precondition(key == nil, "an entity table has one key column")
        let columns = try connection.texts(
            "SELECT name FROM pragma_table_info(\(SQLName.literal(name))) ORDER BY cid"
        ).map { SQLName.quoted($0) + ($0.uppercased() == "Z_PK" ? " INTEGER PRIMARY KEY" : "") }
        // Values are copied in stored form: columns without a type convert none.
        try connection.execute("CREATE TABLE \(loose) (\(columns.joined(separator: ", ")))")
        try connection.execute("INSERT INTO \(loose) SELECT * FROM \(old)")
        try connection.execute("DROP TABLE \(old); ALTER TABLE \(loose) RENAME TO \(old)")
        knowledge.absent[name, default: AbsentIndexes()].join(indexes)
    }
}
