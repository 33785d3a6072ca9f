import CSQLite
import CoreDataStore
import Diagnostics

/// The check of the finished file, which is read once more before it is published.
struct PublicationCheck {
    let run: MigrationRun
    /// True if the rows were added to an existing store at the destination.
    let isAppended: Bool

    /// - Throws: `internal.publication` (70) if the file does not hold the written rows, or SQLite finds it damaged.
    func run(_ path: String) throws(MigrationError) {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let cancellation = run.services.cancellation
        connection.interrupt { cancellation.error != nil }
        let schema = run.inputs.destinationSchema
        let tables = schema.tables.map(\.name) + schema.joinTables.map(\.name)
        let old = run.tally.existingRows + run.tally.existingLinks
        let written = run.tally.rowsWritten + run.tally.linksWritten
        // One lock for all statements. It ends with the connection.
        try connection.execute("BEGIN")
        let rows = try PublishedRows(path, connection)
        for (index, table) in tables.enumerated() {
            let found: Int64
            do throws(MigrationError) {
                found = try rows.count(table)
            } catch {
                guard error.code == "store.damaged" else { throw error }
                throw failure("The finished store cannot be read: \(error.message)", path)
            }
            guard found == old[index] + written[index] else {
                throw failure(
                    "Table \(table) of the finished store has \(found.counted("row")), it had \(old[index].grouped) and \(written[index].grouped) were written",
                    path)
            }
        }
        // An appended store may have had unused pages before.
        if !isAppended, let free = try connection.integer("PRAGMA freelist_count"), free != 0 {
            throw failure("The finished store has \(free) unused pages", path)
        }
        if run.inputs.options.fullCheck {
            let check = try connection.prepare("PRAGMA integrity_check(1)")
            guard try check.step(), check.text(0) == "ok" else {
                let answer = check.text(0) ?? "nothing"
                // A page that could not be read is no damage. SQLite reports the number of its own error in the text.
                if let number = answer.firstMatch(of: /error code=([0-9]+)/).flatMap({ Int32($0.1) }),
                    number & 0xff == SQLITE_IOERR
                {
                    throw MigrationError(
                        "store.io", .io,
                        "Reading the store failed: \(String(cString: strerror(EIO))) (SQLite \(number))",
                        context: .init(path: path))
                }
                throw failure("SQLite's integrity check says: \(answer)", path)
            }
        }
    }

    private func failure(_ message: String, _ path: String) -> MigrationError {
        MigrationError("internal.publication", .internal, message, context: .init(path: path))
    }
}
