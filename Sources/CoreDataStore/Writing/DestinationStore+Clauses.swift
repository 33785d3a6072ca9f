import Diagnostics

/// Uniqueness constraints that the source has in the statements of its tables.
extension DestinationStore {
    /// Moves such constraints from indexes of their own into the statements of their tables.
    ///
    /// While rows come, each has an index of its own, which can be filled by pages, dropped and built. SQLite's own index of a
    /// clause has the same entries under another name and without a statement, so only rows of the schema change.
    ///
    /// - Complexity: O(clauses).
    func moveUniqueClauses() throws(MigrationError) {
        let tables = schema.tables.indices.filter { table in
            schema.indexes[table].contains { $0.clause != nil }
        }
        guard !tables.isEmpty else { return }
        let version = try connection.schemaVersion()
        try connection.execute("PRAGMA writable_schema=ON")
        for table in tables { try moveClauses(ofTable: table) }
        try connection.execute("PRAGMA schema_version=\(version + 1); PRAGMA writable_schema=RESET")
    }

    private func moveClauses(ofTable table: Int) throws(MigrationError) {
        let name = schema.tables[table].name
        let present = try indexNames(of: name)
        let clauses = schema.indexes[table].filter { $0.clause != nil }
        // An index that is not there cannot become that of a clause.
        guard clauses.allSatisfy({ present.contains($0.name) }) else { return }
        let sql = SQLName.literal(schema.statement(ofTable: table, withClauses: true))
        try connection.execute(
            "UPDATE sqlite_master SET sql = \(sql) WHERE type = 'table' AND name = \(SQLName.literal(name))")
        // SQLite counts the clauses of columns in the order of these, then those of the table.
        let ofColumns = clauses.filter { $0.clause == .column }.sorted { $0.terms[0].column < $1.terms[0].column }
        for (number, clause) in (ofColumns + clauses.filter { $0.clause == .table }).enumerated() {
            try connection.execute(
                "UPDATE sqlite_master SET name = \(SQLName.literal("sqlite_autoindex_\(name)_\(number + 1)")), sql = NULL "
                    + "WHERE type = 'index' AND name = \(SQLName.literal(clause.name))")
        }
    }
}
