import CSQLite
import Diagnostics

/// One pass through a statement's rows: to its end or to the first error, which is attributed to the file.
struct RowSteps {
    let store: SourceStore
    let statement: Statement
    /// The subject in errors, such as "ZBOOK".
    let subject: String
    private(set) var isFinished = false

    init(store: SourceStore, statement: Statement, reading subject: String) {
        self.store = store
        self.statement = statement
        self.subject = subject
    }

    mutating func restart() {
        statement.reset()
        isFinished = false
    }

    /// Advances to the next row. At the end the statement is reset, because an idle statement holds no page.
    ///
    /// - Parameter tooLarge: makes the error for a value above the limit.
    /// - Returns: false at the end, and on every later call.
    /// - Throws: `store.damaged`, `store.io`. The pass then ends too.
    @inline(__always)
    mutating func next(tooLarge: () -> MigrationError? = { nil }) throws(MigrationError) -> Bool {
        if isFinished { return false }
        let code = sqlite3_step(statement.handle)
        if code == SQLITE_ROW { return true }
        isFinished = true
        if code == SQLITE_DONE {
            statement.reset()
            return false
        }
        if code & 0xff == SQLITE_TOOBIG, let error = tooLarge() { throw error }
        throw store.failure(code, reading: subject)
    }

    /// Ends the pass early, because the rows are not as they should be.
    mutating func abandon() { isFinished = true }
}
