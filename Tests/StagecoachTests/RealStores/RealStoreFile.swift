import CSQLite
import CoreDataStore
import Foundation
import TestSupport

/// The contents of a store's file, read by plain SQLite from a copy.
struct RealStoreFile {
    /// SQL by name, without the tables of persistent history.
    let tables: [String: String]
    let indexes: [String: String]
    let triggers: [String: String]
    /// Rows of Z_PRIMARYKEY as `number|name|parent`, without those of persistent history.
    let entities: [String]
    let metadata: StoreMetadata
    /// The damage of the file as a database; empty if there is none.
    let damage: [String]

    init(_ url: URL) throws {
        let folder = try TemporaryFolder()
        let path = try folder.copyStore(url)
        let source = try SourceStore(path: path, cacheBytes: 1 << 16, valueLimit: 1 << 24, temporaryDirectory: nil)
        metadata = source.metadata
        try source.close()

        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        func objects(_ type: String) throws -> [String: String] {
            let select = try connection.prepare(
                "SELECT name, sql FROM sqlite_master WHERE type = '\(type)' AND sql IS NOT NULL "
                    + "AND tbl_name NOT IN ('ACHANGE', 'ATRANSACTION', 'ATRANSACTIONSTRING')")
            var found: [String: String] = [:]
            while try select.step() { found[select.text(0) ?? ""] = select.text(1) ?? "" }
            return found
        }
        tables = try objects("table")
        indexes = try objects("index")
        triggers = try objects("trigger")
        let entities = try connection.firstColumn(
            "SELECT Z_ENT || '|' || Z_NAME || '|' || Z_SUPER FROM Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY Z_ENT")
        self.entities = entities
        damage = try Self.damage(of: connection, path: path)
    }

    private static func damage(of connection: Connection, path: String) throws -> [String] {
        var lines: [String] = []
        let check = try connection.prepare("PRAGMA integrity_check")
        while try check.step() { if let line = check.text(0), line != "ok" { lines.append(line) } }
        func expect(_ pragma: String, _ value: Int64) throws {
            let found = try connection.integer("PRAGMA \(pragma)")
            if found != value { lines.append("\(pragma) is \(found.map(String.init) ?? "nothing"), not \(value)") }
        }
        try expect("page_size", 4096)
        try expect("auto_vacuum", 2)
        try expect("freelist_count", 0)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64 ?? 0
        try expect("page_count", size / 4096)
        if size % 4096 != 0 { lines.append("\(size) bytes are no whole number of pages") }
        return lines
    }
}

/// The differences between two dictionaries of SQL by name, a line each.
func sqlDifferences(found: [String: String], expected: [String: String]) -> [String] {
    Set(found.keys).union(expected.keys).sorted().compactMap { name in
        found[name] == expected[name]
            ? nil : "\(name): \(found[name] ?? "missing"), expected \(expected[name] ?? "nothing")"
    }
}

/// The name that a CREATE statement gives.
func nameCreated(by sql: String) -> String {
    let words = sql.split(separator: " ", maxSplits: 4)
    return String(words[1] == "UNIQUE" ? words[3] : words[2]).replacingOccurrences(of: "\"", with: "")
}
