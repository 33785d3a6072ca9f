import Diagnostics
import SpillStorage

/// Saves and restores a file that is being filled: the number of its pages, the pointer-map pages that wait, and the open pages
/// of the trees.
///
/// When a checkpoint is taken, all pages counted so far are in the file. Later writes go behind these pages, or are repeated
/// from what the checkpoint holds. So a restore only has to cut the file off.
extension DatabaseFileWriter {
    /// Writes the buffered pages to the file, then the writer's state.
    package func save(
        tables: [TableLoader], indexes: [IndexLoader], to coder: inout StateCoder
    ) throws(MigrationError) {
        try output.flush(continues: true)
        _ = try code(tables, indexes, with: &coder)
    }

    /// Restores a checkpoint: cuts the file off, and makes the trees what they were.
    ///
    /// - Parameters:
    ///   - tables: new loaders for the tables that were open, in the same order.
    ///   - indexes: new loaders for the indexes that were open, in the same order.
    ///   - emptied: root pages of trees that may have been finished since, of tables and of indexes; these are emptied.
    package func restore(
        tables: [TableLoader], indexes: [IndexLoader], emptied: (tables: [UInt32], indexes: [UInt32]),
        from coder: inout StateCoder
    ) throws(MigrationError) {
        try output.goBack(toPage: try code(tables, indexes, with: &coder))
        for root in emptied.tables { try empty(root, .tableLeaf) }
        for root in emptied.indexes { try empty(root, .indexLeaf) }
        try writeHeader(pageCount: map.existing)
    }

    /// Writes or reads the writer's state. Returns the number of the file's pages.
    private func code(
        _ tables: [TableLoader], _ indexes: [IndexLoader], with coder: inout StateCoder
    ) throws(MigrationError) -> UInt32 {
        var pages = output.pageCount
        var counts = [tables.count, indexes.count]
        try coder.code(&changeCounter)
        try coder.code(&pages)
        guard pages >= map.existing else { throw StateReader.damaged("fewer pages than the file had") }
        try map.code(with: &coder)
        try coder.code(&counts)
        guard counts == [tables.count, indexes.count] else { throw StateReader.damaged("other tables or indexes") }
        for table in tables { try table.tree.code(with: &coder) }
        for index in indexes { try index.tree.codePages(with: &coder) }
        return pages
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
