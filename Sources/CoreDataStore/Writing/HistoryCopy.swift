import CSQLite
import Diagnostics

/// Carries a store's persistent history over to a fresh store: transactions unchanged, changes with the entity numbers of the
/// destination.
///
/// Tables and indexes keep the form of the source (SampleModel2_V1: `ACHANGE`, `ATRANSACTION`, `ATRANSACTIONSTRING`), which
/// matches the framework version in the metadata. Memory: a row.
package struct HistoryCopy {
    /// The destination of the changes of an entity's objects.
    package struct Target: Sendable {
        /// The Z_ENT in the destination.
        package let number: Int
        /// True if the set of changed properties still means the same.
        package let keepsColumns: Bool

        package init(number: Int, keepsColumns: Bool) {
            self.number = number
            self.keepsColumns = keepsColumns
        }
    }

    /// The Z_ENT from which the framework's own entities are numbered: CHANGE, TRANSACTION, TRANSACTIONSTRING.
    private static let firstNumber = 16000
    private static let changes = "ACHANGE"
    private static let tables = [changes, "ATRANSACTION", "ATRANSACTIONSTRING"]

    private let source: SourceStore
    private let targets: [Int: Target]
    /// False if the tables stay empty.
    private let carriesRows: Bool

    /// - Parameter targets: the targets by Z_ENT in the source. Changes of other entities are left out with the entity. Nil
    ///   copies the tables alone, as in a store whose history was deleted: the next transaction gets an unused number.
    package init(of source: SourceStore, targets: [Int: Target]?) {
        self.source = source
        self.targets = targets ?? [:]
        carriesRows = targets != nil
    }

    /// Returns the number of transactions in a store's history; 0 if it has none.
    package static func transactions(of source: SourceStore) throws(MigrationError) -> Int64 {
        guard try source.connection.hasTable("ATRANSACTION") else { return 0 }
        return try source.integer("SELECT count(*) FROM ATRANSACTION") ?? 0
    }

    /// Makes the tables, their rows if they are carried over, their indexes, and the rows of Z_PRIMARYKEY.
    ///
    /// - Throws: `store.damaged` (65) for tables that are not those of persistent history; `store.full`, `store.io`.
    func run(into destination: Connection) throws(MigrationError) {
        do throws(MigrationError) {
            for table in Self.tables {
                guard try source.connection.hasTable(table) else { continue }
                try copy(table, to: destination)
            }
            for table in Self.tables {
                for sql in try statements("index", of: table) { try destination.execute(sql) }
            }
        } catch {
            // Nothing is lost with tables that are not Core Data's.
            guard !carriesRows, error.code == "store.damaged" else { throw error }
            for table in Self.tables { try destination.execute("DROP TABLE IF EXISTS \(table)") }
            return
        }
        guard try destination.hasTable(Self.changes) else { return }
        try destination.insert(
            source.primaryKeys.filter { $0.number > Self.firstNumber && Self.tables.contains("A" + $0.name) })
    }

    private func statements(_ type: String, of table: String) throws(MigrationError) -> [String] {
        let found = try source.connection.texts(
            "SELECT sql FROM sqlite_master WHERE type = '\(type)' AND tbl_name = \(SQLName.literal(table)) AND sql IS NOT NULL ORDER BY rowid LIMIT 64"
        )
        for sql in found {
            let beginnings =
                type == "table" ? ["CREATE TABLE \(table) ("] : ["CREATE INDEX ", "CREATE UNIQUE INDEX "]
            // Statements from a file are run only if they have the exact form that Core Data uses.
            let characters = sql.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "A"..."Z", "a"..."z", "0"..."9", "_", " ", "(", ")", ",": true
                default: false
                }
            }
            guard characters, beginnings.contains(where: sql.hasPrefix), !sql.uppercased().contains(" SELECT ") else {
                throw MigrationError(
                    "store.damaged", .data, "The table \(table) of persistent history is not Core Data's: \(sql)",
                    remedy: "Leave the history behind with --history drop", context: .init(path: source.path))
            }
        }
        return found
    }

    private func copy(_ table: String, to destination: Connection) throws(MigrationError) {
        guard let sql = try statements("table", of: table).first else { return }
        try destination.execute(sql)
        guard carriesRows else { return }
        let rows = try source.connection.prepare("SELECT * FROM \(table) ORDER BY Z_PK")
        let count = sqlite3_column_count(rows.handle)
        var entityColumn: Int32?
        var columnsColumn: Int32?
        for column in 0..<count where table == Self.changes {
            switch sqlite3_column_name(rows.handle, column).map({ String(cString: $0) }) {
            case "ZENTITY": entityColumn = column
            case "ZCOLUMNS": columnsColumn = column
            default: break
            }
        }
        let marks = Array(repeating: "?", count: Int(count)).joined(separator: ", ")
        let insert = try destination.prepare("INSERT INTO \(table) VALUES (\(marks))")
        while try source.stepping(rows) {
            var target: Target?
            if let entityColumn {
                target = targets[Int(truncatingIfNeeded: rows.integer(entityColumn))]
                if target == nil { continue }
            }
            for column in 0..<count {
                if column == entityColumn, let target {
                    insert.bind(Int64(target.number), at: column + 1)
                } else if column == columnsColumn, target?.keepsColumns == false {
                    insert.bindNull(at: column + 1)
                } else {
                    sqlite3_bind_value(insert.handle, column + 1, sqlite3_column_value(rows.handle, column))
                }
            }
            try insert.run()
        }
    }
}
