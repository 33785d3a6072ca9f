import CSQLite
import Diagnostics

/// The rare conversions of a column's affinity, done by SQLite itself: text that looks like a number into a number column, and
/// a number into a text column.
///
/// The exact conversion of digits is an internal matter of SQLite; so a table of one row does it, to the bit.
final class AffinityConversion {
    enum Value {
        case integer(Int64)
        case real(Double)
        case text([UInt8])
        case blob([UInt8])
        case null
    }

    private var database: OpaquePointer?
    private var statements: [ColumnAffinity: (insert: OpaquePointer, select: OpaquePointer)] = [:]

    init() throws(MigrationError) {
        guard sqlite3_open(":memory:", &database) == SQLITE_OK else {
            throw MigrationError("store.io", .internal, "SQLite cannot open a database in memory")
        }
    }

    deinit {
        for pair in statements.values {
            sqlite3_finalize(pair.insert)
            sqlite3_finalize(pair.select)
        }
        sqlite3_close(database)
    }

    func convert(text: UnsafeRawBufferPointer, _ affinity: ColumnAffinity) throws(MigrationError) -> Value {
        try convert(affinity) { statement in
            sqlite3_bind_text64(
                statement, 1, text.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(text.count), nil,
                UInt8(SQLITE_UTF8))
        }
    }

    func convert(integer: Int64, _ affinity: ColumnAffinity) throws(MigrationError) -> Value {
        try convert(affinity) { sqlite3_bind_int64($0, 1, integer) }
    }

    func convert(real: Double, _ affinity: ColumnAffinity) throws(MigrationError) -> Value {
        try convert(affinity) { sqlite3_bind_double($0, 1, real) }
    }

    private func convert(
        _ affinity: ColumnAffinity, bind: (OpaquePointer) -> Int32
    ) throws(MigrationError) -> Value {
        let (insert, select) = try prepared(affinity)
        defer {
            sqlite3_reset(select)
            sqlite3_reset(insert)
        }
        guard bind(insert) == SQLITE_OK, sqlite3_step(insert) == SQLITE_DONE, sqlite3_step(select) == SQLITE_ROW else {
            throw failure()
        }
        switch sqlite3_column_type(select, 0) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(select, 0))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(select, 0))
        case SQLITE_TEXT: return .text(bytes(select, UnsafeRawPointer(sqlite3_column_text(select, 0))))
        case SQLITE_BLOB: return .blob(bytes(select, sqlite3_column_blob(select, 0)))
        default: return .null
        }
    }

    private func bytes(_ statement: OpaquePointer, _ start: UnsafeRawPointer?) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, 0))))
    }

    private func prepared(
        _ affinity: ColumnAffinity
    ) throws(MigrationError) -> (insert: OpaquePointer, select: OpaquePointer) {
        if let known = statements[affinity] { return known }
        let type =
            switch affinity {
            case .blob: "BLOB"
            case .text: "TEXT"
            case .numeric: "NUMERIC"
            case .integer: "INTEGER"
            case .real: "REAL"
            }
        let table = "t\(affinity.rawValue)"
        guard
            sqlite3_exec(database, "CREATE TABLE \(table)(k INTEGER PRIMARY KEY, v \(type))", nil, nil, nil)
                == SQLITE_OK
        else { throw failure() }
        var insert: OpaquePointer?
        var select: OpaquePointer?
        guard
            sqlite3_prepare_v2(database, "INSERT OR REPLACE INTO \(table) VALUES (1, ?)", -1, &insert, nil)
                == SQLITE_OK,
            sqlite3_prepare_v2(database, "SELECT v FROM \(table)", -1, &select, nil) == SQLITE_OK,
            let insert, let select
        else { throw failure() }
        statements[affinity] = (insert, select)
        return (insert, select)
    }

    private func failure() -> MigrationError {
        MigrationError(
            "store.io", .internal, "SQLite cannot convert a value: \(String(cString: sqlite3_errmsg(database)))")
    }
}
