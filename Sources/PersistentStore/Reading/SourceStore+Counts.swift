import DatabasePages
import Diagnostics

extension SourceStore {
    /// Rows of an entity table.
    ///
    /// - Complexity: O(pages of the table).
    package func count(table: Int, in layout: StoreLayout) throws(MigrationError) -> Int64 {
        try blamingData { () throws(MigrationError) in
            let name = layout.tables[table].name
            // As SQLite counts, along the smallest index where there is one; but many pages at once, and not by its cache.
            if readsPages, !repaired.contains(name.uppercased()), let file = try openPages().file {
                if let root = try indexRoot(ofTable: name) {
                    if try PairScan.isIndex(file, root: root) { return try TreeCount.entries(ofIndex: root, in: file) }
                } else if case .table(let found) = try openPages().table(name, connection) {
                    return try TreeCount.rows(ofTable: found.root, in: file)
                }
            }
            return try connection.integer("SELECT count(*) FROM \(name.quoted)") ?? 0
        }
    }

    /// The index that has a table's rows in the fewest pages; nil where none has all of them.
    private func indexRoot(ofTable name: String) throws(MigrationError) -> UInt32? {
        let query = try pool.take(PublishedRows.indexQuery)
        defer { pool.give(query, sql: PublishedRows.indexQuery) }
        return try PublishedRows.index(of: name, query)
    }

    /// Rows of a join table.
    package func count(joinTable: Int, in layout: StoreLayout) throws(MigrationError) -> Int64 {
        try blamingData { () throws(MigrationError) in
            try connection.integer("SELECT count(*) FROM \(layout.joinTables[joinTable].name.quoted)") ?? 0
        }
    }

    /// About the rows of a join table: its highest rowid, which is their number where none were deleted.
    ///
    /// - Complexity: O(log rows).
    package func estimatedCount(joinTable: Int, in layout: StoreLayout) throws(MigrationError) -> Int {
        try blamingData { () throws(MigrationError) in
            let highest = try connection.integer("SELECT max(rowid) FROM \(layout.joinTables[joinTable].name.quoted)")
            return Int(min(max(0, highest ?? 0), 1 << 40))
        }
    }

    /// Rows of an entity table by entity.
    ///
    /// Counted row by row and not by GROUP BY, which would sort the whole table where it has no index on Z_ENT.
    ///
    /// - Complexity: O(rows) time, along the index on Z_ENT where the table has one; O(entities) memory.
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

    /// The entity of a row; nil where the table has no such row, or it is of no entity of the table.
    ///
    /// - Complexity: O(log rows).
    package func entity(ofKey key: Int64, table: Int, in layout: StoreLayout) throws(MigrationError) -> Int? {
        let source = layout.tables[table]
        let column = source.columns[EntityTable.entityColumn].quoted
        let number = try blamingData { () throws(MigrationError) in
            try connection.integer("SELECT \(column) FROM \(source.name.quoted) WHERE \"Z_PK\" = \(key)")
        }
        return number.flatMap { layout.entity(inTable: table, forFileNumber: Int(truncatingIfNeeded: $0)) }
    }

    /// The greatest key of an entity table; nil where it is empty.
    ///
    /// - Complexity: O(log rows).
    package func greatestKey(table: Int, in layout: StoreLayout) throws(MigrationError) -> Int64? {
        try blamingData { () throws(MigrationError) in
            try connection.integer("SELECT max(\"Z_PK\") FROM \(layout.tables[table].name.quoted)")
        }
    }
}

/// Rows of an entity table.
package struct TableCounts: Sendable, Equatable {
    /// By entity index; entities without rows are absent.
    package var byEntity: [Int: Int64] = [:]
    /// Rows that belong to no entity of the table, by the Z_ENT they carry; NULL counts as 0.
    package var strays: [Int: Int64] = [:]

    package init(byEntity: [Int: Int64] = [:], strays: [Int: Int64] = [:]) {
        self.byEntity = byEntity
        self.strays = strays
    }
}
