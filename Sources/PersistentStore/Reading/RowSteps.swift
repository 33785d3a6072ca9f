import CSQLite
import Diagnostics

/// The way through a statement's rows, once: to its end, or to the first error, which is put on the file's account.
struct RowSteps {
    let store: SourceStore
    let statement: Statement
    /// For errors: what is done, as in "Reading ZBOOK".
    let doing: String
    private(set) var isFinished = false

    init(store: SourceStore, statement: Statement, doing: String) {
        self.store = store
        self.statement = statement
        self.doing = doing
    }

    /// Goes to the next row. At the end the statement is reset: at rest it holds no page.
    ///
    /// - Returns: false at the end, and ever after.
    /// - Throws: `store.damaged`, `store.io`; then this is at its end too.
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

    /// Ends the way before its end: the rows are not what they should be.
    mutating func abandon() { isFinished = true }
}
