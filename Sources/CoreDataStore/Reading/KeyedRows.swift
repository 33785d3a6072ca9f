import CSQLite
import Diagnostics
import Rows

extension SourceStore {
    /// Adds the rows of many keys to a batch, ascending, until the batch is full, with one statement for 64 keys.
    ///
    /// - Parameters:
    ///   - keys: ascending, without duplicates.
    ///   - streamed: slots of own columns whose values become ``HugeValue``s if they are too large to read.
    /// - Returns: the last key that was looked up. Keys up to it that are not in the batch have no row. Nil if the batch was
    ///   full before the first key.
    /// - Throws: `store.valueTooLarge`, `store.damaged`, `store.io`.
    /// - Precondition: the batch has a slot for each column.
    package func rows(
        ofKeys keys: [Int64], table: Int, columns: [SelectedColumn], in layout: StoreLayout, streamed: Set<Int> = [],
        into batch: inout RowBatch
    ) throws(MigrationError) -> Int64? {
        precondition(batch.slots == columns.count)
        let query = try SelectionQuery(table: table, columns: columns, layout: layout)
        let many = 64
        let places = (1...many).map { "?\($0)" }.joined(separator: ", ")
        let sql = query.sql(where: ["t.\"Z_PK\" IN (\(places))"], ordered: true)
        let statement = try blamingData { () throws(MigrationError) in try pool.take(sql) }
        defer { pool.give(statement, sql: sql) }
        let handle = statement.handle
        var asked: Int64?
        var next = 0
        while next < keys.count {
            let chunk = keys[next..<min(keys.count, next + many)]
            for place in 0..<many {
                // Unused parameters repeat a key.
                statement.bind(chunk[chunk.startIndex + min(place, chunk.count - 1)], at: Int32(place) + 1)
            }
            while true {
                let code = sqlite3_step(handle)
                if code == SQLITE_DONE { break }
                guard code == SQLITE_ROW else {
                    statement.reset()
                    if code & 0xff == SQLITE_TOOBIG, !streamed.isEmpty {
                        // A row of the chunk has a huge value, so the rest of the chunk is read row by row.
                        let single = try PointReader(
                            self, table: table, columns: columns, in: layout, streamed: streamed)
                        for key in chunk where asked.map({ key > $0 }) ?? true {
                            if batch.isFull { return asked }
                            _ = try single.fetch(key, into: &batch)
                            asked = key
                        }
                        break
                    }
                    if code & 0xff == SQLITE_TOOBIG {
                        throw tooLarge(table: table, after: asked, columns: columns, layout: layout)
                    }
                    throw failure(code, reading: layout.tables[table].name)
                }
                if batch.isFull {
                    statement.reset()
                    return asked
                }
                let key = sqlite3_column_int64(handle, 0)
                let row = batch.appendRow(key: key)
                for slot in 0..<columns.count
                where !batch.read(handle, column: Int32(slot) + 1, row: row, slot: slot) {
                    batch.removeLastRow()
                    statement.reset()
                    throw failure(SQLITE_NOMEM, reading: layout.tables[table].name)
                }
                asked = key
            }
            statement.reset()
            asked = chunk.last
            next += chunk.count
        }
        return asked
    }
}
