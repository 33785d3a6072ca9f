import Diagnostics

/// References from new rows to rows that were in the store before.
package enum NewReferences {
    /// The references in a column of an entity table, in rows after a key.
    case column(table: Int, column: Int, after: Int64)
    /// The references in one side of a join table, in rows whose other side is after a key.
    case join(joinTable: Int, side: Int, after: Int64)
}

extension DestinationStore {
    /// Increments Z_OPT of the rows that new ones refer to, once for each row.
    ///
    /// - Parameters:
    ///   - last: the greatest key of the older rows.
    ///   - references: the places of the references.
    /// - Complexity: O(new rows), O(the join tables), and an update by key for each row found.
    package func raiseLocks(
        table: Int, through last: Int64, referredToBy references: [NewReferences]
    ) throws(MigrationError) {
        guard !references.isEmpty else { return }
        let keys = references.map { reference in
            switch reference {
            case .column(let table, let column, let after):
                let name = SQLName.quoted(schema.tables[table].columns[column].name)
                return "SELECT \(name) FROM \(SQLName.quoted(schema.tables[table].name)) WHERE Z_PK > \(after)"
            case .join(let joinTable, let side, let after):
                let sides = schema.joinTables[joinTable].sides.map { SQLName.quoted($0.column) }
                return "SELECT \(sides[side]) FROM \(SQLName.quoted(schema.joinTables[joinTable].name)) "
                    + "WHERE \(sides[1 - side]) > \(after)"
            }
        }
        try beginTransaction()
        try connection.execute(
            "UPDATE \(SQLName.quoted(schema.tables[table].name)) SET Z_OPT = coalesce(Z_OPT, 0) + 1 "
                + "WHERE Z_PK <= \(last) AND Z_PK IN (\(keys.joined(separator: " UNION ")))")
    }
}
