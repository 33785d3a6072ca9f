import CSQLite
import Diagnostics
import Rows

/// Inserts batches into one table with many rows a statement.
///
/// Fifty rows a statement cost 0.8 of one row a statement; more bring no gain. Remaining rows go through statements of 32, 16,
/// 8, 4, 2 and 1 rows, prepared when first needed. Text and blobs are bound in place in the batch's arena, so a batch is
/// written completely within `append` and nothing is buffered.
///
/// Memory: the prepared statements, about 60 bytes a bound value: 60 KB for the full statement of 20 columns.
final class SQLiteTableWriter: TableWriter {
    struct Target {
        var table: String
        /// The number of columns of a row, the key included.
        var columns: Int
        /// True if the first column is Z_PK, taken from the batch's keys. False for a join table.
        var isKeyed: Bool
        var ignoresDuplicates: Bool
        /// The root entity of the table, for messages.
        var entity: String?
        /// The names of the columns, if the file may have them in another order; nil if they are in the schema's order.
        var columnNames: [String]?
    }

    private static let rowsWanted = 50

    private let connection: Connection
    private let target: Target
    private let slots: Int
    /// The numbers of rows a statement, descending; the last is 1.
    private let sizes: [Int]
    private var statements: [Statement?]
    private var isFinished = false
    /// Finds the objects that a row conflicts with, if the table had constraints before its rows were inserted.
    private let conflicts: InsertConflicts?

    /// - Throws: `schema.tooManyColumns` if a statement cannot bind the values of a single row.
    init(connection: Connection, target: Target, conflicts: InsertConflicts? = nil) throws(MigrationError) {
        self.connection = connection
        self.target = target
        self.conflicts = conflicts
        slots = target.isKeyed ? target.columns - 1 : target.columns
        let variables = Int(sqlite3_limit(connection.handle, SQLITE_LIMIT_VARIABLE_NUMBER, -1))
        guard variables >= target.columns, target.columns > 0 else {
            throw MigrationError(
                "schema.tooManyColumns", .configuration,
                "Table \(target.table) has \(target.columns) columns, SQLite binds at most \(variables) values",
                context: .init(path: connection.path, entity: target.entity))
        }
        let most = min(Self.rowsWanted, variables / target.columns)
        var sizes = [most]
        for power in [32, 16, 8, 4, 2, 1] where power < most { sizes.append(power) }
        self.sizes = sizes
        statements = Array(repeating: nil, count: sizes.count)
    }

    func append(_ batch: borrowing RowBatch) throws(MigrationError) {
        precondition(!isFinished, "append after finish")
        precondition(batch.slots == slots, "the batch's slots are not the table's columns")
        try refuseHuge(batch)
        var row = 0
        var size = 0
        while row < batch.count {
            let remaining = batch.count - row
            while sizes[size] > remaining { size += 1 }
            let statement = try statement(size)
            try run(statement, batch, from: row, count: sizes[size])
            row += sizes[size]
        }
    }

    /// Refuses huge values, because SQLite holds a row as a whole.
    private func refuseHuge(_ batch: borrowing RowBatch) throws(MigrationError) {
        guard batch.hasHugeValues else { return }
        for row in 0..<batch.count {
            for slot in 0..<slots where batch[row, slot].kind == .huge {
                let value = batch.huge(batch[row, slot])
                throw value.source.refusal(value, for: "SQLite, which writes this table,")
            }
        }
    }

    func finish() throws(MigrationError) {
        statements = []
        isFinished = true
    }

    private func statement(_ size: Int) throws(MigrationError) -> Statement {
        if let prepared = statements[size] { return prepared }
        let row = "(?" + String(repeating: ",?", count: target.columns - 1) + ")"
        let verb = target.ignoresDuplicates ? "INSERT OR IGNORE INTO " : "INSERT INTO "
        let names = target.columnNames.map { " (" + $0.map(SQLName.quoted).joined(separator: ", ") + ")" } ?? ""
        let text =
            verb + SQLName.quoted(target.table) + names + " VALUES "
            + Array(repeating: row, count: sizes[size]).joined(separator: ",")
        let prepared = try connection.prepare(text)
        statements[size] = prepared
        return prepared
    }

    private func run(
        _ statement: Statement, _ batch: borrowing RowBatch, from first: Int, count: Int
    ) throws(MigrationError) {
        let handle = statement.handle
        var code = bind(handle, batch, from: first, count: count)
        if code == SQLITE_OK {
            code = sqlite3_step(handle)
            if code == SQLITE_DONE {
                sqlite3_reset(handle)
                return
            }
        }
        let error = SQLiteFailure.error(
            connection.handle, code: code, doing: "Writing \(place(batch, first))", path: connection.path)
        sqlite3_reset(handle)
        if error.code == "store.constraint", let conflicts,
            let conflict = try conflicts.error(batch, rows: first..<first + count, cause: error)
        {
            throw conflict
        }
        throw error.inside(.init(entity: target.entity))
    }

    /// Binds `count` rows. The nil destructor is SQLITE_STATIC: the batch outlives the step, and every parameter is bound again
    /// before the next one.
    private func bind(
        _ handle: OpaquePointer, _ batch: borrowing RowBatch, from first: Int, count: Int
    ) -> Int32 {
        var index: Int32 = 1
        for row in first..<first + count {
            if target.isKeyed {
                let code = sqlite3_bind_int64(handle, index, batch.key(row))
                if code != SQLITE_OK { return code }
                index += 1
            }
            for slot in 0..<slots {
                let cell = batch[row, slot]
                let code: Int32
                switch cell.kind {
                case .null: code = sqlite3_bind_null(handle, index)
                case .integer, .reference: code = sqlite3_bind_int64(handle, index, cell.integerValue)
                case .real: code = sqlite3_bind_double(handle, index, cell.realValue)
                case .text:
                    let bytes = batch.bytes(cell)
                    code = sqlite3_bind_text64(
                        handle, index, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(bytes.count),
                        nil, UInt8(SQLITE_UTF8))
                case .blob:
                    let bytes = batch.bytes(cell)
                    code = sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), nil)
                case .huge, .absent, .rawRecord:
                    preconditionFailure("an absent cell reached the writer of \(target.table)")
                }
                if code != SQLITE_OK { return code }
                index += 1
            }
        }
        return SQLITE_OK
    }

    /// Names the table and the first key of the statement, for messages.
    private func place(_ batch: borrowing RowBatch, _ row: Int) -> String {
        if target.isKeyed { return "table \(target.table) from key \(batch.key(row))" }
        return "table \(target.table) from the link (\(batch[row, 0].integerValue), \(batch[row, 1].integerValue))"
    }
}
