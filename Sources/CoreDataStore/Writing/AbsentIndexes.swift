import Diagnostics
import ManagedModel
import SpillStorage

/// The indexes of a table that are dropped while many rows are inserted, and rebuilt unchanged afterwards.
package struct AbsentIndexes: Equatable, Sendable, StateCodable {
    private struct Index: Equatable, Sendable {
        var statement: String
        var isUnique: Bool
        var columns: [String]
    }

    private var indexes: [Index] = []

    /// Drops a table's indexes, or only the unique ones. Indexes that belong to a constraint of the table itself stay.
    init(takingFrom table: String, _ connection: Connection, onlyUnique: Bool = false) throws(MigrationError) {
        let sql =
            "SELECT m.name, m.sql, l.\"unique\" FROM sqlite_master AS m "
            + "JOIN pragma_index_list(\(SQLName.literal(table))) AS l ON l.name = m.name "
            + "WHERE m.type = 'index' AND m.sql IS NOT NULL\(onlyUnique ? " AND l.\"unique\"" : "") ORDER BY m.rowid"
        let found = try connection.rows(sql) { row in (row.text(0) ?? "", row.text(1) ?? "", row.integer(2) == 1) }
        for (name, statement, isUnique) in found {
            let columns = try connection.columns(ofIndex: name)
            indexes.append(Index(statement: statement, isUnique: isUnique, columns: columns))
        }
        for (name, _, _) in found { try connection.execute("DROP INDEX \(SQLName.quoted(name))") }
    }

    package init() {}

    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(list: &indexes, empty: Index(statement: "", isUnique: false, columns: [])) {
            coder, index throws(MigrationError) in
            try coder.code(&index, \.statement, \.isUnique, \.columns)
        }
    }

    /// Rebuilds the indexes.
    ///
    /// - Parameters:
    ///   - table: the entity table; nil for a join table.
    ///   - duplicates: called for the index of each uniqueness constraint that rows break, which is left out; nil: such rows are
    ///   an error.
    /// - Throws: `validation.uniqueness` (65) if rows break a uniqueness constraint of an entity table.
    func rebuild(
        _ connection: Connection, table: EntityTable? = nil, model: ManagedObjectModel,
        leavingOut duplicates: (() -> Void)? = nil
    ) throws(MigrationError) {
        for index in indexes {
            try Self.build(
                index.statement, unique: index.isUnique ? index.columns : nil, of: table, connection,
                leavingOut: duplicates
            ) { table.flatMap { UniquenessViolation(columns: index.columns, $0, model) } }
        }
    }

    /// Builds an index, or calls `duplicates` instead if that is not nil and rows break the index's uniqueness.
    ///
    /// - Parameters:
    ///   - columns: the columns of a unique index; nil for other indexes.
    ///   - violation: makes the violation of the constraint of a unique index.
    static func build(
        _ statement: String, unique columns: [String]?, of table: EntityTable?, _ connection: Connection,
        leavingOut duplicates: (() -> Void)?, violation: () -> UniquenessViolation?
    ) throws(MigrationError) {
        if let duplicates, let columns, let table, try hasDuplicates(in: table.name, columns: columns, connection) {
            return duplicates()
        }
        do throws(MigrationError) { try connection.execute(statement) } catch {
            guard error.code == "store.constraint", columns != nil, let violation = violation() else { throw error }
            throw try violation.error(connection, cause: error)
        }
    }

    mutating func join(_ others: AbsentIndexes) { indexes += others.indexes }

    /// Tells whether rows share all values of some columns. A row with a NULL among them never does.
    private static func hasDuplicates(
        in table: String, columns: [String], _ connection: Connection
    ) throws(MigrationError) -> Bool {
        let names = columns.map(SQLName.quoted)
        return try connection.integer(
            "SELECT 1 FROM \(SQLName.quoted(table)) WHERE "
                + names.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
                + " GROUP BY \(names.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 1") != nil
    }

    /// Tells whether a table has uniqueness constraints of its own, as older frameworks wrote them.
    static func hasOwnConstraint(_ table: String, _ connection: Connection) throws(MigrationError) -> Bool {
        try connection.indexes(of: table).contains { $0.origin == "u" }
    }
}
