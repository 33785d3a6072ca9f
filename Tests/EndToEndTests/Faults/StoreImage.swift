import CSQLite
import CoreDataStore
import TestSupport

/// The contents of a store, whatever its pages: its schema's statements and every table's rows.
struct StoreImage: Equatable, Sendable {
    /// Statements by name.
    let schema: [String: String]
    /// By table: rows as SQL literals, in order of all their values.
    let rows: [String: [String]]

    /// Reads a store. Nothing is made beside it.
    ///
    /// - Throws: where SQLite finds it damaged.
    init(of path: String) throws {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let check = try connection.prepare("PRAGMA integrity_check(1)")
        guard try check.step(), check.text(0) == "ok" else { throw Damage(message: check.text(0) ?? "nothing") }
        var schema: [String: String] = [:]
        var rows: [String: [String]] = [:]
        let names = try connection.prepare("SELECT type || ' ' || name, coalesce(sql, ''), name FROM sqlite_master")
        while try names.step() {
            let kind = names.text(0) ?? ""
            schema[kind] = names.text(1)
            guard kind.hasPrefix("table "), let table = names.text(2) else { continue }
            rows[table] = try Self.rows(of: table, connection)
        }
        self.schema = schema
        self.rows = rows
    }

    private static func rows(of table: String, _ connection: Connection) throws -> [String] {
        var columns: [String] = []
        let names = try connection.prepare("SELECT name FROM pragma_table_info('\(table)')")
        while try names.step() { columns.append("quote(\"\(names.text(0) ?? "")\")") }
        return try connection.firstColumn("SELECT \(columns.joined(separator: "||','||")) FROM \"\(table)\" ORDER BY 1")
    }

    func differences(_ other: StoreImage?) -> [String] {
        guard let other else { return ["no store"] }
        var found = Set(schema.keys).symmetricDifference(other.schema.keys).sorted()
        found += schema.keys.filter { other.schema[$0] != nil && schema[$0] != other.schema[$0] }.sorted()
        for (table, own) in rows.sorted(by: { $0.key < $1.key }) {
            guard let others = other.rows[table], others != own else { continue }
            let (more, less) = (Set(others).subtracting(own), Set(own).subtracting(others))
            found.append(
                "\(table): \(own.count) rows and \(others.count), \(more.count) new: \(more.first?.prefix(120) ?? ""), "
                    + "\(less.count) gone: \(less.first?.prefix(120) ?? "")")
        }
        return found
    }

    struct Damage: Error, CustomStringConvertible {
        let message: String
        var description: String { "SQLite's integrity check says: \(message)" }
    }
}
