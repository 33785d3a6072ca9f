import Diagnostics
import SpillStorage

extension DatabaseFileWriter {
    /// Cuts a file back to a number of pages, as if no table had been filled since it had them. The trees that were filled since
    /// become empty: their root pages are all that they had then.
    ///
    /// No connection may be in a transaction. The next one reads the schema anew.
    ///
    /// - Parameters:
    ///   - pages: the number of pages; each of them was synced.
    ///   - roots: the root pages of the trees that were empty then, of tables and of indexes.
    /// - Throws: `journal.damaged` (74) if the file is shorter, `store.damaged`, `store.io` (74).
    /// - Complexity: O(roots).
    package static func cut(
        _ path: String, toPages pages: UInt32, emptying roots: (tables: [UInt32], indexes: [UInt32]),
        calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) {
        // A process that was killed while it filled the file has left the header as it was.
        let writer = try DatabaseFileWriter(path: path, pages: pages, calls: calls)
        try writer.output.goBack(toPage: pages)
        for (list, kind) in [(roots.tables, PageKind.tableLeaf), (roots.indexes, .indexLeaf)] {
            for root in list { try writer.empty(root, kind) }
        }
        try writer.map.forgetEntries(after: pages)
        writer.changeCounter &+= 1
        try writer.writeHeader(pageCount: pages)
    }

    private func empty(_ root: UInt32, _ kind: PageKind) throws(MigrationError) {
        guard root >= 2, root <= map.existing else { throw StateReader.damaged("root page \(root)") }
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: PageGeometry.pageSize, alignment: 16)
        defer { space.deallocate() }
        space.initializeMemory(as: UInt8.self, repeating: 0)
        space[0] = kind.rawValue
        space[5] = UInt8(PageGeometry.pageSize >> 8)
        if let start = space.baseAddress { try output.overwrite(root, with: start) }
    }
}
