import CSQLite
import DatabasePages
import Diagnostics
import Glibc

/// The pages of a source, read alongside SQLite's connection: through its descriptors, under its lock, in its snapshot.
///
/// It must use the same descriptors, because closing another descriptor of the same file would drop the locks that SQLite holds
/// elsewhere in the process.
///
/// Memory: 8 bytes a page in the `-wal`, of ``mostFrames`` at most, and some kilobytes a table.
final class SourcePages {
    /// A table as its schema declares it.
    struct Table {
        struct Column {
            let field: Int
            let affinity: ColumnAffinity
            /// True if a record without the field means NULL.
            let isNullWhereAbsent: Bool
        }
        let root: UInt32
        /// The columns by name in lower case, without the key.
        let columns: [String: Column]
    }

    /// The greatest number of `-wal` frames that are indexed: 1 MiB of offsets. If there are more, SQLite reads.
    private static let mostFrames = 131_072

    /// The page file; nil if SQLite must read.
    let file: PageFile?
    private var tables: [String: TableOrReason] = [:]
    private var knownSchema: FileSchema?

    /// A table, or the reason why SQLite must read it.
    enum TableOrReason {
        case table(Table)
        case reason(String)
    }

    private init(_ file: PageFile?) { self.file = file }

    /// The snapshot's tables and indexes.
    func schema(_ connection: Connection) throws(MigrationError) -> FileSchema {
        if let knownSchema { return knownSchema }
        let schema = try FileSchema(connection)
        knownSchema = schema
        return schema
    }

    func close() { file?.close() }

    /// Examines the file.
    ///
    /// - Returns: the pages, or the reason why they cannot be used.
    /// - Throws: `store.io`, `store.damaged`.
    static func open(
        _ connection: Connection, path: String
    ) throws(MigrationError) -> (pages: SourcePages, refusal: String?) {
        func refused(_ reason: String) -> (SourcePages, String?) { (SourcePages(nil), reason) }
        guard let main = descriptor(connection, SQLITE_FCNTL_FILE_POINTER), main >= 0 else {
            return refused("its file is not open")
        }
        let pageSize = Int(try connection.integer("PRAGMA page_size") ?? 0)
        let pageCount = try connection.integer("PRAGMA page_count") ?? 0
        guard let mode = try connection.text("PRAGMA journal_mode") else { return refused("its journal is unknown") }
        var frames: CommittedFrames?
        if mode == "wal" {
            guard !isShared(path + "-shm") else { return refused("another process has it open") }
            guard let log = descriptor(connection, SQLITE_FCNTL_JOURNAL_POINTER) else {
                return refused("its -wal is not open")
            }
            frames = try CommittedFrames.read(
                descriptor: log, pageSize: pageSize, mostFrames: mostFrames, path: path)
            guard frames != nil else { return refused("its -wal is too long") }
        }
        let file = try PageFile.open(
            path: path, descriptor: main, pageSize: pageSize, frames: frames, pageCount: pageCount)
        guard let file else { return refused("its header or its text encoding is not a common one") }
        return (SourcePages(file), nil)
    }

    fileprivate static func descriptor(_ connection: Connection, _ operation: Int32) -> Int32? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection.handle, "main", operation, &file) == SQLITE_OK, let file else {
            return nil
        }
        return SourceFile.descriptor(of: file)
    }

    /// Tells whether any process holds a lock on a `-shm`, as every process does that has a store in WAL mode open.
    ///
    /// It reads the system's list of locks, because opening and closing the file would drop locks of this process.
    private static func isShared(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return errno != ENOENT }
        // Without the list nothing is known, so SQLite reads.
        guard let bytes = try? FileBytes.read("/proc/locks", most: .max) else { return true }
        // Device and inode, in the form "08:01:1234567".
        let suffix = ":\(status.st_ino)"
        return bytes.split(separator: UInt8(ascii: " ")).contains { $0.reversed().starts(with: suffix.utf8.reversed()) }
    }

    /// Returns a table's root page and columns, or the reason why SQLite must read it: its keys are not of the common kind, it
    /// has computed columns, or it does not exist.
    ///
    /// - Parameter isKeyed: false for a table of any rows, of which only columns that are no key are read.
    func table(
        _ name: String, _ connection: Connection, isKeyed: Bool = true
    ) throws(MigrationError) -> TableOrReason {
        if isKeyed, let known = tables[name] { return known }
        let table = try describe(name, connection, isKeyed)
        if isKeyed { tables[name] = table }
        return table
    }

    private func describe(
        _ name: String, _ connection: Connection, _ isKeyed: Bool
    ) throws(MigrationError) -> TableOrReason {
        guard let file else { return .reason("the file is not read by its pages") }
        guard let root = try schema(connection).root(of: "table", name, connection),
            try TableScan.isTable(file, root: root)
        else {
            return .reason("it is a view, a virtual table or one without row ids")
        }
        // An index for the primary key shows that the key is not the rowid.
        let hasOwnKeys = try connection.indexes(of: name).contains { $0.origin == "pk" }
        guard !hasOwnKeys || !isKeyed else { return .reason("its primary key is not its rows' own number") }
        let rows = try connection.prepare("PRAGMA main.table_xinfo(\(SQLName.quoted(name)))")
        var columns: [String: Table.Column] = [:]
        var keys = 0
        var field = 0
        while try rows.step() {
            guard rows.integer(6) == 0, let column = rows.text(1) else {
                rows.reset()
                return .reason("it has hidden or computed columns")
            }
            let type = rows.text(2) ?? ""
            if rows.integer(5) != 0, !hasOwnKeys {
                keys += 1
                guard type.uppercased() == "INTEGER", column.uppercased() == "Z_PK" else {
                    rows.reset()
                    return .reason("its primary key is not its rows' own number")
                }
            } else {
                let initial = rows.text(4)
                columns[column.lowercased()] = Table.Column(
                    field: field, affinity: ColumnAffinity(declaredType: type),
                    isNullWhereAbsent: initial == nil || initial?.uppercased() == "NULL")
            }
            field += 1
        }
        return keys == 1 || hasOwnKeys
            ? .table(Table(root: root, columns: columns)) : .reason("it has no column that is its rows' own number")
    }

    /// Tells whether columns of a table are declared as integers.
    func areIntegers(_ columns: [String], _ table: String, _ connection: Connection) throws(MigrationError) -> Bool {
        let integers = try connection.rows("PRAGMA main.table_info(\(SQLName.quoted(table)))") { row in
            ColumnAffinity(declaredType: row.text(2) ?? "") == .integer ? row.text(1)?.lowercased() : nil
        }
        return Set(integers).isSuperset(of: columns.map { $0.lowercased() })
    }

    /// Returns the root page of an index over exactly the given columns of integers, ascending and in this order.
    ///
    /// - Returns: nil if there is none.
    func index(ofTable table: String, columns: [String], _ connection: Connection) throws(MigrationError) -> UInt32? {
        guard let file, try areIntegers(columns, table, connection) else { return nil }
        let wanted = columns.map { $0.lowercased() }
        for index in try connection.indexes(of: table) where !index.isPartial {
            let all = try connection.allColumns(ofIndex: index.name)
            let keys = all.prefix { $0.isKey }
            guard keys.allSatisfy(\.isPlain), keys.map({ $0.name.lowercased() }) == wanted,
                all.dropFirst(keys.count).map(\.place) == [-1]
            else { continue }
            if let root = try schema(connection)[index.name], try PairScan.isIndex(file, root: root) {
                return root
            }
        }
        return nil
    }
}

extension SourceStore {
    /// Has the system read the file from front to back into its cache, if that takes at most a quarter of the machine's memory.
    ///
    /// To get pages from a disk in the order of trees, one by one, costs twenty times as much.
    package func readAhead() {
        var status = stat()
        guard let file = SourcePages.descriptor(connection, SQLITE_FCNTL_FILE_POINTER), fstat(file, &status) == 0,
            Int(status.st_size) <= sysconf(Int32(_SC_PHYS_PAGES)) * (sysconf(Int32(_SC_PAGESIZE)) / 4)
        else { return }
        // The system reads a few megabytes for each request at most.
        let step: off_t = 1 << 20
        for offset in stride(from: 0, to: status.st_size, by: Int(step)) {
            _ = posix_fadvise(file, offset, step, POSIX_FADV_WILLNEED)
        }
    }
}
