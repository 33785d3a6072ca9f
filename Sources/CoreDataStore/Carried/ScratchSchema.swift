import CSQLite
import Diagnostics

/// A database in memory with a destination's tables and no rows. It compiles statements of a source, so that SQLite decides
/// whether they fit.
final class ScratchSchema {
    private let connection: Connection
    private let schema: StoreSchema
    /// The modules of virtual tables that are part of SQLite and keep their content in the file.
    private static let modules: Set<String> = ["rtree", "rtree_i32", "fts3", "fts4", "fts5"]
    /// The most unknown functions and collations that are defined as stand-ins for one statement.
    private static let mostUnknown = 64

    init(_ schema: StoreSchema) throws(MigrationError) {
        self.schema = schema
        connection = try Connection(
            path: ":memory:",
            flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX)
        if let handle = connection.handle {
            _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0)
            // Statements are compiled as the app's connection would. There are no rows over which they could run.
            _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1)
        }
        for statement in schema.tableStatements() + schema.fixedTableStatements() { try connection.execute(statement) }
    }

    func close() { try? connection.close() }

    /// Compiles the candidates and adds each to the objects taken over or left behind: first indexes, virtual tables and views,
    /// then triggers, which may name them.
    func check(
        _ candidates: [CarriedCandidate], source: SourceStore, into carried: inout CarriedObjects
    ) throws(MigrationError) {
        for candidate in candidates where candidate.object.kind == .index { checkIndex(candidate, into: &carried) }
        for candidate in candidates where candidate.object.kind == .virtualTable {
            try checkVirtualTable(candidate, among: candidates, source, into: &carried)
        }
        for kind in [ForeignObject.Kind.view, .trigger] {
            var waiting = candidates.filter { $0.object.kind == kind }
            var reasons: [String: String] = [:]
            // An object may need another one that comes later, so try again as long as one succeeds.
            while true {
                var left: [CarriedCandidate] = []
                for candidate in waiting {
                    do throws(CarriedRefusal) {
                        try compile(candidate)
                        carried.objects.append(.init(made: candidate.object))
                    } catch {
                        reasons[candidate.object.name] = error.reason
                        left.append(candidate)
                    }
                }
                guard left.count < waiting.count else { break }
                waiting = left
            }
            for candidate in waiting {
                carried.left.append((candidate.object, reasons[candidate.object.name] ?? "it does not compile"))
            }
        }
    }

    // MARK: - Statements

    /// Runs a CREATE statement. Afterwards the schema either has the object with this name and text, or is unchanged.
    private func create(_ object: ForeignObject) throws(CarriedRefusal) {
        try sqlite { () throws(MigrationError) in
            let statement = try self.connection.prepare(object.sql)
            try statement.run()
        }
        let made = try sqlite { () throws(MigrationError) in
            try self.connection.integer(
                "SELECT count(*) FROM sqlite_master WHERE name = \(SQLName.literal(object.name)) "
                    + "AND sql = \(SQLName.literal(object.sql))")
        }
        // A statement that was put into a file by hand may make something else.
        guard made == 1 else { throw CarriedRefusal(reason: "its text does not make it") }
    }

    /// Runs a body and turns SQLite's refusal into a reason.
    private func sqlite<Result>(_ body: () throws(MigrationError) -> Result) throws(CarriedRefusal) -> Result {
        do { return try body() } catch {
            let message = connection.handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? error.message
            throw CarriedRefusal(reason: "SQLite says: \(message.prefix(200))")
        }
    }

    private func drop(_ object: ForeignObject) {
        let kind = object.kind == .virtualTable ? "TABLE" : object.kind.rawValue.uppercased()
        try? connection.execute("DROP \(kind) IF EXISTS \(SQLName.quoted(object.name))")
    }

    private func checkIndex(_ candidate: CarriedCandidate, into carried: inout CarriedObjects) {
        let object = candidate.object
        do throws(CarriedRefusal) {
            try create(object)
            carried.objects.append(.init(made: object, breaks: try uniqueness(candidate)))
        } catch {
            drop(object)
            carried.left.append((object, error.reason))
        }
    }

    /// Returns a query that finds rows that violate a unique index.
    private func uniqueness(_ candidate: CarriedCandidate) throws(CarriedRefusal) -> String? {
        let object = candidate.object
        return try sqlite { () throws(MigrationError) in
            let list = try self.connection.prepare(
                "SELECT l.\"unique\", l.partial FROM pragma_index_list(\(SQLName.literal(object.subject))) AS l "
                    + "WHERE l.name = \(SQLName.literal(object.name))")
            guard try list.step(), list.integer(0) == 1 else { return nil }
            let columns = try self.connection.rows(
                "SELECT name, coll FROM pragma_index_xinfo(\(SQLName.literal(object.name))) WHERE key ORDER BY seqno"
            ) { term throws(MigrationError) -> String? in
                guard let name = term.text(0) else {
                    throw MigrationError("store.sqlite", .data, "an expression that has to be unique")
                }
                return "\(SQLName.quoted(name)) COLLATE \(SQLName.quoted(term.text(1) ?? "BINARY"))"
            }
            var condition = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
            if list.integer(1) == 1, let place = object.sql.ranges(of: /\)\s*WHERE\s/.ignoresCase()).last {
                condition += " AND (\(object.sql[place.upperBound...]))"
            }
            return "SELECT 1 FROM \(SQLName.quoted(object.subject)) WHERE \(condition) "
                + "GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 1"
        }
    }

    private func checkVirtualTable(
        _ candidate: CarriedCandidate, among candidates: [CarriedCandidate], _ source: SourceStore,
        into carried: inout CarriedObjects
    ) throws(MigrationError) {
        let object = candidate.object
        do throws(CarriedRefusal) {
            guard let module = candidate.tokens.module, Self.modules.contains(module) else {
                throw CarriedRefusal(reason: "its module is not one of SQLite's own")
            }
            var fill = fill(object, module, candidate.tokens)
            if fill.isEmpty {
                fill =
                    candidates.lazy.filter { $0.object.kind == .trigger && self.isTable($0.object.subject) }
                    .compactMap { TreeTrigger.fill($0.object.sql, object.name, $0.object.subject) }.first.map { [$0] }
                    ?? []
            }
            guard !fill.isEmpty else { throw CarriedRefusal(reason: "no trigger tells what rows it has") }
            if module.hasPrefix("fts") {
                // Nothing is left to be written when the store is closed.
                let name = SQLName.quoted(object.name)
                fill.append("INSERT INTO \(name)(\(name)) VALUES('optimize')")
            }
            try create(object)
            for sql in fill { _ = try sqlite { () throws(MigrationError) in try self.connection.execute(sql) } }
            carried.objects.append(.init(made: object, fill: fill))
        } catch {
            drop(object)
            let rows = try source.rows(ofVirtualTable: object.name).map { ", with \($0.counted("row"))" } ?? ""
            carried.left.append((object, error.reason + rows))
        }
    }

    /// Returns the statements that fill a full-text table over a table of the model from that table.
    private func fill(_ object: ForeignObject, _ module: String, _ tokens: SQLTokens) -> [String] {
        guard module.hasPrefix("fts"), let content = tokens.contentTable, isTable(content) else { return [] }
        let name = SQLName.quoted(object.name)
        return ["INSERT INTO \(name)(\(name)) VALUES('rebuild')"]
    }

    private func isTable(_ name: String) -> Bool {
        schema.tables.contains { $0.name.uppercased() == name.uppercased() }
            || schema.joinTables.contains { $0.name.uppercased() == name.uppercased() }
    }

    /// Creates a view or a trigger and compiles a statement that uses it. Functions that only the app has are replaced by
    /// stand-ins.
    private func compile(_ candidate: CarriedCandidate) throws(CarriedRefusal) {
        let object = candidate.object
        do throws(CarriedRefusal) {
            try create(object)
            let uses = try uses(candidate)
            for unknown in 0...Self.mostUnknown {
                do throws(CarriedRefusal) {
                    _ = try sqlite { () throws(MigrationError) in try self.connection.prepare(uses) }
                    return
                } catch {
                    guard unknown < Self.mostUnknown, makeUp(error.reason) else { throw error }
                }
            }
        } catch {
            drop(object)
            throw error
        }
    }

    /// Returns a statement for which SQLite has to compile an object.
    private func uses(_ candidate: CarriedCandidate) throws(CarriedRefusal) -> String {
        let object = candidate.object
        guard object.kind == .trigger else { return "SELECT * FROM \(SQLName.quoted(object.name))" }
        let subject = SQLName.quoted(object.subject)
        switch candidate.tokens.triggerEvent {
        case "INSERT": return "INSERT INTO \(subject) DEFAULT VALUES"
        case "DELETE": return "DELETE FROM \(subject)"
        case "UPDATE":
            let columns = try sqlite { () throws(MigrationError) in
                try self.connection.texts("SELECT name FROM pragma_table_info(\(SQLName.literal(object.subject)))")
            }
            let cells = columns.map(SQLName.quoted).map { "\($0) = \($0)" }
            return "UPDATE \(subject) SET \(cells.joined(separator: ", "))"
        default: throw CarriedRefusal(reason: "its text is not understood")
        }
    }

    /// Defines a stand-in for a function or a collation that SQLite does not know, because only the app has it.
    ///
    /// - Returns: false if SQLite refused for another reason.
    private func makeUp(_ reason: String) -> Bool {
        if let name = reason.firstMatch(of: /no such function: (.+)$/).map({ String($0.1) }) {
            return sqlite3_create_function_v2(
                connection.handle, name, -1, SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, nil,
                { context, _, _ in sqlite3_result_null(context) }, nil, nil, nil) == SQLITE_OK
        }
        if let name = reason.firstMatch(of: /no such collation sequence: (.+)$/).map({ String($0.1) }) {
            return sqlite3_create_collation_v2(connection.handle, name, SQLITE_UTF8, nil, { _, _, _, _, _ in 0 }, nil)
                == SQLITE_OK
        }
        return false
    }
}

extension SourceStore {
    /// Returns the number of rows of a virtual table, from the tables in which it keeps its content, without running its code.
    /// Returns nil if they do not show it.
    func rows(ofVirtualTable name: String) throws(MigrationError) -> Int64? {
        for end in ["_rowid", "_docsize", "_content"] where try connection.hasTable(name + end) {
            return try integer("SELECT count(*) FROM \(SQLName.quoted(name + end))")
        }
        return nil
    }
}
