import Diagnostics
import Rows
import SpillStorage

/// Adds the rows of tables to a database file that SQLite made, without SQLite.
///
/// SQLite makes the empty schema. No connection may use the file until ``finish()`` returns. The next connection reads the
/// schema anew, because the header's change counter has changed. Tables are loaded one after the other, or several side by
/// side.
///
/// Memory: 128 pages, 512 in a file of some MiB, a page for each level of an open tree, and the pointer-map pages that wait for
/// a parent.
package final class DatabaseFileWriter {
    let output: PageOutput
    let map: PointerMap
    var changeCounter: UInt32 = 0

    /// Opens the file.
    ///
    /// - Parameters:
    ///   - pages: the number of pages after which the file is cut off (``cut(_:toPages:emptying:calls:)``); nil: the number in
    ///     the file's header.
    ///   - streamsFrom: the offset in the file from which on full buffers are written in another thread.
    ///   - sparePage: the store of spare buffers that this writer takes its buffer from and leaves it to.
    /// - Throws: `store.damaged` if the file is not of the kind that is written here, `store.io` (74).
    package init(
        path: String, pages given: UInt32? = nil, calls: any FileCalls = SystemFileCalls(),
        streamsFrom: Int = StreamWriter.largeFile, sparePage: SpareMemory = .hugePage
    ) throws(MigrationError) {
        let output = try PageOutput(path: path, calls: calls, streamsFrom: streamsFrom, sparePage: sparePage)
        let header = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 8)
        defer { header.deallocate() }
        try output.read(into: header, at: 0)
        func number(_ place: Int) -> UInt32 {
            UInt32(bigEndian: header.loadUnaligned(fromByteOffset: place, as: UInt32.self))
        }
        let pageSize = UInt16(bigEndian: header.loadUnaligned(fromByteOffset: 16, as: UInt16.self))
        // Page size, write and read version (no -wal), no reserved bytes; auto-vacuum; schema format 4; UTF-8.
        guard pageSize == 4096, header[18] == 1, header[19] == 1, header[20] == 0, number(52) > 0, number(44) == 4,
            number(56) == 1, given != nil || number(24) == number(92)
        else {
            throw PageFailure.damaged("The file's header is not that of a fresh store", path)
        }
        let pages = given ?? number(28)
        guard pages > 1 else { throw PageFailure.damaged("The file has \(pages) pages", path) }
        changeCounter = number(24)
        output.start(afterPage: pages)
        self.output = output
        map = PointerMap(output: output, existingPages: pages)
    }

    /// Makes a loader for a table whose tree is empty.
    ///
    /// - Parameters:
    ///   - isKeyed: true if the table's first column is its integer primary key, which has no slot.
    package func table(root: UInt32, affinities: [ColumnAffinity], isKeyed: Bool) -> TableLoader {
        TableLoader(
            tree: TableTree(root: root, output: output, map: map),
            encoder: RecordEncoder(affinities: affinities, isKeyed: isKeyed))
    }

    /// Makes a loader for an index whose tree is empty.
    package func index(root: UInt32) -> IndexLoader {
        IndexLoader(tree: IndexTree(root: root, output: output, map: map))
    }

    /// The number of pages of the file so far.
    package var pageCount: Int { Int(output.pageCount) }

    /// Writes the buffered pages, the pointer map and the header. All loaders must be finished.
    package func finish() throws(MigrationError) {
        try output.flush()
        try map.finish()
        changeCounter &+= 1
        try writeHeader(pageCount: output.pageCount)
    }

    func writeHeader(pageCount: UInt32) throws(MigrationError) {
        func bytes(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
        // SQLite believes the page count only if "version valid for" equals the change counter. The largest root page at 52
        // stays.
        try output.overwriteHeader([(24, bytes(changeCounter) + bytes(pageCount)), (92, bytes(changeCounter))])
    }
}

/// Fills the tree of a table with rows in ascending key order.
package final class TableLoader {
    let tree: TableTree
    private let encoder: RecordEncoder

    init(tree: TableTree, encoder: RecordEncoder) {
        self.tree = tree
        self.encoder = encoder
    }

    /// Appends rows.
    ///
    /// - Parameter firstKey: the id of the batch's first row, for a table without a key column; nil: the batch's keys.
    /// - Throws: `store.keyOrder`, `store.full`, `store.io`, `store.tooLarge`.
    package func append(_ batch: borrowing RowBatch, firstKey: Int64? = nil) throws(MigrationError) {
        let encoder = encoder
        for row in 0..<batch.count {
            if encoder.encodeLocal(batch, row: row) {
                try tree.append(
                    key: firstKey.map { $0 + Int64(row) } ?? batch.key(row), local: encoder.size,
                    body: { encoder.copyLocal(to: $0) })
                continue
            }
            try encoder.prepare(batch, row: row)
            guard encoder.size <= 999_999_999 else {
                throw MigrationError(
                    "store.rowTooLarge", .data,
                    "The row takes \(encoder.size.counted("byte")), and SQLite allows 1,000,000,000",
                    remedy: "Keep the row's largest value in an external file")
            }
            try tree.append(
                key: firstKey.map { $0 + Int64(row) } ?? batch.key(row), payload: encoder.size,
                fitting: { encoder.write(to: $0) },
                spanning: { writer throws(MigrationError) in try encoder.write(through: &writer) })
        }
    }

    /// Writes the open pages. Nothing may be appended afterwards.
    package func finish() throws(MigrationError) { try tree.finish() }
}

/// Fills the tree of an index with entries in ascending order.
package final class IndexLoader {
    let tree: IndexTree
    /// The record of the entry being appended.
    private let space: UnsafeMutableRawPointer

    init(tree: IndexTree) {
        self.tree = tree
        // Two columns and the row's id, and slack for the last number.
        space = .allocate(byteCount: 4 + 3 * 8 + 8, alignment: 8)
    }

    deinit { space.deallocate() }

    /// Appends an entry of one or two columns of integers or NULLs, and the row's id.
    package func append(_ first: Int64?, _ second: Int64?, columns: Int, _ rowID: Int64) throws(MigrationError) {
        space.storeBytes(of: UInt8(truncatingIfNeeded: columns + 2), as: UInt8.self)
        var place = space + columns + 2
        NumberForm.put(first.map(NumberForm.init(integer:)), serialAt: space + 1, &place)
        if columns == 2 { NumberForm.put(second.map(NumberForm.init(integer:)), serialAt: space + 2, &place) }
        NumberForm.put(NumberForm(integer: rowID), serialAt: space + columns + 1, &place)
        try tree.append(UnsafeRawBufferPointer(start: space, count: place - space))
    }

    /// Appends an entry that is a complete record.
    package func append(_ record: UnsafeRawBufferPointer) throws(MigrationError) { try tree.append(record) }

    /// Writes the open pages. Nothing may be appended afterwards.
    package func finish() throws(MigrationError) { try tree.finish() }
}
