import CSQLite
import Diagnostics
import Glibc
import SpillStorage

/// A store that outlives the process that writes it.
///
/// From the first checkpoint on, SQLite keeps a rollback journal and syncs. A journal elsewhere describes states of the file.
/// Each has a number in the file's user version, which changes in the same transaction as the content. The number found in a
/// file selects the description: the last one with this number. Pages added after that state are cut off.
extension DestinationStore {
    /// The facts about a store that its file does not contain.
    package struct Knowledge: Equatable, Sendable, StateCodable {
        /// The tables, and below the join tables, that have their indexes.
        package var indexed: Set<Int> = []
        package var indexedJoins: Set<Int> = []
        /// The indexes that are dropped while rows are inserted, by table.
        package var absent: [String: AbsentIndexes] = [:]
        /// True if the store had rows, indexes and metadata of its own. ``firstStamp`` is the number that it had then.
        package var isAppending = false
        package var firstStamp: Int64 = 0

        package init() {}

        package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
            var places = [indexed.sorted(), indexedJoins.sorted()]
            try coder.code(&places)
            (indexed, indexedJoins) = (Set(places.first ?? []), Set(places.last ?? []))
            try coder.code(&self, \.absent, \.isAppending, \.firstStamp)
        }
    }

    /// Ends the transaction and begins another, for a writer in use.
    package func commitAndBegin() throws(MigrationError) {
        try endTransaction()
        try beginTransaction()
    }

    /// Rolls back the unfinished transaction of a killed process and returns the number of the file's state; nil if the file is
    /// not a database.
    ///
    /// - Throws: `store.io`, `store.full` (74).
    package static func recover(_ path: String, vfs: String?) throws(MigrationError) -> Int64? {
        do throws(MigrationError) {
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE, vfs: vfs)
            try connection.execute("PRAGMA synchronous=FULL")
            _ = try connection.integer("SELECT count(*) FROM sqlite_master")
            let stamp = try connection.integer("PRAGMA user_version")
            try connection.close()
            return stamp
        } catch {
            guard error.category == .data || error.code == "store.notFound" else { throw error }
            return nil
        }
    }

    /// Checks that a table has no rows if pages are about to fill it from its start. An interrupted run may have progressed
    /// further than the older state from which this run resumes.
    ///
    /// - Throws: `journal.damaged`, `store.damaged`.
    package func checkEmpty(_ table: String) throws(MigrationError) {
        guard filling.writesPages, try connection.hasRows(table) else { return }
        throw StateReader.damaged("\(table) has rows that no state tells of")
    }

    /// Lets SQLite roll back the transaction after a kill, from the next transaction on.
    package func keepJournal() { wantsJournal = true }

    /// Writes the number of a state. It takes effect with the transaction.
    package func write(stamp: Int64) throws(MigrationError) {
        try beginTransaction()
        try connection.execute("PRAGMA user_version=\(stamp)")
        self.stamp = stamp
    }

    /// Closes a store that is already complete.
    package func closeComplete() throws(MigrationError) {
        if !isAppending { try noteMissing() }
        try endTransaction()
        try connection.close()
    }
}
