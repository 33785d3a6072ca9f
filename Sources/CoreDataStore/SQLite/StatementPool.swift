import Diagnostics

/// Prepared statements of one connection, kept for reuse with the same SQL.
///
/// A statement in use is not in the pool, so several statements with the same SQL may run at once.
/// Memory: at most ``capacity`` idle statements of some kilobytes.
final class StatementPool {
    static let capacity = 128
    private let connection: Connection
    private var idle: [String: [Statement]] = [:]
    private var count = 0

    init(_ connection: Connection) { self.connection = connection }

    /// Returns a statement for the SQL, reset. Old bindings may remain, and the caller overwrites them.
    func take(_ sql: String) throws(MigrationError) -> Statement {
        if let statement = idle[sql]?.popLast() {
            count -= 1
            return statement
        }
        return try connection.prepare(sql)
    }

    func give(_ statement: Statement, sql: String) {
        statement.reset()
        guard count < StatementPool.capacity else { return }
        idle[sql, default: []].append(statement)
        count += 1
    }

    func drain() {
        idle = [:]
        count = 0
    }
}
