import CSQLite
import Glibc
import Synchronization

/// The `errno` of the last failed file call below SQLite. SQLite's result codes do not contain it, and later calls overwrite
/// `errno` before the code is examined.
enum FailedCall {
    private static let last = Atomic<Int32>(0)

    /// Stores the number if a function of a VFS failed.
    ///
    /// - Returns: the code, for the function to return.
    static func note(_ code: Int32, number: Int32 = errno) -> Int32 {
        if code != SQLITE_OK, code != ResultCode.shortRead { last.store(number, ordering: .relaxed) }
        return code
    }

    /// Returns the stored number and clears it; 0 if none was stored.
    static func take() -> Int32 { last.exchange(0, ordering: .relaxed) }
}
