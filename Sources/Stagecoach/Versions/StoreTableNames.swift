import CoreDataStore
import Diagnostics
import ManagedModel

/// The names of a store's entity and join tables, with their columns. They identify a version if hashes do not.
struct StoreTableNames {
    private let columns: [String: Set<String>]

    /// Reads the tables of a store.
    ///
    /// - Throws: `store.…`, the errors of reading the file.
    /// - Complexity: O(tables and columns).
    init(_ store: SourceStore) throws(MigrationError) {
        let connection = try Connection.openSource(path: store.path, vfs: .standard)
        let statement = try connection.prepare(
            """
            SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c
            WHERE m.type = 'table' AND m.name GLOB 'Z*'
            """)
        var columns: [String: Set<String>] = [:]
        while try statement.step() {
            guard let table = statement.text(0), let column = statement.text(1), !Self.fixed.contains(table) else {
                continue
            }
            columns[table, default: []].insert(column)
        }
        self.columns = columns
    }

    private static let fixed: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]

    /// Returns the differences from a store of a model, each as a sentence without a full stop; empty for none.
    ///
    /// The order of columns does not count: stores that were altered in place have new columns at the end.
    func differences(from model: ManagedObjectModel) -> [String] {
        let schema = StoreSchema(model: model)
        var remaining = columns
        var lines: [String] = []
        for table in schema.tables {
            let expected = Set(table.columns.map(\.name)).union(["Z_PK"])
            guard let found = remaining.removeValue(forKey: table.name) else {
                lines.append("the store has no table \(table.name)")
                continue
            }
            lines += Self.differences(table.name, expected, found)
        }
        for join in schema.joinTables {
            guard
                let found = remaining.removeValue(forKey: join.name)
                    ?? join.alternativeName.flatMap({ remaining.removeValue(forKey: $0) })
            else {
                lines.append("the store has no table \(join.name)")
                continue
            }
            // Column names follow from entity numbers, which the store's own numbering may have shifted.
            if found.count != join.sides.reduce(0, { $0 + ($1.orderColumn == nil ? 1 : 2) }) {
                lines.append("the table \(join.name) has other columns")
            }
        }
        return lines + remaining.keys.sorted().map { "the store has a table \($0), the model has none" }
    }

    private static func differences(_ table: String, _ expected: Set<String>, _ found: Set<String>) -> [String] {
        expected.subtracting(found).sorted().map { "the table \(table) has no column \($0)" }
            + found.subtracting(expected).sorted().map { "the table \(table) has a column \($0), the model has none" }
    }
}
