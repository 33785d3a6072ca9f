import CSQLite
import Diagnostics

/// An open SQLite database. One task at a time owns it, and it is closed explicitly, once, so that errors of closing are seen.
package final class Connection {
    /// The C handle; valid until ``close()``.
    package private(set) var handle: OpaquePointer?
    package let path: String
    private var interruptBox: InterruptBox?
    /// An object that must live as long as the connection or a statement of it: its VFS.
    private let kept: AnyObject?

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - path: the file, or a `file:` URI if `flags` contain SQLITE_OPEN_URI.
    ///   - flags: SQLITE_OPEN_… flags.
    ///   - vfs: the name of the VFS, nil for the default.
    ///   - keeping: an object that must live as long as the connection or a statement of it, such as a VFS of Stagecoach.
    /// - Throws: the error of ``SQLiteFailure/error(_:code:doing:path:)`` for SQLite's code.
    package init(
        path: String, flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
        vfs: String? = nil, keeping kept: AnyObject? = nil
    ) throws(MigrationError) {
        self.path = path
        self.kept = kept
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_EXRESCODE, vfs)
        guard code == SQLITE_OK, let opened else {
            let error = SQLiteFailure.error(opened, code: code, doing: "Opening the database", path: path)
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        // Files come from strangers: no schema may run code or write outside its own tables.
        _ = stagecoach_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1)
        _ = stagecoach_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        _ = stagecoach_db_config(opened, SQLITE_DBCONFIG_DQS_DDL, 0)
        sqlite3_extended_result_codes(opened, 1)
    }

    deinit { sqlite3_close_v2(handle) }

    /// Lets statements turn the journal off, which connections to files of strangers refuse. Only for files that this process
    /// made.
    package func trustFile() {
        if let handle { _ = stagecoach_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0) }
    }

    /// Closes the database.
    ///
    /// - Throws: `store.io` if SQLite reports an error, `internal.openStatements` if statements are open.
    package func close() throws(MigrationError) {
        guard let open = handle else { return }
        let code = sqlite3_close(open)
        guard code == SQLITE_OK else {
            throw SQLiteFailure.error(open, code: code, doing: "Closing the database", path: path)
        }
        handle = nil
    }

    /// Allows long statements, such as an index build, to end early.
    ///
    /// - Parameter isWanted: called about every 100,000 steps of SQLite's machine, some milliseconds apart. True ends the
    ///   statement with `store.interrupted`.
    package func interrupt(when isWanted: @escaping () -> Bool) {
        let box = InterruptBox(isWanted)
        interruptBox = box
        sqlite3_progress_handler(
            handle, 100_000,
            { context in
                guard let context else { return 0 }
                return Unmanaged<InterruptBox>.fromOpaque(context).takeUnretainedValue().isWanted() ? 1 : 0
            }, Unmanaged.passUnretained(box).toOpaque())
    }

    /// Runs one or more statements that return no rows.
    package func execute(_ sql: String) throws(MigrationError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw SQLiteFailure.error(handle, code: code, doing: "Running \(sql.prefix(200))", path: path)
        }
    }

    /// Prepares one statement.
    package func prepare(_ sql: String) throws(MigrationError) -> Statement {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, sql, -1, &prepared, nil)
        guard code == SQLITE_OK, let prepared else {
            throw SQLiteFailure.error(handle, code: code, doing: "Preparing \(sql.prefix(200))", path: path)
        }
        return Statement(handle: prepared, connection: self)
    }

    /// Returns the first column of the first row as an integer; nil if there is no row or it is NULL.
    package func integer(_ sql: String) throws(MigrationError) -> Int64? {
        let statement = try prepare(sql)
        guard try statement.step(), !statement.isNull(0) else { return nil }
        return statement.integer(0)
    }

    /// Returns the first column of the first row as text; nil if there is no row or it is NULL.
    func text(_ sql: String) throws(MigrationError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    /// Returns the texts in the first column of all rows.
    package func texts(_ sql: String) throws(MigrationError) -> [String] { try rows(sql) { $0.text(0) } }

    /// Returns what a function makes of the rows, without nil.
    package func rows<Value>(
        _ sql: String, _ value: (Statement) throws(MigrationError) -> Value?
    ) throws(MigrationError) -> [Value] {
        let statement = try prepare(sql)
        var values: [Value] = []
        while try statement.step() { if let value = try value(statement) { values.append(value) } }
        return values
    }
}

/// A prepared statement, finalised when released.
package final class Statement {
    /// The C handle, for hot loops.
    package let handle: OpaquePointer
    private let connection: Connection

    init(handle: OpaquePointer, connection: Connection) {
        self.handle = handle
        self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    /// Advances to the next row. Returns false at the end.
    package func step() throws(MigrationError) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            throw SQLiteFailure.error(
                connection.handle, code: code, doing: "Running a statement", path: connection.path)
        }
    }

    /// Runs the statement to its end and resets it.
    package func run() throws(MigrationError) {
        while try step() {}
        sqlite3_reset(handle)
    }

    package func reset() {
        sqlite3_reset(handle)
    }

    package func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(handle, index, value) }
    /// Binds the first parameters.
    package func bind(_ values: Int64...) {
        for (index, value) in values.enumerated() { bind(value, at: Int32(index) + 1) }
    }
    package func bind(_ value: Double, at index: Int32) { sqlite3_bind_double(handle, index, value) }
    package func bindNull(at index: Int32) { sqlite3_bind_null(handle, index) }
    /// Binds a copy of the text.
    package func bind(_ value: String, at index: Int32) {
        // withCString never gives a null pointer, so an empty text does not become NULL. NULs inside are kept.
        let count = UInt64(value.utf8.count)
        _ = value.withCString { sqlite3_bind_text64(handle, index, $0, count, Statement.transient, UInt8(SQLITE_UTF8)) }
    }
    /// Binds a copy of the bytes.
    package func bind(_ value: [UInt8], at index: Int32) {
        if value.isEmpty {
            sqlite3_bind_zeroblob(handle, index, 0)
        } else {
            sqlite3_bind_blob64(handle, index, value, UInt64(value.count), Statement.transient)
        }
    }

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    package func type(_ column: Int32) -> Int32 { sqlite3_column_type(handle, column) }
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    /// Returns a column as an integer; nil for NULL.
    package func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }
    package func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }
    /// Returns the text of a column, with damaged UTF-8 repaired; nil for NULL.
    package func text(_ column: Int32) -> String? {
        guard !isNull(column), let bytes = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
    /// Returns the bytes of a column; nil for NULL.
    package func blob(_ column: Int32) -> [UInt8]? {
        guard !isNull(column) else { return nil }
        let bytes = sqlite3_column_blob(handle, column)
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// SQLITE_TRANSIENT, which Swift cannot import: SQLite makes its own copy.
    package static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

private final class InterruptBox {
    let isWanted: () -> Bool

    init(_ isWanted: @escaping () -> Bool) { self.isWanted = isWanted }
}
