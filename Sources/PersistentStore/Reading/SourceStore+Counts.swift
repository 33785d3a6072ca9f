import Diagnostics

extension SourceStore {
    /// Rows of an entity table.
    ///
    /// - Complexity: O(pages of the table).
    package func count(table: Int, in layout: StoreLayout) throws(MigrationError) -> Int64 {
        try blamingData { () throws(MigrationError) in
            try connection.integer("SELECT count(*) FROM \(layout.tables[table].name.quoted)") ?? 0
        }
    }

    /// Rows of a join table.
    package func count(joinTable: Int, in layout: StoreLayout) throws(MigrationError) -> Int64 {
        try blamingData { () throws(MigrationError) in
            try connection.integer("SELECT count(*) FROM \(layout.joinTables[joinTable].name.quoted)") ?? 0
        }
    }

    /// Rows of an entity table by entity.
    ///
    /// - Complexity: O(rows), along the index on Z_ENT where the table has one.
    package func counts(table: Int, in layout: StoreLayout) throws(MigrationError) -> TableCounts {
        let source = layout.tables[table]
        let column = source.columns[EntityTable.entityColumn].quoted
        return try blamingData { () throws(MigrationError) in
            let statement = try connection.prepare(
                "SELECT \(column), count(*) FROM \(source.name.quoted) GROUP BY \(column)")
            var counts = TableCounts()
            while try statement.step() {
                let number = Int(statement.integer(0))
                if let entity = layout.entity(inTable: table, forFileNumber: number) {
                    counts.byEntity[entity, default: 0] += statement.integer(1)
                } else {
                    counts.strays[number, default: 0] += statement.integer(1)
                }
            }
            return counts
        }
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
