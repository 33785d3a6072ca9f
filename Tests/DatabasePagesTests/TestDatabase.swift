import CSQLite
import Diagnostics
import Rows

/// A database opened through SQLite, for making schemas and for comparing.
final class TestDatabase {
    private var handle: OpaquePointer?

    init(_ path: String) throws {
        guard sqlite3_open(path, &handle) == SQLITE_OK else { throw failure(path) }
    }

    deinit { sqlite3_close(handle) }

    func execute(_ text: String) throws {
        guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw failure(text) }
    }

    /// The first column of every row, as text.
    func column(_ query: String) throws -> [String] { try rows(query).map { $0.first ?? "" } }

    /// All columns of every row, as text.
    func rows(_ query: String) throws -> [[String]] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, query, -1, &statement, nil) == SQLITE_OK else { throw failure(query) }
        defer { sqlite3_finalize(statement) }
        var found: [[String]] = []
        var code = sqlite3_step(statement)
        while code == SQLITE_ROW {
            found.append(
                (0..<sqlite3_column_count(statement)).map { index in
                    sqlite3_column_text(statement, index).map { String(cString: $0) } ?? "NULL"
                })
            code = sqlite3_step(statement)
        }
        guard code == SQLITE_DONE else { throw failure(query) }
        return found
    }

    /// Inserts a batch row by row.
    func insert(_ batch: borrowing RowBatch, into table: String, isKeyed: Bool) throws {
        let marks = Array(repeating: "?", count: batch.slots + (isKeyed ? 1 : 0)).joined(separator: ",")
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, "INSERT INTO \(table) VALUES (\(marks))", -1, &statement, nil) == SQLITE_OK
        else { throw failure(table) }
        defer { sqlite3_finalize(statement) }
        for row in 0..<batch.count {
            var place: Int32 = 1
            if isKeyed {
                sqlite3_bind_int64(statement, place, batch.key(row))
                place += 1
            }
            for slot in 0..<batch.slots {
                let cell = batch[row, slot]
                let bytes = batch.bytes(cell)
                switch cell.kind {
                case .integer, .reference: sqlite3_bind_int64(statement, place, cell.integerValue)
                case .real: sqlite3_bind_double(statement, place, cell.realValue)
                case .text:
                    sqlite3_bind_text64(
                        statement, place, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(bytes.count),
                        nil,
                        UInt8(SQLITE_UTF8))
                case .blob: sqlite3_bind_blob64(statement, place, bytes.baseAddress, UInt64(bytes.count), nil)
                case .null, .absent, .rawRecord, .huge: sqlite3_bind_null(statement, place)
                }
                place += 1
            }
            guard sqlite3_step(statement) == SQLITE_DONE else { throw failure(table) }
            sqlite3_reset(statement)
        }
    }

    func root(of name: String) throws -> UInt32 {
        UInt32(try column("SELECT rootpage FROM sqlite_master WHERE name = '\(name)'").first ?? "") ?? 0
    }

    private func failure(_ what: String) -> MigrationError {
        MigrationError("test.sqlite", .internal, "\(String(cString: sqlite3_errmsg(handle))): \(what)")
    }
}
