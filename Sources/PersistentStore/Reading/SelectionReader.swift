import CSQLite
import Diagnostics
import Rows

extension SourceStore {
    /// Reads a selection's rows in ascending key order.
    ///
    /// - Throws: `store.tooManyPaths`, `store.damaged`.
    /// - Complexity: O(rows of the key range), no sort; memory of one row beside the batch.
    package func rows(_ selection: RowSelection, in layout: StoreLayout) throws(MigrationError) -> SelectionReader {
        let query = try SelectionQuery(table: selection.table, columns: selection.columns, layout: layout)
        var conditions: [String] = []
        if selection.afterKey != nil { conditions.append("t.\"Z_PK\" > ?1") }
        if selection.throughKey != nil { conditions.append("t.\"Z_PK\" <= ?2") }
        let inTable = layout.schema.tables[selection.table].entities
        // In a table of a single entity Z_ENT says nothing: see StoreLayout.entity(inTable:forFileNumber:).
        if let entities = selection.entities, entities.isEmpty || inTable.count > 1 {
            let numbers = entities.map { String(layout.fileNumber(ofEntity: $0)) }.joined(separator: ", ")
            let column = layout.tables[selection.table].columns[EntityTable.entityColumn].quoted
            conditions.append("+t.\(column) IN (\(numbers))")
        }
        let sql = query.sql(where: conditions, ordered: true)
        let statement = try blamingData { () throws(MigrationError) in try connection.prepare(sql) }
        if let after = selection.afterKey { statement.bind(after, at: 1) }
        if let through = selection.throughKey { statement.bind(through, at: 2) }
        return SelectionReader(store: self, statement: statement, selection: selection, layout: layout)
    }
}

/// Rows of one table, streamed by key.
package final class SelectionReader: RowReader {
    private let store: SourceStore
    private let statement: Statement
    private let selection: RowSelection
    private let layout: StoreLayout
    private var lastKey: Int64?
    private var isFinished = false

    init(store: SourceStore, statement: Statement, selection: RowSelection, layout: StoreLayout) {
        self.store = store
        self.statement = statement
        self.selection = selection
        self.layout = layout
        lastKey = selection.afterKey
    }

    /// - Precondition: the batch has one slot for each selected column.
    package func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        precondition(batch.slots == selection.columns.count)
        let handle = statement.handle
        let slots = batch.slots
        while !isFinished, !batch.isFull {
            let code = sqlite3_step(handle)
            if code == SQLITE_DONE {
                isFinished = true
                statement.reset()
                break
            }
            guard code == SQLITE_ROW else { throw failure(code) }
            let key = sqlite3_column_int64(handle, 0)
            // A damaged tree may give keys again or out of order, without end.
            if let lastKey, key <= lastKey {
                isFinished = true
                throw MigrationError(
                    "store.damaged", .data, "The rows of \(layout.tables[selection.table].name) are not in key order",
                    remedy: "Run PRAGMA integrity_check on a copy", context: store.context(selection.table, key, layout)
                )
            }
            lastKey = key
            let row = batch.appendRow(key: key)
            for slot in 0..<slots
            where !batch.read(handle, column: Int32(truncatingIfNeeded: slot) + 1, row: row, slot: slot) {
                throw failure(SQLITE_NOMEM)
            }
        }
        return !batch.isEmpty
    }

    private func failure(_ code: Int32) -> MigrationError {
        isFinished = true
        if code & 0xff == SQLITE_TOOBIG {
            return store.tooLarge(table: selection.table, after: lastKey, columns: selection.columns, layout: layout)
        }
        let error = SQLiteFailure.error(
            store.connection.handle, code: code, doing: "Reading \(layout.tables[selection.table].name)",
            path: store.path)
        return SourceStore.blamingData(error)
            .inside(.init(entity: layout.schema.model.entity(at: layout.schema.tables[selection.table].root).name))
    }
}

extension SourceStore {
    /// Where a row is.
    func context(_ table: Int, _ key: Int64, _ layout: StoreLayout) -> MigrationError.Context {
        let entity = layout.schema.model.entity(at: layout.schema.tables[table].root).definition.name
        return .init(path: path, entity: entity, objectID: "\(entity)/p\(key)")
    }

    /// The error for a value above the limit: finds the row after a key, and its largest value without reading it.
    func tooLarge(table: Int, after: Int64?, columns: [SelectedColumn], layout: StoreLayout) -> MigrationError {
        let source = layout.tables[table]
        let condition = after.map { " WHERE \"Z_PK\" > \($0)" } ?? ""
        var best: (key: Int64, column: Int, bytes: Int)?
        // Rows of other entities lie between; the first one with a value above the limit is meant.
        if let keys = try? connection.prepare(
            "SELECT \"Z_PK\" FROM \(source.name.quoted) NOT INDEXED\(condition) ORDER BY \"Z_PK\" LIMIT 100000")
        {
            while best == nil, (try? keys.step()) == true {
                let key = keys.integer(0)
                for case .own(let column) in columns {
                    let bytes = size(source.name, source.columns[column], key)
                    if bytes > valueLimit, bytes > best?.bytes ?? 0 { best = (key, column, bytes) }
                }
            }
        }
        guard let best else {
            return MigrationError(
                "store.valueTooLarge", .configuration,
                "A value of the table \(source.name) or of a related row is larger than \(valueLimit) bytes",
                remedy: "Give the command a higher --memory-limit",
                context: .init(
                    path: path,
                    entity: layout.schema.model.entity(at: layout.schema.tables[table].root).definition.name))
        }
        var place = context(table, best.key, layout)
        if case .attribute(let reference) = layout.schema.tables[table].columns[best.column].role {
            place.property = reference.name
        }
        return MigrationError(
            "store.valueTooLarge", .configuration,
            "The value in \(source.name).\(source.columns[best.column]) has \(best.bytes) bytes, the limit is "
                + "\(valueLimit)",
            remedy: limitNeeded.map { "Give --memory-limit \($0(best.bytes))M or more" }
                ?? "Allow values of \(best.bytes) bytes", context: place)
    }

    /// Bytes of a text or blob as stored, not read; 0 for another kind.
    private func size(_ table: String, _ column: String, _ key: Int64) -> Int {
        var blob: OpaquePointer?
        defer { sqlite3_blob_close(blob) }
        guard sqlite3_blob_open(connection.handle, "main", table, column, key, 0, &blob) == SQLITE_OK else { return 0 }
        return Int(sqlite3_blob_bytes(blob))
    }
}
