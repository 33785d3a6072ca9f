import Diagnostics

/// Prepared statements of one connection, kept for the next use of the same SQL.
///
/// A statement in use is not in the pool, so the same SQL may run several times at once.
/// Memory: at most ``capacity`` idle statements of some kilobytes.
final class StatementPool {
    static let capacity = 128
    private let connection: Connection
    private var idle: [String: [Statement]] = [:]
    private var count = 0

    init(_ connection: Connection) { self.connection = connection }

    /// A statement for the SQL, reset and without bindings of importance.
    func take(_ sql: String) throws(MigrationError) -> Statement {
        if let statement = idle[sql]?.popLast() {
            count -= 1
            return statement
        }
        return try connection.prepare(sql)
    }

    /// Takes a statement back.
    func give(_ statement: Statement, sql: String) {
        statement.reset()
        guard count < StatementPool.capacity else { return }
        idle[sql, default: []].append(statement)
        count += 1
    }

    /// Finalises all idle statements.
    func drain() {
        idle = [:]
        count = 0
    }
}
