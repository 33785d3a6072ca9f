import Diagnostics

extension SourceStore {
    /// Prepares a query of the snapshot that no reader of rows serves: counts, groups, rows without a partner.
    ///
    /// All statements must be released before ``close()``.
    ///
    /// - Throws: `store.damaged` (65) if the file lacks a name in the query.
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
    /// Returns the terms of a table's unique indexes: column indexes, entity, attributes, SQL condition.
    package func uniqueTerms(ofTable table: Int) -> [(
        columns: [Int], entity: Int, attributes: [String], condition: String?
    )] {
        indexes[table].compactMap { index in
            guard case .unique(let entity, let attributes) = index.purpose else { return nil }
            return (index.terms.map(\.column), entity, attributes, index.condition)
        }
    }
}
