import CSQLite
import Rows

extension RowBatch {
    /// Sets a cell to a column of a statement's current row, with its storage class. Text becomes UTF-8.
    ///
    /// - Parameter isUTF8: true if the database's text is known to be UTF-8.
    /// - Returns: false if SQLite had no memory for the value.
    @inline(__always)
    mutating func read(
        _ statement: OpaquePointer, column: Int32, row: Int, slot: Int, isUTF8: Bool = false
    ) -> Bool {
        guard let cell = cell(of: statement, column: column, isUTF8: isUTF8) else { return false }
        self[row, slot] = cell
        return true
    }

    /// Makes a cell for a column of a statement's current row, with its storage class. Text becomes UTF-8; bytes go to the
    /// arena.
    ///
    /// - Returns: nil if SQLite had no memory for the value.
    @inline(__always)
    mutating func cell(of statement: OpaquePointer, column: Int32, isUTF8: Bool) -> Cell? {
        // The connection has no mutex and one thread, so the value may be read without SQLite's protection of each call.
        guard let value = sqlite3_column_value(statement, column) else { return nil }
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
        case SQLITE_TEXT where isUTF8:
            // Read as a blob, the bytes stay in the page. Read as text, SQLite would copy them to append a zero.
            return bytes(of: value, kind: .text)
        case SQLITE_TEXT:
            // In this order: the text call converts, and only then the count is that of the UTF-8.
            guard let text = sqlite3_value_text(value) else { return nil }
            let count = Int(sqlite3_value_bytes(value))
            return store(UnsafeRawBufferPointer(start: text, count: count), kind: .text)
        case SQLITE_BLOB: return bytes(of: value, kind: .blob)
        default: return .null
        }
    }

    @inline(__always)
    private mutating func bytes(of value: OpaquePointer, kind: CellKind) -> Cell? {
        let bytes = sqlite3_value_blob(value)
        let count = Int(sqlite3_value_bytes(value))
        if bytes == nil && count > 0 { return nil }
        return store(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count), kind: kind)
    }
}
