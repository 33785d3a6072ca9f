import Diagnostics
import PersistentStore

/// SQLite's own check of a finished store, before it is published: pages, order of keys, indexes against their tables.
enum IntegrityCheck {
    /// - Parameter cacheBytes: of the page cache.
    /// - Throws: `internal.integrity` (70) with the first finding; `store.io`.
    /// - Complexity: O(pages log pages); memory is the page cache and a bit a page.
    static func run(on path: String, cacheBytes: Int) throws(MigrationError) {
        let connection = try Connection.openSource(path: path, vfs: .standard)
        try connection.execute("PRAGMA cache_size=-\(max(64, cacheBytes / 1024))")
        let finding = try firstFinding(connection)
        try connection.close()
        guard finding != "ok" else { return }
        throw MigrationError(
            "internal.integrity", .internal, "The finished store does not pass SQLite's integrity check: \(finding)",
            context: .init(path: path))
    }

    private static func firstFinding(_ connection: Connection) throws(MigrationError) -> String {
        let statement = try connection.prepare("PRAGMA integrity_check(1)")
        return try statement.step() ? statement.text(0) ?? "" : ""
    }
}
