import DatabasePages
import Diagnostics

extension SourceStore {
    /// Returns the number of rows of an entity table.
    ///
    /// - Complexity: O(pages of the table).
    package func count(table: Int, in layout: StoreLayout) throws(MigrationError) -> Int64 {
        try blamingData { () throws(MigrationError) in
            let name = layout.tables[table].name
            // Counts like SQLite, along the smallest index if there is one, but reads many pages at once and bypasses SQLite's
            // cache.
            if readsPages, replaced[name.uppercased()] == nil {
                let pages = try openPages()
                if let file = pages.file,
                    let count = try PublishedRows.count(name, in: file, connection, pages.schema(connection))
                {
                    return count
                }
            }
            return try connection.integer("SELECT count(*) FROM \(name.quoted)") ?? 0
        }
    }

    /// Returns the number of rows of a join table.
    package func count(joinTable: Int, in layout: StoreLayout) throws(MigrationError) -> Int64 {
        try integer("SELECT count(*) FROM \(layout.joinTables[joinTable].name.quoted)") ?? 0
    }

    /// Estimates the number of rows of a join table by its highest rowid, which is exact if no rows were deleted.
    ///
    /// - Complexity: O(log rows).
    package func estimatedCount(joinTable: Int, in layout: StoreLayout) throws(MigrationError) -> Int {
        let highest = try integer("SELECT max(rowid) FROM \(layout.joinTables[joinTable].name.quoted)")
        return Int(min(max(0, highest ?? 0), 1 << 40))
    }

    /// Returns the number of rows of an entity table by entity.
    ///
    /// It counts row by row instead of with GROUP BY, which would sort the whole table without an index on Z_ENT.
    ///
    /// - Complexity: O(rows) time, along the index on Z_ENT if the table has one; O(entities) memory.
    package func counts(table: Int, in layout: StoreLayout) throws(MigrationError) -> TableCounts {
        let source = layout.tables[table]
        let column = source.columns[EntityTable.entityColumn].quoted
        return try blamingData { () throws(MigrationError) in
            let statement = try connection.prepare("SELECT \(column) FROM \(source.name.quoted)")
            var counts = TableCounts()
            var number = 0
            var run: Int64 = 0
            func add() {
                guard run > 0 else { return }
                if let entity = layout.entity(inTable: table, forFileNumber: number) {
                    counts.byEntity[entity, default: 0] += run
                } else {
                    counts.strays[number, default: 0] += run
                }
            }
            while try statement.step() {
                let next = Int(statement.integer(0))
                if next != number {
                    add()
                    number = next
                    run = 0
                }
                run += 1
            }
            add()
            return counts
        }
    }

    /// Returns the entity of a row; nil if the row does not exist or has no entity of the table.
    ///
    /// - Parameter inFile: true to read the file's row, also if ``SourceChanges`` deleted it since.
    /// - Complexity: O(log rows).
    package func entity(
        ofKey key: Int64, table: Int, in layout: StoreLayout, inFile: Bool = false
    ) throws(MigrationError) -> Int? {
        let source = layout.tables[table]
        let column = source.columns[EntityTable.entityColumn].quoted
        let name = (inFile ? "main." : "") + source.name.quoted
        let number = try integer("SELECT \(column) FROM \(name) WHERE \"Z_PK\" = \(key)")
        return number.flatMap { layout.entity(inTable: table, forFileNumber: Int(truncatingIfNeeded: $0)) }
    }

    /// Returns the greatest key of an entity table; nil if it is empty.
    ///
    /// - Complexity: O(log rows).
    package func greatestKey(table: Int, in layout: StoreLayout) throws(MigrationError) -> Int64? {
        try integer("SELECT max(\"Z_PK\") FROM \(layout.tables[table].name.quoted)")
    }
}

/// The numbers of rows of an entity table.
package struct TableCounts: Sendable, Equatable {
    /// The number of rows by entity index. Entities without rows are absent.
    package var byEntity: [Int: Int64] = [:]
    /// The number of rows without an entity of the table, by their Z_ENT; NULL counts as 0.
    package var strays: [Int: Int64] = [:]
}
