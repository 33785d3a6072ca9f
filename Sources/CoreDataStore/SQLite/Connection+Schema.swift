import Diagnostics

/// The tables and indexes of a file, as its schema tells them.
///
/// The pragmas are asked as such: their table-valued forms take several times as long to prepare, which counts in small stores.
extension Connection {
    /// An index of a table.
    struct TableIndex {
        let name: String
        /// The maker of the index: `c` a statement, `u` a constraint, `pk` the primary key.
        let origin: String
        /// True if it has the rows of a condition only.
        let isPartial: Bool
    }

    /// A column of an index.
    struct IndexColumn {
        /// The number of the table's column; -1 for the row's own number, -2 for an expression.
        let place: Int64
        /// The name of the column; empty for an expression and the row's own number.
        let name: String
        /// True if it is sorted ascending by the bytes of texts.
        let isPlain: Bool
        /// False for what SQLite adds to find the row.
        let isKey: Bool
    }

    /// Returns the indexes of a table, the latest first.
    func indexes(of table: String) throws(MigrationError) -> [TableIndex] {
        try rows("PRAGMA main.index_list(\(SQLName.quoted(table)))") { row in
            TableIndex(name: row.text(1) ?? "", origin: row.text(3) ?? "", isPartial: row.integer(4) != 0)
        }
    }

    /// Returns the columns of an index in their order, also those that SQLite adds to find the row.
    func allColumns(ofIndex index: String) throws(MigrationError) -> [IndexColumn] {
        try rows("PRAGMA main.index_xinfo(\(SQLName.quoted(index)))") { row in
            IndexColumn(
                place: row.integer(1), name: row.text(2) ?? "",
                isPlain: row.integer(3) == 0 && row.text(4) == "BINARY", isKey: row.integer(5) != 0)
        }
    }

    /// Returns the names of the columns of an index, with empty ones for expressions.
    func columns(ofIndex index: String) throws(MigrationError) -> [String] {
        try allColumns(ofIndex: index).filter(\.isKey).map(\.name)
    }

    /// Returns the root page of a table or an index; nil if there is none.
    func root(of type: String, _ name: String) throws(MigrationError) -> UInt32? {
        try integer(
            "SELECT rootpage FROM sqlite_master WHERE type = '\(type)' AND name = \(SQLName.literal(name)) COLLATE NOCASE"
        ).flatMap { UInt32(exactly: $0) }
    }

    /// Returns the number of the schema's state, which SQLite changes with every change of the schema.
    func schemaVersion() throws(MigrationError) -> Int64 { try integer("PRAGMA main.schema_version") ?? 0 }

    func hasRows(_ table: String) throws(MigrationError) -> Bool {
        try integer("SELECT 1 FROM \(SQLName.quoted(table)) LIMIT 1") != nil
    }
}

/// The tables and indexes of a file, read from its schema at once. They hold as long as the schema stays what it was.
struct FileSchema {
    private var roots: [String: UInt32] = [:]
    /// The names of the indexes by their table, whose name is folded. Those of a table's own constraints are left out.
    private var indexes: [String: Set<String>] = [:]

    init(_ connection: Connection) throws(MigrationError) {
        let rows = try connection.rows(
            "SELECT name, rootpage, tbl_name, type = 'index' AND sql IS NOT NULL FROM sqlite_master WHERE rootpage > 0"
        ) { row in
            (row.text(0) ?? "", UInt32(exactly: row.integer(1)), row.text(2) ?? "", row.integer(3) == 1)
        }
        for (name, root, table, isIndex) in rows {
            if let root, roots[name] == nil { roots[name] = root }
            if isIndex { indexes[SQLName.folded(table), default: []].insert(name) }
        }
    }

    /// Returns the root page of a table or index with exactly this name; nil if there is none.
    subscript(name: String) -> UInt32? { roots[name] }

    /// Returns the root page of a table or index; nil if there is none. The name's letter case does not matter.
    ///
    /// - Parameters:
    ///   - type: `table` or `index`.
    ///   - connection: asked if no table or index has exactly this name.
    func root(of type: String, _ name: String, _ connection: Connection) throws(MigrationError) -> UInt32? {
        if let root = roots[name] { return root }
        return try connection.root(of: type, name)
    }

    /// Returns the names of a table's indexes, without those of its own constraints.
    func indexNames(of table: String) -> Set<String> { indexes[SQLName.folded(table)] ?? [] }
}
