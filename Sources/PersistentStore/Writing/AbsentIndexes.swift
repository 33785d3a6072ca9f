import Diagnostics
import ManagedModel

/// The indexes of a table that are away while many rows come, to be built again as they were.
struct AbsentIndexes {
    private struct Index {
        let statement: String
        let isUnique: Bool
        let columns: [String]
    }

    private var indexes: [Index] = []

    /// Drops a table's indexes, or the unique ones. Those that belong to a constraint of the table itself stay.
    init(takingFrom table: String, _ connection: Connection, onlyUnique: Bool = false) throws(MigrationError) {
        let list = try connection.prepare(
            "SELECT m.name, m.sql, l.\"unique\" FROM sqlite_master AS m "
                + "JOIN pragma_index_list(\(SQLName.literal(table))) AS l ON l.name = m.name "
                + "WHERE m.type = 'index' AND m.sql IS NOT NULL\(onlyUnique ? " AND l.\"unique\"" : "") ORDER BY m.rowid"
        )
        var names: [String] = []
        while try list.step() {
            guard let name = list.text(0), let statement = list.text(1) else { continue }
            names.append(name)
            indexes.append(
                Index(
                    statement: statement, isUnique: list.integer(2) == 1,
                    columns: try Self.columns(of: name, connection)))
        }
        list.reset()
        for name in names { try connection.execute("DROP INDEX \(SQLName.quoted(name))") }
    }

    private static func columns(of index: String, _ connection: Connection) throws(MigrationError) -> [String] {
        let info = try connection.prepare("PRAGMA index_info(\(SQLName.literal(index)))")
        var columns: [String] = []
        while try info.step() { columns.append(info.text(2) ?? "") }
        return columns
    }

    /// Builds the indexes again.
    ///
    /// - Throws: `validation.uniqueness` (65) where rows break a uniqueness constraint of an entity table.
    func rebuild(
        _ connection: Connection, table: EntityTable? = nil, model: ManagedObjectModel? = nil
    ) throws(MigrationError) {
        for index in indexes {
            do throws(MigrationError) {
                try connection.execute(index.statement)
            } catch {
                guard error.code == "store.constraint", index.isUnique, let table, let model,
                    let violation = UniquenessViolation(columns: index.columns, table, model)
                else { throw error }
                throw try violation.error(connection, cause: error)
            }
        }
    }
}
