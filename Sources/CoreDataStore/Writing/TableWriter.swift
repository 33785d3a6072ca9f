import Diagnostics
import Rows

/// Takes the complete rows of one table in ascending key order, and puts each into the destination once.
///
/// It is the only way into a fresh store, with SQLite's multi-row INSERT or a page writer behind it. A batch has one slot for
/// each column after Z_PK (for a join table: one for each column).
package protocol TableWriter: AnyObject {
    /// Adds the batch's rows.
    ///
    /// - Throws: `store.io`, `store.full`, `store.constraint`.
    func append(_ batch: borrowing RowBatch) throws(MigrationError)

    /// Writes buffered rows. Nothing may be appended afterwards.
    func finish() throws(MigrationError)
}
