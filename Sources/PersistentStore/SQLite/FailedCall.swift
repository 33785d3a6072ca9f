import CSQLite
import Glibc
import Synchronization

/// The `errno` of the last call on a file that failed beneath SQLite: its own result codes do not tell, and by the time
/// that they are looked at other calls have set `errno`.
enum FailedCall {
    private static let last = Atomic<Int32>(0)

    /// Keeps the number where a function of a VFS failed.
    ///
    /// - Returns: the code, for the function to return.
    static func note(_ code: Int32, number: Int32 = errno) -> Int32 {
        if code != SQLITE_OK, code != ResultCode.shortRead { last.store(number, ordering: .relaxed) }
        return code
    }

    /// The number, once; 0 where none was kept.
    static func take() -> Int32 { last.exchange(0, ordering: .relaxed) }
}
