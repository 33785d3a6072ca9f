import DatabasePages
import Diagnostics
import Glibc
import SpillStorage

/// Counts the rows of a store before its publication, from its pages. SQLite would read them one by one, and they are not in
/// the page cache.
///
/// They are read past that cache, if the file system allows it, because loading them into it costs more than counting.
///
/// Memory: 256 KiB and some pages.
package final class PublishedRows {
    private let connection: Connection
    private let pages: DirectPages?
    private var indexes: Statement?

    /// - Parameters:
    ///   - path: the path of the store, which is still private.
    ///   - connection: a connection to the store.
    package init(_ path: String, _ connection: Connection) throws(MigrationError) {
        self.connection = connection
        let pageSize = Int(try connection.integer("PRAGMA page_size") ?? 0)
        let pageCount = try connection.integer("PRAGMA page_count") ?? 0
        pages = try DirectPages(path, pageSize: pageSize, pageCount: pageCount)
    }

    /// A query for the root page of the index that has a table's rows in the fewest pages, which is the one with the fewest
    /// columns. Its parameter is the table's name. The join's order is given, as SQLite would list the table's indexes once for
    /// each index of the file.
    static let indexQuery = """
        SELECT m.rootpage FROM pragma_index_list(?1) AS l CROSS JOIN sqlite_master AS m
        ON m.type = 'index' AND m.name = l.name WHERE l.partial = 0
        ORDER BY (SELECT count(*) FROM pragma_index_info(l.name)), m.rootpage LIMIT 1
        """

    /// Returns the number of rows of a table, from an index over all of them if there is one; nil if no page can be counted.
    ///
    /// - Parameter query: the statement of ``indexQuery``.
    static func count(
        _ table: String, in file: PageFile, _ connection: Connection, _ query: Statement
    ) throws(MigrationError) -> Int64? {
        query.reset()
        query.bind(table, at: 1)
        defer { query.reset() }
        if try query.step(), let root = UInt32(exactly: query.integer(0)) {
            return try PairScan.isIndex(file, root: root)
                ? TreeCount.entries(ofTree: root, isIndex: true, in: file) : nil
        }
        guard let root = try connection.root(of: "table", table), try TableScan.isTable(file, root: root) else {
            return nil
        }
        return try TreeCount.entries(ofTree: root, isIndex: false, in: file)
    }

    /// Returns the number of rows of a table, from an index over all of them if there is one.
    package func count(_ table: String) throws(MigrationError) -> Int64 {
        if let file = pages?.file {
            if indexes == nil { indexes = try connection.prepare(Self.indexQuery) }
            if let indexes, let count = try Self.count(table, in: file, connection, indexes) { return count }
        }
        return try connection.integer("SELECT count(*) FROM \(SQLName.quoted(table))") ?? -1
    }
}

/// The pages of a file that no connection of this process has open. They are read past the page cache, if the file system allows
/// it. The file is closed on release.
final class DirectPages {
    /// The pages; nil if the file's form is not a common one.
    private(set) var file: PageFile?
    private let descriptor: Int32
    private let direct: Int32

    /// Opens the file.
    ///
    /// - Returns: nil if it cannot be opened; `errno` has the reason.
    init?(_ path: String, pageSize: Int, pageCount: Int64) throws(MigrationError) {
        descriptor = PosixFile.openReadOnly(path)
        guard descriptor >= 0 else { return nil }
        direct = open(path, O_RDONLY | O_CLOEXEC | FileFlags.direct)
        // All members have a value, so an error from here on runs the deinitialiser.
        file = try PageFile.open(
            path: path, descriptor: descriptor, direct: direct >= 0 ? direct : nil, pageSize: pageSize, frames: nil,
            pageCount: pageCount)
    }

    deinit {
        file?.close()
        close(descriptor)
        if direct >= 0 { close(direct) }
    }
}
