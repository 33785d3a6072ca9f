import Diagnostics
import SpillStorage

/// A file that is being filled as it was at a checkpoint: the allocator, the pages that wait, and the open pages of the trees.
///
/// All pages up to the allocator's are in the file when it is taken. What is written to the file afterwards is beyond them,
/// or is written again from what the checkpoint holds: so cutting the file off is all that going back takes.
extension DatabaseFileWriter {
    /// Brings the buffered pages into the file and writes what is open.
    ///
    /// - Parameters:
    ///   - tables: trees of tables that are open.
    ///   - indexes: trees of indexes that are open.
    /// - Throws: `store.full`, `store.io` (74).
    package func save(
        tables: [TableLoader], indexes: [IndexLoader], to state: inout StateWriter
    ) throws(MigrationError) {
        try output.flush(goesOn: true)
        state.write(changeCounter)
        state.write(output.pageCount)
        map.save(to: &state)
        state.write(tables.count)
        for table in tables { table.tree.save(to: &state) }
        state.write(indexes.count)
        for index in indexes { index.tree.save(to: &state) }
    }

    /// Goes on from a checkpoint: cuts the file off, and makes the trees what they were.
    ///
    /// - Parameters:
    ///   - tables: fresh loaders, as they were open.
    ///   - indexes: the same.
    ///   - emptied: root pages of trees that may have been finished since, of tables and of indexes.
    /// - Throws: `journal.damaged`, `store.io` (74).
    package func restore(
        tables: [TableLoader], indexes: [IndexLoader], emptied: (tables: [UInt32], indexes: [UInt32]),
        from state: inout StateReader
    ) throws(MigrationError) {
        changeCounter = try state.page()
        let pages = try state.page()
        guard pages >= map.existing else { throw StateReader.damaged("fewer pages than the file had") }
        try map.restore(from: &state)
        guard try state.count(upTo: tables.count) == tables.count else { throw StateReader.damaged("other tables") }
        for table in tables { try table.tree.restore(from: &state) }
        guard try state.count(upTo: indexes.count) == indexes.count else { throw StateReader.damaged("other indexes") }
        for index in indexes { try index.tree.restore(from: &state) }
        try output.goBack(toPage: pages)
        for root in emptied.tables { try empty(root, .tableLeaf) }
        for root in emptied.indexes { try empty(root, .indexLeaf) }
        try writeHeader(pageCount: map.existing)
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
