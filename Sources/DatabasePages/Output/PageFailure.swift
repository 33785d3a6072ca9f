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
        let number = Int32(truncatingIfNeeded: number)
        if let full = NoRoom(number) {
            return MigrationError(
                "store.full", .io, "Writing the destination failed: \(full.reason)", remedy: full.remedy,
                context: .init(path: path))
        }
        let reason = String(cString: strerror(number))
        return MigrationError("store.io", .io, "\(doing) the destination failed: \(reason)", context: .init(path: path))
    }

    /// The error for a file that is not as its maker left it.
    static func damaged(_ message: String, _ path: String) -> MigrationError {
        MigrationError("store.damaged", .internal, message, context: .init(path: path))
    }
}
