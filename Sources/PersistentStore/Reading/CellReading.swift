import CSQLite
import Rows

extension RowBatch {
    /// Sets a cell to a column of a statement's current row, its storage class kept. Text becomes UTF-8.
    ///
    /// - Returns: false where SQLite had no memory for the value.
    @inline(__always)
    mutating func read(_ statement: OpaquePointer, column: Int32, row: Int, slot: Int) -> Bool {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: self[row, slot] = .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: self[row, slot] = .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT:
            // In this order: the text call converts, only then the count is that of the UTF-8.
            guard let text = sqlite3_column_text(statement, column) else { return false }
            let count = Int(sqlite3_column_bytes(statement, column))
            setBytes(UnsafeRawBufferPointer(start: text, count: count), kind: .text, row: row, slot: slot)
        case SQLITE_BLOB:
            let bytes = sqlite3_column_blob(statement, column)
            let count = Int(sqlite3_column_bytes(statement, column))
            if bytes == nil && count > 0 { return false }
            setBytes(
                UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count), kind: .blob, row: row,
                slot: slot)
        default: self[row, slot] = .null
        }
        return true
    }
}
