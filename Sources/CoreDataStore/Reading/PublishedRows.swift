import DatabasePages
import Diagnostics
import Glibc
import SpillStorage

/// Counts the rows of a store before its publication, from its pages. SQLite would read them one by one.
///
/// The pages of a large file are not in the system's cache. They are read past it, if the file system allows it, because loading
/// them into it costs more than counting.
///
/// Memory: 256 KiB and some pages.
package final class PublishedRows {
    private let connection: Connection
    private let pages: DirectPages?
    private let schema: FileSchema

    /// - Parameters:
    ///   - path: the path of the store, which is still private.
    ///   - connection: a connection to the store.
    package init(_ path: String, _ connection: Connection) throws(MigrationError) {
        self.connection = connection
        schema = try FileSchema(connection)
        let pageSize = Int(try connection.integer("PRAGMA page_size") ?? 0)
        let pageCount = try connection.integer("PRAGMA page_count") ?? 0
        pages = try DirectPages(path, pageSize: pageSize, pageCount: pageCount)
    }

    /// Returns the number of rows of a table, from the index over all of them that has the fewest columns, and so the fewest
    /// pages, if there is one; nil if no page can be counted.
    static func count(
        _ table: String, in file: PageFile, _ connection: Connection, _ schema: FileSchema
    ) throws(MigrationError) -> Int64? {
        var best: (columns: Int, root: UInt32)?
        for index in try connection.indexes(of: table) where !index.isPartial {
            guard let root = schema[index.name] else { continue }
            let columns = try connection.columns(ofIndex: index.name).count
            if best.map({ (columns, root) < $0 }) ?? true { best = (columns, root) }
        }
        if let best {
            return try PairScan.isIndex(file, root: best.root)
                ? TreeCount.entries(ofTree: best.root, isIndex: true, in: file) : nil
        }
        guard let root = try schema.root(of: "table", table, connection),
            try TableScan.isTable(file, root: root)
        else { return nil }
        return try TreeCount.entries(ofTree: root, isIndex: false, in: file)
    }

    /// Returns the number of rows of a table, from an index over all of them if there is one.
    package func count(_ table: String) throws(MigrationError) -> Int64 {
        if let file = pages?.file {
            if let count = try Self.count(table, in: file, connection, schema) { return count }
        }
        return try connection.integer("SELECT count(*) FROM \(SQLName.quoted(table))") ?? -1
    }
}

/// The pages of a file that no connection of this process writes. Those of a large file are read past the page cache, if the
/// file system allows it. The file is closed on release.
private final class DirectPages {
    /// The pages; nil if the file's form is not a common one.
    private(set) var file: PageFile?
    /// The most pages of a file that was written through the page cache and so is in it.
    private static let mostCached = 2048
    private let descriptor: Int32
    private let direct: Int32

    /// Opens the file.
    ///
    /// - Returns: nil if it cannot be opened; `errno` has the reason.
    init?(_ path: String, pageSize: Int, pageCount: Int64) throws(MigrationError) {
        descriptor = PosixFile.openReadOnly(path)
        guard descriptor >= 0 else { return nil }
        let isLarge = pageCount > Self.mostCached
        direct = isLarge ? open(path, O_RDONLY | O_CLOEXEC | FileFlags.direct) : -1
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
