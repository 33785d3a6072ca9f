import Diagnostics

/// Tables of a store that are no part of its model, and that a migration leaves behind.
package struct ForeignTables: Sendable, Equatable {
    /// Names that are told.
    static let most = 20

    /// Tables of CloudKit mirroring, which begins anew with a migrated copy.
    package var mirroring = 0
    /// Others, by name, ``most`` at the most.
    package var names: [String] = []
    /// How many there are beside those that are named.
    package var furtherCount = 0
}

extension SourceStore {
    /// The tables that belong neither to the model nor to Core Data's own bookkeeping, history and R-trees.
    ///
    /// - Throws: `store.damaged`, `store.io`.
    /// - Complexity: O(tables).
    package func foreignTables(beside layout: StoreLayout) throws(MigrationError) -> ForeignTables {
        var known: Set<String> = [
            "Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE", "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING",
        ]
        for table in layout.tables { known.insert(table.name.uppercased()) }
        for table in layout.joinTables { known.insert(table.name.uppercased()) }
        return try blamingData { () throws(MigrationError) in
            var found = ForeignTables()
            let statement = try connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            while try statement.step() {
                guard let name = statement.text(0) else { continue }
                let upper = name.uppercased()
                if known.contains(upper) || upper.hasPrefix("SQLITE_") || upper.hasPrefix("Z_RT_") { continue }
                if upper.hasPrefix("ANSCK") {
                    found.mirroring += 1
                } else if found.names.count < ForeignTables.most {
                    found.names.append(name)
                } else {
                    found.furtherCount += 1
                }
            }
            return found
        }
    }
}
