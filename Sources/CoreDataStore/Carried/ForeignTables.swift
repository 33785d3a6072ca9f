import Diagnostics

/// The tables of a store that are not part of its model. A migration does not carry them over.
package struct ForeignTables: Sendable, Equatable {
    /// The greatest number of names that are kept.
    static let most = 20

    /// The names, at most ``most``.
    package var names: [String] = []
    /// The numbers of rows of the named tables; nil if they cannot be counted.
    package var rows: [Int64?] = []
    /// The number of tables beyond the named ones.
    package var furtherCount = 0
}

/// Recognises the tables that Core Data makes beside those of the model.
enum CoreDataTables {
    /// The tables of persistent history.
    static let history: Set<String> = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]

    /// Tells whether a table belongs to CloudKit mirroring.
    static func isMirroring(_ name: String) -> Bool { name.uppercased().hasPrefix("ANSCK") }

    /// Tells whether a table is SQLite's own, or of persistent history.
    static func isBookkeeping(_ name: String) -> Bool {
        let name = name.uppercased()
        return history.contains(name) || name.hasPrefix("SQLITE_")
    }

    /// Tells whether a table is one of Core Data's or SQLite's own, or one in which a virtual table keeps its content.
    ///
    /// - Parameter virtualTables: the names of virtual tables, in upper case.
    static func isOwn(_ table: String, virtual virtualTables: Set<String>) -> Bool {
        let name = table.uppercased()
        return isMirroring(name) || isBookkeeping(name)
            || shadows.contains { name.hasSuffix($0) && virtualTables.contains(String(name.dropLast($0.count))) }
    }

    /// The endings of the names of tables in which virtual tables keep their content.
    private static let shadows = [
        "_NODE", "_ROWID", "_PARENT", "_CONTENT", "_SEGMENTS", "_SEGDIR", "_DOCSIZE", "_STAT", "_DATA", "_IDX",
        "_CONFIG",
    ]
}

extension SourceStore {
    /// Returns the number of tables of CloudKit mirroring; 0 if the store is not mirrored.
    ///
    /// - Throws: `store.damaged`, `store.io`.
    package func mirroringTables() throws(MigrationError) -> Int {
        Int(
            try integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND upper(name) GLOB 'ANSCK*'") ?? 0)
    }

    /// Returns the tables that belong neither to the model nor to Core Data's own bookkeeping, history and mirroring. Virtual
    /// tables are left out.
    ///
    /// - Throws: `store.damaged`, `store.io`.
    /// - Complexity: O(tables), O(rows of the named tables).
    package func foreignTables(beside layout: StoreLayout) throws(MigrationError) -> ForeignTables {
        var known = Set(FixedTables.names)
        for table in layout.tables { known.insert(table.name.uppercased()) }
        for table in layout.joinTables { known.insert(table.name.uppercased()) }
        return try blamingData { () throws(MigrationError) in
            var found = ForeignTables()
            let virtual = try connection.virtualTables()
            for name in try connection.texts("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            where !known.contains(name.uppercased()) && !virtual.contains(name.uppercased())
                && !CoreDataTables.isOwn(name, virtual: virtual)
            {
                if found.names.count < ForeignTables.most {
                    found.names.append(name)
                    found.rows.append(try? connection.integer("SELECT count(*) FROM \(SQLName.quoted(name))"))
                } else {
                    found.furtherCount += 1
                }
            }
            return found
        }
    }
}
