import Diagnostics
import Rows

/// Takes the rows of one table, complete, in ascending key order, and puts them into the destination once.
///
/// The one door into a fresh store: behind it stands SQLite's multi-row INSERT; a page writer may take its place.
/// A batch has one slot for each column after Z_PK (for a join table: one for each column).
package protocol TableWriter: AnyObject {
    /// Adds the batch's rows.
    ///
    /// - Throws: `store.io`, `store.full`, `store.constraint`.
    func append(_ batch: borrowing RowBatch) throws(MigrationError)

    /// Writes what is still buffered. Nothing may be appended afterwards.
    func finish() throws(MigrationError)
}
