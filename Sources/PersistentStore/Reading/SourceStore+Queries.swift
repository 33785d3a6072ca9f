import Diagnostics

extension SourceStore {
    /// Prepares a query of the snapshot, for what no reader of rows asks: counts, groups, rows that lack a partner.
    ///
    /// All statements must be gone before ``close()``.
    ///
    /// - Throws: `store.damaged` (65) where the file has not what the query names.
    package func query(_ sql: String) throws(MigrationError) -> Statement {
        try blamingData { () throws(MigrationError) in try connection.prepare(sql) }
    }
}

extension SourceStore {
    /// Steps a query; what is wrong with it is wrong with the data.
    package func stepping(_ statement: Statement) throws(MigrationError) -> Bool {
        try blamingData { () throws(MigrationError) in try statement.step() }
    }

    /// Registers the functions of texts for ``query(_:)``.
    package func addTextFunctions() throws(MigrationError) { try connection.addTextFunctions() }
}

extension StoreSchema {
    /// The CREATE INDEX terms of a table's uniqueness constraints: column indexes, entity, attributes, SQL condition.
    package func uniqueTerms(ofTable table: Int) -> [(
        columns: [Int], entity: Int, attributes: [String], condition: String?
    )] {
        indexes[table].compactMap { index in
            guard case .unique(let entity, let attributes) = index.purpose else { return nil }
            return (index.terms.map(\.column), entity, attributes, index.condition)
        }
    }
}
