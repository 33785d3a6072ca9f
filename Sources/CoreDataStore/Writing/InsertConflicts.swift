import Diagnostics
import ManagedModel
import Rows

/// Names the objects that a refused row of an appended table conflicts with. Framework 1044 and later write uniqueness
/// constraints as unique indexes, older ones as a UNIQUE clause of the table; both are searched.
struct InsertConflicts {
    let connection: Connection
    let table: EntityTable
    let model: ManagedObjectModel

    /// Returns the error for the first refused row among some rows.
    ///
    /// - Parameter cause: SQLite's error.
    /// - Returns: nil if no row conflicts by a constraint of the model.
    /// - Complexity: an index lookup for each constraint and row. It runs only after a failure.
    func error(
        _ batch: borrowing RowBatch, rows: Range<Int>, cause: MigrationError
    ) throws(MigrationError) -> MigrationError? {
        for columns in try constraints() {
            guard let violation = UniquenessViolation(columns: columns, table, model) else { continue }
            let slots = columns.compactMap { name in
                table.columns.firstIndex { $0.name.uppercased() == name.uppercased() }
            }
            let same = violation.columns.enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: " AND ")
            let select = try connection.prepare(
                "SELECT Z_PK FROM \(violation.table) WHERE \(same) AND Z_PK <> ?1 LIMIT 1")
            for row in rows {
                select.bind(batch.key(row), at: 1)
                for (position, slot) in slots.enumerated() {
                    select.bind(batch[row, slot], of: batch, at: Int32(position + 2))
                }
                let found: Int64? = try select.step() ? select.integer(0) : nil
                select.reset()
                if let found {
                    return try describe(violation, key: batch.key(row), other: found, cause: cause)
                }
                if let other = twin(of: row, in: rows, slots, batch) {
                    return try describe(violation, key: batch.key(row), other: other, cause: cause)
                }
            }
        }
        return nil
    }

    /// Returns the columns of each uniqueness constraint of the file, in either form.
    private func constraints() throws(MigrationError) -> [[String]] {
        try connection.texts(
            "SELECT name FROM pragma_index_list(\(SQLName.literal(table.name))) WHERE \"unique\" ORDER BY seq"
        ).map { name throws(MigrationError) in try connection.columns(ofIndex: name) }
    }

    /// Returns the key of an earlier row of the same statement with the same values.
    private func twin(of row: Int, in rows: Range<Int>, _ slots: [Int], _ batch: borrowing RowBatch) -> Int64? {
        for other in rows.lowerBound..<row {
            var isSame = true
            for slot in slots where isSame {
                let (one, two) = (batch[row, slot], batch[other, slot])
                isSame =
                    one.kind == .real && two.kind == .real
                    ? one.realValue == two.realValue : !one.isNull && batch.isEqual(one, to: two, of: batch)
            }
            if isSame { return batch.key(other) }
        }
        return nil
    }

    private func describe(
        _ violation: UniquenessViolation, key: Int64, other: Int64, cause: MigrationError
    ) throws(MigrationError) -> MigrationError {
        let values = try violation.values(connection, key: other)
        return violation.error(
            "An object has the same \(violation.shown(values)) as another, which must be unique: "
                + "\(violation.entity)/p\(other) has it, \(violation.entity)/p\(key) would", connection, key: key,
            cause: cause)
    }
}
