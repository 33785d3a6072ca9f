import CSQLite
import Diagnostics
import Foundation
import Mapping
import SpillStorage
import Stagecoach
import TestSupport
import Testing

/// A store whose rows were written by pages is the one that SQLite would have written.
@Suite("Stores read and written by pages and by SQLite")
struct WriterComparisonTests {
    @Test(
        "Both readers and both writers give the same schema, and the same rows with the same types",
        arguments: RandomMigrationTests.seeds)
    func sameStore(seed: UInt64) throws {
        let migration = try seed % 2 == 0 ? RandomMigration.explicit(seed: seed) : RandomMigration.inferred(seed: seed)
        let mapping =
            try migration.mapping ?? migration.inferredMapping()
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try migration.store.write(path: source)
        for isStaged in [false, true] {
            for invalid in [InvalidObjects.fail, .reject] {
                var codes: [String] = []
                var paths: [String] = []
                // Readers and writers do not know of each other: a third way shows it.
                let mixed: (StoreReader, StoreWriter) = seed % 4 < 2 ? (.pages, .sqlite) : (.sqlite, .pages)
                for (reader, writer) in [(StoreReader.pages, StoreWriter.pages), (.sqlite, .sqlite), mixed] {
                    let path = folder.file("\(reader)\(writer)-\(isStaged)-\(invalid).sqlite")
                    var options = MigrationOptions()
                    options.memoryLimit = (ProcessMemory.currentResident() ?? 0) + 48 << 20
                    options.usesStoreSpecificMigrationManager = !isStaged
                    options.onInvalid = invalid
                    options.fullCheck = true
                    options.writer = writer
                    options.reader = reader
                    do {
                        try Migration(
                            from: source, model: migration.source, mapping: mapping, to: path,
                            model: migration.destination, options: options
                        ).run()
                        paths.append(path)
                        codes.append("")
                    } catch let error as MigrationError {
                        codes.append(error.description)
                    }
                }
                // The private store's folder has the process's name in it, never the writer's.
                let messages = codes.map { $0.replacing(/(pages|sqlite){2}-/, with: "*-") }
                #expect(Set(messages).count == 1, "seed \(seed): \(messages)")
                guard paths.count == 3 else { continue }
                for other in paths.dropFirst() {
                    let lines = try StoreDifferences(paths[0], other).lines()
                    #expect(
                        lines.isEmpty, "seed \(seed), staged \(isStaged), \(invalid)\n\(lines.prefix(8))\n\(migration)")
                }
            }
        }
    }
}

/// The differences between two files of the same schema.
private struct StoreDifferences {
    private let connection: TestConnection

    init(_ first: String, _ second: String) throws {
        connection = try TestConnection(first)
        try connection.execute("ATTACH '\(second)' AS other")
    }

    /// Differences of schema, pragmas and rows; a row is shown with its rowid and every value quoted.
    func lines() throws -> [String] {
        var lines: [String] = []
        for pragma in ["auto_vacuum", "page_size", "encoding", "user_version", "application_id", "freelist_count"] {
            let values = try ["main", "other"].map { try connection.rows("PRAGMA \($0).\(pragma)") }
            if values[0] != values[1] { lines.append("\(pragma): \(values)") }
        }
        let schema = "SELECT type, name, tbl_name, sql FROM"
        lines += try both("\(schema) main.sqlite_master", "\(schema) other.sqlite_master")
        for table in try connection.rows("SELECT name FROM main.sqlite_master WHERE type = 'table'") {
            // A model cache and metadata have random parts: the UUID of a run and dates.
            guard !["Z_METADATA", "Z_MODELCACHE"].contains(table) else { continue }
            let columns = try connection.rows("SELECT name FROM pragma_table_info('\(table)')")
            let list = (["rowid"] + columns.map { "quote(\"\($0)\")" }).joined(separator: ", ")
            lines += try both("SELECT \(list) FROM main.\"\(table)\"", "SELECT \(list) FROM other.\"\(table)\"")
        }
        return lines
    }

    private func both(_ first: String, _ second: String) throws -> [String] {
        try connection.rows("\(first) EXCEPT \(second)").map { "only by pages: \($0)" }
            + connection.rows("\(second) EXCEPT \(first)").map { "only by SQLite: \($0)" }
    }
}

/// A connection for comparing files.
private final class TestConnection {
    private var handle: OpaquePointer?

    init(_ path: String) throws {
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else { throw failure(path) }
    }

    deinit { sqlite3_close(handle) }

    func execute(_ text: String) throws {
        guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw failure(text) }
    }

    /// Every row, its columns joined.
    func rows(_ query: String) throws -> [String] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, query, -1, &statement, nil) == SQLITE_OK else { throw failure(query) }
        defer { sqlite3_finalize(statement) }
        var found: [String] = []
        var code = sqlite3_step(statement)
        while code == SQLITE_ROW {
            found.append(
                (0..<sqlite3_column_count(statement)).map { column in
                    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
                }.joined(separator: " | "))
            code = sqlite3_step(statement)
        }
        guard code == SQLITE_DONE else { throw failure(query) }
        return found
    }

    private func failure(_ what: String) -> MigrationError {
        MigrationError("test.sqlite", .internal, "\(String(cString: sqlite3_errmsg(handle))): \(what)")
    }
}
