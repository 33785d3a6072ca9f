/// The tables of every store beside those of its model.
enum FixedTables {
    static let names = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]

    /// The statements of every known store. Unlike entity tables, they have no blanks inside the parentheses.
    static let statements = [
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
        "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
        "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)",
    ]
}

extension StoreSchema {
    /// Returns the CREATE TABLE statements of a fresh store, byte for byte those of Core Data: by Z_ENT, each entity's table
    /// followed by the join tables that the entity names.
    ///
    /// The fixed tables are separate: ``fixedTableStatements()``.
    ///
    /// - Parameter hasClauses: false to leave out uniqueness constraints that stand in the statements.
    /// - Complexity: O(columns).
    package func tableStatements(withClauses hasClauses: Bool = true) -> [String] {
        var statements: [String] = []
        var joins = joinTables[...]
        for number in 1...max(1, entityNumbers.count) {
            guard let entity = entityByNumber[number] else { continue }
            let table = tableByEntity[entity]
            if tables[table].root == entity { statements.append(statement(ofTable: table, withClauses: hasClauses)) }
            while let join = joins.first, let side = join.sides.first,
                side.relationship.entity == entity
            {
                statements.append(Self.statement(join))
                joins.removeFirst()
            }
        }
        return statements
    }

    /// Returns the CREATE TABLE statements of Z_PRIMARYKEY, Z_METADATA and Z_MODELCACHE.
    package func fixedTableStatements() -> [String] { FixedTables.statements }

    /// Returns the CREATE TABLE statement of an entity table.
    func statement(ofTable index: Int, withClauses hasClauses: Bool) -> String {
        let table = tables[index]
        let clauses = hasClauses ? indexes[index].filter { $0.clause != nil } : []
        var text = "CREATE TABLE \(SQLName.quoted(table.name)) ( Z_PK INTEGER PRIMARY KEY"
        for (place, column) in table.columns.enumerated() {
            text += ", \(SQLName.quoted(column.name)) \(column.type)"
            if clauses.contains(where: { $0.clause == .column && $0.terms[0].column == place }) { text += " UNIQUE" }
        }
        let ofTable = clauses.filter { $0.clause == .table }
        for clause in ofTable { text += ", " + clause.constraint(of: table) }
        return text + (ofTable.isEmpty ? " )" : ")")
    }

    static func statement(_ join: JoinTable) -> String {
        var text = "CREATE TABLE \(SQLName.quoted(join.name)) ( "
        for column in join.columnNames { text += "\(SQLName.quoted(column)) INTEGER, " }
        text += "PRIMARY KEY ("
        for (place, side) in join.sides.enumerated() { text += (place > 0 ? ", " : "") + SQLName.quoted(side.column) }
        return text + ") )"
    }
}

extension StoreIndex {
    /// Returns the index's columns as a clause after those of its table.
    func constraint(of table: EntityTable) -> String {
        let columns = terms.map { SQLName.quoted(table.name(of: $0)) }
        return "CONSTRAINT \(columns.joined(separator: "_")) UNIQUE (\(columns.joined(separator: ", ")))"
    }
}

extension JoinTable {
    /// All columns in the order of the CREATE statement: the two keys, then the order columns.
    package var columnNames: [String] { sides.map(\.column) + sides.compactMap(\.orderColumn) }

    /// The name and the CREATE statement of the index, with the key columns in reverse order.
    package var index: (name: String, statement: String) {
        let (first, second) = (SQLName.quoted(sides[0].column), SQLName.quoted(sides[1].column))
        let name = "\(name)_\(sides[1].column)_INDEX"
        return (name, "CREATE INDEX \(SQLName.quoted(name)) ON \(SQLName.quoted(self.name)) (\(second), \(first))")
    }
}
