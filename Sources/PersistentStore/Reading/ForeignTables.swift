import Diagnostics

/// The tables of a store that are not part of its model. A migration does not carry them over.
package struct ForeignTables: Sendable, Equatable {
    /// The greatest number of names that are kept.
    static let most = 20

    /// The number of tables of CloudKit mirroring, which starts anew in a migrated copy.
    package var mirroring = 0
    /// The names of other tables, at most ``most``.
    package var names: [String] = []
    /// The number of further tables without a kept name.
    package var furtherCount = 0
}

/// Recognises the tables that Core Data makes beside those of the model.
enum CoreDataTables {
    /// The tables of persistent history.
    static let history: Set<String> = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]

    /// Tells whether a table belongs to CloudKit mirroring.
    static func isMirroring(_ name: String) -> Bool { name.uppercased().hasPrefix("ANSCK") }

    /// Tells whether a table is SQLite's own, of persistent history, or of an R-tree index.
    static func isBookkeeping(_ name: String) -> Bool {
        let name = name.uppercased()
        return history.contains(name) || name.hasPrefix("SQLITE_") || name.hasPrefix("Z_RT_")
    }
}

extension SourceStore {
    /// Returns the tables that belong neither to the model nor to Core Data's bookkeeping, history and R-trees.
    ///
    /// - Throws: `store.damaged`, `store.io`.
    /// - Complexity: O(tables).
    package func foreignTables(beside layout: StoreLayout) throws(MigrationError) -> ForeignTables {
        var known = Set(FixedTables.names)
        for table in layout.tables { known.insert(table.name.uppercased()) }
        for table in layout.joinTables { known.insert(table.name.uppercased()) }
        return try blamingData { () throws(MigrationError) in
            var found = ForeignTables()
            let statement = try connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            while try statement.step() {
                guard let name = statement.text(0) else { continue }
                if known.contains(name.uppercased()) || CoreDataTables.isBookkeeping(name) { continue }
                if CoreDataTables.isMirroring(name) {
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
