import CSQLite
import DatabasePages
import Diagnostics
import Glibc
import SpillStorage

/// A store that outlives the process that writes it.
///
/// From the first checkpoint on SQLite keeps a rollback journal and syncs. Each state of the file that a journal elsewhere
/// describes bears a number in the file's user version, which changes in the same transaction as the rest: what the number
/// is says which description holds: the last that names it. What pages add after a state is cut off from it.
extension DestinationStore {
    /// What is known of a store beside its file.
    package struct Knowledge: Equatable, Sendable {
        /// Tables and join tables that have their indexes.
        package var indexed: [Int]
        package var indexedJoins: [Int]
        /// Indexes that are away while rows come, by table.
        package var absent: [String: AbsentIndexes] = [:]
        /// Whether the store had rows of its own, and the number that it bore then.
        package var isAppending = false
        package var firstStamp: Int64 = 0

        package init(indexed: [Int] = [], indexedJoins: [Int] = []) {
            self.indexed = indexed
            self.indexedJoins = indexedJoins
        }

        /// Writes what is known, as ``init(from:)`` reads it.
        package func write(to writer: inout StateWriter) {
            for list in [indexed, indexedJoins] {
                writer.write(list.count)
                for place in list { writer.write(place) }
            }
            writer.write(absent.count)
            for (table, indexes) in absent.sorted(by: { $0.key < $1.key }) {
                writer.write(table)
                indexes.write(to: &writer)
            }
            writer.write(isAppending)
            writer.write(firstStamp)
        }

        /// - Throws: `journal.damaged`.
        package init(from reader: inout StateReader) throws(MigrationError) {
            indexed = try reader.integers()
            indexedJoins = try reader.integers()
            for _ in 0..<(try reader.count(upTo: 1 << 16)) {
                let table = try reader.text()
                absent[table] = try AbsentIndexes(from: &reader)
            }
            isAppending = try reader.flag()
            firstStamp = try reader.integer()
        }
    }

    package var knowledge: Knowledge {
        var knowledge = Knowledge(indexed: indexed.sorted(), indexedJoins: indexedJoins.sorted())
        knowledge.absent = absent
        knowledge.isAppending = isAppending
        knowledge.firstStamp = firstStamp
        return knowledge
    }

    /// Ends the transaction and begins another, for a writer that is at work.
    package func commitAndGoOn() throws(MigrationError) {
        try suspend()
        try resume()
    }

    /// Rolls back what a killed process had under way and says which state the file is in; nil where it is no database.
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

    /// Opens a fresh store that a killed process wrote, recovered, between two transactions.
    ///
    /// - Parameter stamp: its state's number.
    package convenience init(
        resuming path: String, schema: StoreSchema, knowledge: Knowledge, stamp: Int64, cacheBytes: Int, vfs: String?
    ) throws(MigrationError) {
        try self.init(resuming: path, schema: schema, knowledge: knowledge, cacheBytes: cacheBytes, vfs: vfs)
        self.stamp = stamp
    }

    /// Checks that a table which pages are about to fill from its beginning has no rows: a run that goes on from an older
    /// state may have come further than that tells.
    ///
    /// - Throws: `journal.damaged`, `store.damaged`.
    package func checkEmpty(_ table: String) throws(MigrationError) {
        guard filling.writesPages, try connection.integer("SELECT 1 FROM \(SQLName.quoted(table)) LIMIT 1") != nil
        else {
            return
        }
        throw StateReader.damaged("\(table) has rows that no state tells of")
    }

    /// Makes every transaction from the next one on one that a killed process leaves undone.
    package func keepJournal() { wantsJournal = true }

    /// Writes a state's number; it holds with the transaction.
    package func write(stamp: Int64) throws(MigrationError) {
        try resume()
        try connection.execute("PRAGMA user_version=\(stamp)")
        self.stamp = stamp
    }

    /// Ends the transaction; whatever is written next begins another.
    package func commitStep() throws(MigrationError) { try suspend() }

    /// Gives up a store that is complete already.
    package func closeComplete() throws(MigrationError) {
        if !isAppending { try noteMissing() }
        try suspend()
        try connection.close()
    }
}
