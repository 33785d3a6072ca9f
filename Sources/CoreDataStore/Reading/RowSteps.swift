import CSQLite
import Diagnostics

/// One pass through a statement's rows: to its end or to the first error, which is attributed to the file.
struct RowSteps {
    let store: SourceStore
    let statement: Statement
    /// The action in errors, such as "Reading ZBOOK".
    let doing: String
    private(set) var isFinished = false

    init(store: SourceStore, statement: Statement, doing: String) {
        self.store = store
        self.statement = statement
        self.doing = doing
    }

    /// Advances to the next row. At the end the statement is reset, because an idle statement holds no page.
    ///
    /// - Returns: false at the end, and on every later call.
    /// - Throws: `store.damaged`, `store.io`. The pass then ends too.
    @inline(__always)
    mutating func next() throws(MigrationError) -> Bool {
        if isFinished { return false }
        let code = sqlite3_step(statement.handle)
        if code == SQLITE_ROW { return true }
        isFinished = true
        if code == SQLITE_DONE {
            statement.reset()
            return false
        }
        throw SourceStore.blamingData(
            SQLiteFailure.error(store.connection.handle, code: code, doing: doing, path: store.path))
    }

    /// Ends the pass early, because the rows are not as they should be.
    mutating func abandon() { isFinished = true }
}
