import Diagnostics
import Glibc

/// The errors of writing a database file by pages.
///
/// Reading pages throws `store.damaged`, naming the page, and `store.io` (74). Writing them throws `store.full` and `store.io`
/// (74). Restoring a saved state also throws `journal.damaged` (74), and sorting the errors of `SpillStorage`. Comments in this
/// module name only other errors.
package enum PageFailure {
    /// The error for a failed system call on the file.
    package static func system(_ doing: String, _ path: String, number: Int) -> MigrationError {
        let reason = String(cString: strerror(Int32(truncatingIfNeeded: number)))
        if number == Int(ENOSPC) || number == Int(EDQUOT) {
            return MigrationError(
                "store.full", .io, "Writing the destination failed: \(reason)",
                remedy: "Free space on the disk and run the command again", context: .init(path: path))
        }
        return MigrationError("store.io", .io, "\(doing) the destination failed: \(reason)", context: .init(path: path))
    }

    /// The error for a file that is not as its maker left it.
    static func damaged(_ message: String, _ path: String) -> MigrationError {
        MigrationError("store.damaged", .internal, message, context: .init(path: path))
    }
}
