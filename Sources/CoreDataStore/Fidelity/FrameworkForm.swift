/// The statements that a framework version makes for a schema.
///
/// Fresh stores are written only in today's form. The few differences of older frameworks are reproduced here, so that
/// everything else can be compared byte by byte (moody 2 to 5, wire up to 2-31, artsy).
struct FrameworkForm {
    /// The build of the framework, NSPersistenceFrameworkVersion.
    let version: Int64
    let schema: StoreSchema

    /// Frameworks below 800 had no fetch indexes: `indexed="YES"` and compound indexes had a form of their own.
    private var hasFetchIndexes: Bool { version >= 800 }
    /// Framework 637 wrote uniqueness constraints into the table.
    private var hasUniqueIndexes: Bool { version > 641 }
    /// Frameworks up to 519 made no index on join tables and no model cache.
    private var isBefore2015: Bool { version <= 519 }
    var hasJoinIndexes: Bool { !isBefore2015 }

    /// The CREATE TABLE statements by name.
    var tables: [String: String] {
        var found: [String: String] = [:]
        for sql in schema.tableStatements() + schema.fixedTableStatements() { found[Self.name(of: sql)] = sql }
        for sql in schema.trees.compactMap({ $0.statements(on: schema.tables[$0.table]).first }) {
            found[Self.name(of: sql)] = sql
        }
        if isBefore2015 { found["Z_MODELCACHE"] = nil }
        if !hasUniqueIndexes {
            for (table, indexes) in zip(schema.tables, schema.indexes) {
                let clauses = indexes.filter(\.isUnique).map { index in
                    let columns = index.terms.map { table.columns[$0.column].name }
                    return ", CONSTRAINT \(columns.joined(separator: "_")) UNIQUE (\(columns.joined(separator: ", ")))"
                }
                guard !clauses.isEmpty, let sql = found[table.name] else { continue }
                found[table.name] = sql.dropLast(2) + clauses.joined() + ")"
            }
        }
        return found
    }

    /// The CREATE INDEX statements by name.
    var indexes: [String: String] {
        var found: [String: String] = [:]
        for (table, indexes) in zip(schema.tables, schema.indexes) {
            for index in indexes {
                let columns = index.terms.map(table.name(of:))
                var sql = index.statement(on: table)
                switch index.purpose {
                case .fetch where !hasFetchIndexes:
                    let end = columns.count == 1 ? "_INDEX" : ""
                    let name = "\(table.name)_\(columns.joined(separator: "_"))\(end)"
                    sql = "CREATE INDEX \(name) ON \(table.name) (\(columns.joined(separator: ", ")))"
                case .unique where !hasUniqueIndexes: continue
                default: break
                }
                found[Self.name(of: sql)] = sql
            }
        }
        for index in schema.joinTables.map(\.index) where !isBefore2015 { found[index.name] = index.statement }
        return found
    }

    /// The CREATE TRIGGER statements by name.
    var triggers: [String: String] {
        let trees = schema.trees.flatMap { $0.statements(on: schema.tables[$0.table]).dropFirst() }
        return Dictionary(
            (schema.triggerStatements + trees).map { (Self.name(of: $0), $0) },
            uniquingKeysWith: { first, _ in first })
    }

    /// Returns the name in a CREATE statement, without quotes.
    static func name(of sql: String) -> String {
        let words = sql.split(separator: " ", maxSplits: 4)
        guard words.count > 3 else { return sql }
        let rest = sql[(["UNIQUE", "VIRTUAL"].contains(words[1]) ? words[3] : words[2]).startIndex...]
        guard rest.first == "\"" else { return String(rest.prefix { $0 != " " }) }
        // A quote in a quoted name is doubled.
        var name = ""
        var isQuote = false
        for character in rest.dropFirst() {
            if isQuote {
                guard character == "\"" else { break }
                name.append(character)
                isQuote = false
            } else if character == "\"" {
                isQuote = true
            } else {
                name.append(character)
            }
        }
        return name
    }
}
