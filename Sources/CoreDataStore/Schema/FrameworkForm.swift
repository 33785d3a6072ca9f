/// The statements that a framework version makes for a schema.
///
/// Fresh stores are written only in today's form. The few differences of older frameworks are reproduced here, so that
/// everything else can be compared byte by byte (moody 2 to 5, wire up to 2-31, artsy).
struct FrameworkForm {
    /// The build of the framework, NSPersistenceFrameworkVersion.
    let version: Int64
    /// The schema, with the clauses that the version makes.
    let schema: StoreSchema

    init(version: Int64, schema: StoreSchema) {
        self.version = version
        // Frameworks up to 641 wrote uniqueness constraints into the table.
        self.schema = version > 641 ? schema : schema.withClauses()
    }

    /// Frameworks below 800 had no fetch indexes: `indexed="YES"` and compound indexes had a form of their own.
    var hasFetchIndexes: Bool { version >= 800 }
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
        return found
    }

    /// The CREATE INDEX statements by name.
    var indexes: [String: String] {
        var found: [String: String] = [:]
        for (table, indexes) in zip(schema.tables, schema.indexes) {
            for index in indexes where index.clause == nil {
                let sql = statement(of: index, on: table)
                found[Self.name(of: sql)] = sql
            }
        }
        for index in schema.joinTables.map(\.index) where !isBefore2015 { found[index.name] = index.statement }
        return found
    }

    /// Returns the CREATE INDEX statement of an index of a table.
    func statement(of index: StoreIndex, on table: EntityTable) -> String {
        guard case .fetch = index.purpose, !hasFetchIndexes else { return index.statement(on: table) }
        let columns = index.terms.map(table.name(of:))
        let name = "\(table.name)_\(columns.joined(separator: "_"))\(columns.count == 1 ? "_INDEX" : "")"
        return "CREATE INDEX \(name) ON \(table.name) (\(columns.joined(separator: ", ")))"
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

extension StoreSchema {
    /// Returns the schema with all uniqueness constraints in the statements of their tables.
    fileprivate func withClauses() -> StoreSchema {
        var schema = self
        for table in indexes.indices {
            for index in indexes[table].indices where indexes[table][index].isUnique {
                schema.indexes[table][index].clause = indexes[table][index].clause ?? .table
            }
        }
        return schema
    }
}
