import CSQLite
import Diagnostics
import Rows

extension SourceStore {
    /// Reads a selection's rows in ascending key order: from the file's pages if ``readsPages`` is true and the file and the
    /// selection allow it, else through SQLite.
    ///
    /// - Throws: `store.tooManyPaths`, `store.damaged`.
    /// - Complexity: O(rows of the key range), no sort; memory of one row beside the batch, and for pages as `TableScan`.
    package func rows(_ selection: RowSelection, in layout: StoreLayout) throws(MigrationError) -> any RowReader {
        guard let reader = try pageReader(selection, in: layout) else {
            return try SelectionReader(self, selection, in: layout)
        }
        guard comparesReaders else { return reader }
        return ComparedReader(
            reader, slots: selection.columns.count, place: { batch, row in .init(first: batch.key(row)) },
            context: { [self] batch, row, slot in
                let place = context(selection.table, batch.key(row), layout)
                guard selection.columns.indices.contains(slot), case .own(let column) = selection.columns[slot] else {
                    return ("a column", place)
                }
                return (layout.tables[selection.table].columns[column], place)
            },
            rows: { [self] after, last throws(MigrationError) in
                var window = selection
                window.afterKey = after?.first ?? selection.afterKey
                window.throughKey = last.first
                return try SelectionReader(self, window, in: layout)
            })
    }

    /// Returns the Z_ENT values of a selection's rows; nil if they are not restricted.
    func entityNumbers(_ selection: RowSelection, in layout: StoreLayout) -> [Int]? {
        // In a table with a single entity Z_ENT has no meaning: see StoreLayout.entity(inTable:forFileNumber:).
        guard let entities = selection.entities,
            entities.isEmpty || layout.schema.tables[selection.table].entities.count > 1
        else { return nil }
        return entities.map { layout.fileNumber(ofEntity: $0) }
    }

    fileprivate func statement(_ selection: RowSelection, in layout: StoreLayout) throws(MigrationError) -> Statement {
        let query = try SelectionQuery(table: selection.table, columns: selection.columns, layout: layout)
        var conditions: [String] = []
        if selection.afterKey != nil { conditions.append("t.\"Z_PK\" > ?1") }
        if selection.throughKey != nil { conditions.append("t.\"Z_PK\" <= ?2") }
        if let entities = entityNumbers(selection, in: layout) {
            let numbers = entities.map(String.init).joined(separator: ", ")
            let column = layout.tables[selection.table].columns[EntityTable.entityColumn].quoted
            conditions.append("+t.\(column) IN (\(numbers))")
        }
        let sql = query.sql(where: conditions, ordered: true)
        let statement = try self.query(sql)
        if let after = selection.afterKey { statement.bind(after, at: 1) }
        if let through = selection.throughKey { statement.bind(through, at: 2) }
        return statement
    }
}

final class SelectionReader: RowReader {
    private let store: SourceStore
    private var statement: Statement
    private let selection: RowSelection
    private let layout: StoreLayout
    @exclusivity(unchecked) private var lastKey: Int64?
    @exclusivity(unchecked) private var isFinished = false

    init(_ store: SourceStore, _ selection: RowSelection, in layout: StoreLayout) throws(MigrationError) {
        self.store = store
        self.selection = selection
        self.layout = layout
        lastKey = selection.afterKey
        statement = try store.statement(selection, in: layout)
    }

    /// - Precondition: the batch has one slot for each selected column.
    func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        precondition(batch.slots == selection.columns.count)
        var handle = statement.handle
        let slots = batch.slots
        let isUTF8 = store.isUTF8
        while !isFinished, !batch.isFull {
            let code = sqlite3_step(handle)
            if code == SQLITE_DONE {
                isFinished = true
                statement.reset()
                break
            }
            if code & 0xff == SQLITE_TOOBIG, !selection.streamed.isEmpty {
                try readHuge(into: &batch)
                handle = statement.handle
                continue
            }
            guard code == SQLITE_ROW else { throw failure(code) }
            // The connection has no mutex and one thread.
            let key = sqlite3_value_int64(sqlite3_column_value(handle, 0))
            // A damaged tree may return keys again or out of order, endlessly.
            if let lastKey, key <= lastKey {
                isFinished = true
                throw store.damaged(
                    "The rows of \(layout.tables[selection.table].name) are not in key order",
                    store.context(selection.table, key, layout))
            }
            lastKey = key
            let cells = batch.appendRowToFill(key: key)
            for slot in 0..<slots {
                let column = Int32(truncatingIfNeeded: slot) + 1
                guard let cell = batch.cell(of: handle, column: column, isUTF8: isUTF8) else {
                    throw failure(SQLITE_NOMEM)
                }
                cells[slot] = cell
            }
        }
        return !batch.isEmpty
    }

    /// Reads the row at which the statement failed, with references for its huge values, and continues after it.
    private func readHuge(into batch: inout RowBatch) throws(MigrationError) {
        var probe = selection
        probe.columns = []
        probe.streamed = []
        probe.afterKey = lastKey
        var one = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
        guard try SelectionReader(store, probe, in: layout).next(into: &one) else { throw failure(SQLITE_TOOBIG) }
        let key = one.key(0)
        let isRead = try store.rowWithHugeValues(
            key, table: selection.table, columns: selection.columns, streamed: selection.streamed, in: layout,
            into: &batch)
        guard isRead else { throw failure(SQLITE_TOOBIG) }
        lastKey = key
        var after = selection
        after.afterKey = key
        statement = try store.statement(after, in: layout)
    }

    private func failure(_ code: Int32) -> MigrationError {
        isFinished = true
        if code & 0xff == SQLITE_TOOBIG {
            return store.tooLarge(table: selection.table, after: lastKey, columns: selection.columns, layout: layout)
        }
        return store.failure(code, reading: layout.tables[selection.table].name)
            .inside(.init(entity: layout.schema.entityName(of: layout.schema.tables[selection.table])))
    }
}

extension SourceStore {
    func context(_ table: Int, _ key: Int64, _ layout: StoreLayout) -> MigrationError.Context {
        let entity = layout.schema.entityName(of: layout.schema.tables[table])
        var context = MigrationError.Context(path: path, entity: entity, objectID: "\(entity)/p\(key)")
        context.sourceObjectID = context.objectID
        return context
    }

    /// Returns the error for a value above the limit. It searches the rows after a key, and finds the largest value without
    /// reading it.
    func tooLarge(table: Int, after: Int64?, columns: [SelectedColumn], layout: StoreLayout) -> MigrationError {
        let source = layout.tables[table]
        let condition = after.map { " WHERE \"Z_PK\" > \($0)" } ?? ""
        var best: (key: Int64, column: Int, bytes: Int)?
        // Rows of other entities may be in between; the error names the first row with a value above the limit.
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
                "A value of the table \(source.name) or of a related row is larger than \(valueLimit.counted("byte"))",
                remedy: "Give the command a higher --memory-limit",
                context: .init(
                    path: path,
                    entity: layout.schema.entityName(of: layout.schema.tables[table])))
        }
        return tooLarge(table: table, key: best.key, column: best.column, bytes: best.bytes, layout: layout)
    }

    /// Returns the error for a value above the limit.
    ///
    /// - Parameter use: the operation that needs all bytes at once; nil for plain reading.
    func tooLarge(
        table: Int, key: Int64, column: Int, bytes: Int, layout: StoreLayout, use: String? = nil
    ) -> MigrationError {
        let source = layout.tables[table]
        var place = context(table, key, layout)
        if case .attribute(let reference) = layout.schema.tables[table].columns[column].role {
            place.property = reference.name
        }
        return MigrationError(
            "store.valueTooLarge", .configuration,
            "The value in \(source.name).\(source.columns[column]) has \(bytes.counted("byte")), the limit is \(valueLimit.grouped)"
                + (use.map { "; \($0) needs all of them at once" } ?? ""),
            remedy: limitNeeded.map { "Give --memory-limit \($0(bytes))M or more" }
                ?? "Allow values of \(bytes.counted("byte"))",
            context: place)
    }

    /// Returns the size in bytes of a stored text or blob without reading it; 0 for another kind.
    private func size(_ table: String, _ column: String, _ key: Int64) -> Int {
        var blob: OpaquePointer?
        defer { sqlite3_blob_close(blob) }
        guard sqlite3_blob_open(connection.handle, "main", table, column, key, 0, &blob) == SQLITE_OK else { return 0 }
        return Int(sqlite3_blob_bytes(blob))
    }
}
