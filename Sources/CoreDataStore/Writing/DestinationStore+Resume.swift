import CSQLite
import DatabasePages
import Diagnostics
import Glibc
import SpillStorage

/// A store that outlives the process that writes it.
///
/// From the first checkpoint on, SQLite keeps a rollback journal and syncs. A journal elsewhere describes states of the file.
/// Each has a number in the file's user version, which changes in the same transaction as the content. The number found in a
/// file selects the description: the last one with this number. What pages filled after that state is cut off.
extension DestinationStore {
    /// The facts about a store that its file does not contain.
    package struct Knowledge: Equatable, Sendable, StateCodable {
        /// The tables, and below the join tables, that have their indexes.
        package var indexed: Set<Int> = []
        package var indexedJoins: Set<Int> = []
        /// The indexes that are dropped while rows are inserted, by table.
        package var absent: [String: AbsentIndexes] = [:]
        /// True if the store is a copy of an existing one, to which rows are appended. ``firstStamp`` is the number of the copy's
        /// state when it was opened.
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
    /// not a database, or is cut off.
    ///
    /// - Throws: `store.io`, `store.full` (74).
    package static func recover(_ path: String, vfs: String?) throws(MigrationError) -> Int64? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        do throws(MigrationError) {
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE, vfs: vfs)
            try connection.execute("PRAGMA synchronous=FULL")
            _ = try connection.integer("SELECT count(*) FROM sqlite_master")
            let stamp = try connection.integer("PRAGMA user_version")
            let pages = try connection.integer("PRAGMA page_count") ?? 0
            let pageSize = try connection.integer("PRAGMA page_size") ?? 0
            try connection.close()
            // SQLite fills a file that is cut off with zeros when it rolls back. A file with a state had all of its pages.
            guard status.st_size >= Int(pages) * Int(pageSize) else { return nil }
            return stamp
        } catch {
            guard error.category == .data || error.code == "store.notFound" else { throw error }
            return nil
        }
    }

    /// The number of the file's pages, if pages fill it below SQLite; nil if SQLite alone writes.
    package var filledPages: Int? {
        get throws(MigrationError) {
            guard filling.writesPages else { return nil }
            return try connection.integer("PRAGMA page_count").map(Int.init)
        }
    }

    /// The extent of a file that pages fill below SQLite, at a moment between two tables.
    package struct FilledPages {
        let pages: Int
        /// The names of the tables that had no rows.
        let empty: Set<String>

        package init(pages: Int, empty: Set<String>) { (self.pages, self.empty) = (pages, empty) }

        /// Cuts off what a killed process filled since. The connection must not be in a transaction.
        func cut(_ path: String, _ connection: Connection) throws(MigrationError) {
            guard let pages = UInt32(exactly: pages), pages > 1 else { throw StateReader.damaged("\(pages) pages") }
            var roots: (tables: [UInt32], indexes: [UInt32]) = ([], [])
            do {
                let trees = try connection.prepare(
                    "SELECT type, tbl_name, rootpage FROM sqlite_master WHERE type IN ('table', 'index')")
                while try trees.step() {
                    guard let table = trees.text(1), empty.contains(table),
                        let root = UInt32(exactly: trees.integer(2)), root > 0
                    else { continue }
                    if trees.text(0) == "table" { roots.tables.append(root) } else { roots.indexes.append(root) }
                }
            }
            try DatabaseFileWriter.cut(path, toPages: pages, emptying: roots)
        }
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
