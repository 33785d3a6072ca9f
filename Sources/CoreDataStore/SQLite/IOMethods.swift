import CSQLite
import Glibc

/// A table of file functions at a fixed address. It is never changed and never freed.
struct IOMethods: @unchecked Sendable {
    let pointer: UnsafePointer<sqlite3_io_methods>

    init(_ methods: sqlite3_io_methods) {
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        table.initialize(to: methods)
        pointer = UnsafePointer(table)
    }

    /// Completes a read of SQLite's: fills the rest of the buffer with zeros.
    ///
    /// - Parameter got: the number of bytes read; -1 for a failed call.
    static func read(_ got: Int, of count: Int32, into buffer: UnsafeMutableRawPointer) -> Int32 {
        if got < 0 { return FailedCall.note(ResultCode.readError) }
        if got == Int(count) { return SQLITE_OK }
        memset(buffer + got, 0, Int(count) - got)
        return ResultCode.shortRead
    }

    /// Answers a question of SQLite's for the size of a file.
    ///
    /// - Parameter bytes: the size; -1 for a failed call.
    static func size(_ bytes: Int64, into size: UnsafeMutablePointer<sqlite3_int64>) -> Int32 {
        guard bytes >= 0 else { return ResultCode.statError }
        size.pointee = bytes
        return SQLITE_OK
    }
}
