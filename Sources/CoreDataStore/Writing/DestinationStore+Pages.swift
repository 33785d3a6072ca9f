import CSQLite
import DatabasePages
import Diagnostics
import SpillStorage

/// The place and the memory for sorting the indexes of a table while its rows are written.
package struct IndexSorts {
    let directory: WorkDirectory
    /// The memory in bytes for all indexes of a table together.
    package var memory: Int {
        didSet {
            guard memory != oldValue else { return }
            // Copies of this value may keep the old space alive.
            space.release()
            space = SortSpace(byteCount: memory)
        }
    }
    /// The memory that the sorts of one table after the other use.
    private(set) var space: SortSpace

    /// The least memory of one sort in bytes. Indexes without that much are left to SQLite.
    static let leastMemory = 256 << 10

    package init(directory: WorkDirectory, memory: Int) {
        self.directory = directory
        self.memory = memory
        space = SortSpace(byteCount: memory)
    }
}

/// Fills tables by pages, below the connection and between its transactions.
extension DestinationStore {
    /// An index that a sort may fill.
    struct SortableIndex {
        let name: String
        let statement: String
        let isUnique: Bool
        let terms: [IndexTerm]
    }

    /// Ends the transaction. The next write begins another.
    package func endTransaction() throws(MigrationError) {
        if sqlite3_get_autocommit(connection.handle) == 0 { try connection.execute("COMMIT") }
    }

    func beginTransaction() throws(MigrationError) {
        guard sqlite3_get_autocommit(connection.handle) != 0 else { return }
        if wantsJournal, !hasJournal {
            // The journal mode can change only between transactions. The end of a transaction must be on the disk before pages
            // are written that no checkpoint describes. Truncating the journal is synced, and deleting it is not.
            try connection.execute("PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=FULL")
            hasJournal = true
        }
        // Nobody else uses the file. ``hasChanges`` tells a transaction that has written from one that has not.
        try connection.execute("BEGIN")
    }

    /// True if the transaction has written anything.
    package var hasChanges: Bool { sqlite3_txn_state(connection.handle, "main") == SQLITE_TXN_WRITE }

    /// Ends the transaction and releases the file's lock, so that pages may be written.
    func letGo() throws(MigrationError) {
        try endTransaction()
        guard !sharesFile else { return }
        // The mode changes at the next access to the file.
        try connection.execute("PRAGMA locking_mode=NORMAL; SELECT 1 FROM sqlite_master")
        sharesFile = true
    }

    /// Tells whether a table can be filled by pages: it is empty, and its only indexes are those made in advance and that of a
    /// join table's primary key.
    func canWritePages(_ table: String, isIndexed: Bool) throws(MigrationError) -> Bool {
        guard filling.writesPages, !isAppending, try !connection.hasRows(table) else { return false }
        guard isIndexed else { return true }
        return try connection.indexes(of: table).allSatisfy { $0.origin == "pk" }
    }

    /// Returns the names of a table's indexes, without those of its own constraints. If the table is not in
    /// ``Knowledge/indexed`` yet, they were made in advance, and contain the rows that exist.
    func indexNames(of table: String) throws(MigrationError) -> Set<String> {
        try fileSchema().indexNames(of: table)
    }

    /// Returns the file's tables and indexes as they are now.
    private func fileSchema() throws(MigrationError) -> FileSchema {
        let version = try connection.schemaVersion()
        if let knownSchema, knownSchema.version == version { return knownSchema.schema }
        let schema = try FileSchema(connection)
        knownSchema = (version, schema)
        return schema
    }

    /// Drops the indexes made in advance for a table whose indexes are to be built after its rows are inserted.
    func dropIndexesAhead(of table: String) throws(MigrationError) {
        for name in try indexNames(of: table).sorted() {
            try beginTransaction()
            try connection.execute("DROP INDEX \(SQLName.quoted(name))")
        }
    }

    /// Makes the indexes of all tables that may be filled by pages, before the first table is filled. Made later, they would
    /// cost each table a synced transaction of its own.
    private func makeIndexesAhead() throws(MigrationError) {
        guard !hasIndexesAhead else { return }
        hasIndexesAhead = true
        let before = try fileSchema()
        func make(_ indexes: [SortableIndex], _ table: String, isIndexed: Bool) throws(MigrationError) {
            guard !isIndexed, !indexes.isEmpty, try canWritePages(table, isIndexed: false) else { return }
            let present = before.indexNames(of: table)
            for index in indexes where !present.contains(index.name) { try connection.execute(index.statement) }
        }
        for (place, table) in schema.tables.enumerated() {
            try make(sortableIndexes(ofTable: place), table.name, isIndexed: knowledge.indexed.contains(place))
        }
        for (place, table) in schema.joinTables.enumerated() {
            try make(sortableIndexes(ofJoinTable: place), table.name, isIndexed: knowledge.indexedJoins.contains(place))
        }
    }

    /// Gives an empty table exactly the indexes that pages will fill, and returns these. Once states describe the file, no index
    /// is made or dropped ahead: pages fill those that are there, and SQLite builds the others after the rows.
    private func setIndexes(
        of table: String, _ indexes: [SortableIndex], among all: [SortableIndex]
    ) throws(MigrationError) -> [SortableIndex] {
        if wantsJournal {
            let present = try indexNames(of: table)
            return all.filter { present.contains($0.name) }
        }
        try makeIndexesAhead()
        let present = try indexNames(of: table)
        // An index of an empty table costs nothing; only its root page is needed.
        let statements =
            present.subtracting(indexes.map(\.name)).sorted().map { "DROP INDEX \(SQLName.quoted($0))" }
            + indexes.filter { !present.contains($0.name) }.map(\.statement)
        for statement in statements { try connection.execute(statement) }
        return indexes
    }

    /// Returns a writer that fills a table and those of its indexes that can be sorted.
    ///
    /// - Parameters:
    ///   - indexes: the indexes for which there is memory.
    ///   - all: these, and the others that could be sorted.
    func pageWriter(
        of table: String, isKeyed: Bool, _ affinities: [ColumnAffinity], entity: String, indexes: [SortableIndex],
        among all: [SortableIndex]
    ) throws(MigrationError) -> PageTableWriter {
        var chosen: [SortableIndex] = []
        return PageTableWriter(
            path: path, entity: entity,
            checkCancelled: { () throws(MigrationError) in try self.checkCancelled?() },
            begin: { () throws(MigrationError) in
                try self.beginTransaction()
                chosen = try self.setIndexes(of: table, indexes, among: all)
                let target = try self.pageTarget(table, isKeyed: isKeyed, affinities, indexes: chosen)
                try self.letGo()
                return target
            },
            end: { filled throws(MigrationError) in
                try self.beginTransaction()
                // Drop them now, because a query would use an empty index.
                for index in chosen where !filled.contains(index.name) {
                    try self.connection.execute("DROP INDEX IF EXISTS \(SQLName.quoted(index.name))")
                }
            })
    }

    /// Returns the indexes of an entity table that cover all its rows, as many as the memory allows.
    func sortableIndexes(ofTable table: Int) -> [SortableIndex] {
        guard let indexSorts = filling.indexSorts else { return [] }
        return Array(allSortableIndexes(ofTable: table).prefix(indexSorts.memory / IndexSorts.leastMemory))
    }

    /// Returns the indexes of an entity table that cover all its rows.
    func allSortableIndexes(ofTable table: Int) -> [SortableIndex] {
        guard filling.indexSorts != nil else { return [] }
        let description = schema.tables[table]
        return schema.indexes[table].compactMap { index -> SortableIndex? in
            guard index.condition == nil, !index.terms.isEmpty, index.terms.count <= IndexSorter.mostTerms,
                !index.terms.contains(where: { $0.column == StoreIndex.Term.key })
            else { return nil }
            let terms = index.terms.map { term in
                IndexTerm(
                    slot: term.column, affinity: ColumnAffinity(declaredType: description.columns[term.column].type),
                    isAscending: term.isAscending)
            }
            return SortableIndex(
                name: index.name, statement: index.statement(on: description), isUnique: index.isUnique, terms: terms)
        }
    }

    /// Returns the index of a join table's second column.
    func sortableIndexes(ofJoinTable table: Int) -> [SortableIndex] {
        guard filling.indexSorts != nil else { return [] }
        let join = schema.joinTables[table]
        let most = join.sides.map { side -> Int64? in
            let entity = schema.model.entity(at: side.relationship.entity)
            return filling.expectedKeys.map { $0[schema.tableIndex(of: entity)] }
        }
        // A batch has the sides' key columns first.
        let terms = [1, 0].map {
            IndexTerm(slot: $0, affinity: .integer, isAscending: true, mostExpected: most[$0])
        }
        return [SortableIndex(name: join.index.name, statement: join.index.statement, isUnique: false, terms: terms)]
    }

    /// Returns the description of a table that a page writer needs.
    private func pageTarget(
        _ table: String, isKeyed: Bool, _ affinities: [ColumnAffinity], indexes: [SortableIndex]
    ) throws(MigrationError) -> PageTableWriter.Target {
        let file = try fileSchema()
        func root(of name: String) throws(MigrationError) -> UInt32 {
            if let root = file[name] { return root }
            throw MigrationError("store.damaged", .internal, "\(name) has no root page", context: .init(path: path))
        }
        var target = PageTableWriter.Target(
            name: table, root: try root(of: table), affinities: affinities, isKeyed: isKeyed, primary: nil, indexes: [])
        for index in indexes {
            guard let indexSorts = filling.indexSorts else { break }
            target.indexes.append(
                .init(
                    name: index.name, root: try root(of: index.name), slots: index.terms.map(\.slot),
                    sorter: IndexSorter(
                        terms: index.terms, isUnique: index.isUnique, directory: indexSorts.directory,
                        memory: indexSorts.memory / indexes.count, space: indexSorts.space)))
        }
        // The key of an entity table is the number of its rows. That of a join table has an index of its own.
        guard !isKeyed else { return target }
        if let primary = try connection.indexes(of: table).first(where: { $0.origin == "pk" }) {
            let slots = try connection.allColumns(ofIndex: primary.name).filter(\.isKey).map { Int($0.place) }
            if slots.count == 2 { target.primary = (try root(of: primary.name), (slots[0], slots[1])) }
        }
        return target
    }
}
