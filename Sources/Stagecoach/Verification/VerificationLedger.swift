import CSQLite
import CoreDataStore
import Diagnostics

/// The expected objects and links of the destination, as a verification works them out, in a private SQLite database.
/// Memory therefore does not grow with their number.
///
/// `m<i>(s, d)`: the destination key for each source key of an entity mapping; `t<table>(d, m, s)`: the same by
/// destination table; `l<pair>(a, b, oa, ob, n)`: links. Nothing in it comes from the run that is verified. Memory: the
/// page cache, and once more for a sort.
final class VerificationLedger {
    let connection: Connection
    private let vfs: WorkVFS
    private var statements: [String: Statement] = [:]

    /// Creates an empty ledger.
    ///
    /// - Parameter folder: an existing folder, removed after the verification.
    /// - Throws: `store.full`, `store.io` (74).
    init(in folder: String, cacheBytes: Int) throws(MigrationError) {
        vfs = WorkVFS(temporaryDirectory: folder)
        connection = try Connection(
            path: folder + "/ledger.sqlite", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
            vfs: vfs.name,
            keeping: vfs)
        try connection.execute(
            "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA temp_store=FILE; "
                + "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-\(max(256, cacheBytes / 1024))")
        // A single transaction that begins with the empty file: no page needs a copy in a journal.
        try connection.execute("BEGIN; CREATE TABLE gone(d INTEGER)")
    }

    func execute(_ sql: String) throws(MigrationError) { try connection.execute(sql) }

    /// Returns a statement, which is kept and reset for the next use of the same SQL. It can be used only once at a
    /// time.
    func statement(_ sql: String) throws(MigrationError) -> Statement {
        if let known = statements[sql] {
            known.reset()
            return known
        }
        let made = try connection.prepare(sql)
        statements[sql] = made
        return made
    }

    /// Releases the kept statements, so that the tables they name can be dropped.
    func releaseStatements() { statements = [:] }

    /// Runs a statement with integers; nil stands for NULL.
    func run(_ sql: String, _ values: Int64?...) throws(MigrationError) {
        let statement = try statement(sql)
        for (index, value) in values.enumerated() {
            if let value {
                statement.bind(value, at: Int32(index + 1))
            } else {
                statement.bindNull(at: Int32(index + 1))
            }
        }
        _ = try statement.step()
        statement.reset()
    }

    /// Returns the first column of the first row; nil if there is none.
    func integer(_ sql: String, _ value: Int64) throws(MigrationError) -> Int64? {
        let statement = try statement(sql)
        statement.bind(value, at: 1)
        defer { statement.reset() }
        guard try statement.step(), !statement.isNull(0) else { return nil }
        return statement.integer(0)
    }

    func close() {
        statements = [:]
        try? connection.close()
        vfs.close()
    }
}
