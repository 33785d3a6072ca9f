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

extension PointerMap {
    /// Writes or reads the state of the map pages that wait.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        var own = existing
        try coder.code(&own)
        guard own == existing else { throw StateReader.damaged("another file's pages") }
        try coder.code(&lastWritten)
        var pages = blocks.keys.sorted()
        try coder.code(&pages)
        for page in pages {
            guard page >= 2, PageGeometry.mapPage(of: page) == page else { throw StateReader.damaged("a map page") }
            let block = blocks[page] ?? Block(page: page)
            try coder.code(&block.missing, upTo: Int(PageGeometry.entriesPerMap))
            try coder.code(
                space: UnsafeMutableRawBufferPointer(start: block.bytes, count: PageGeometry.pageSize))
            blocks[page] = block
        }
    }
}

extension PageTree {
    /// The most levels of a tree that SQLite allows.
    private static let deepest = 20

    /// Writes or reads the state of the open page of each level.
    final func codePages(with coder: inout StateCoder) throws(MigrationError) {
        var own = root
        try coder.code(&own)
        guard own == root else { throw StateReader.damaged("another tree") }
        try leaf.code(with: &coder)
        try coder.code(objects: &levels, upTo: Self.deepest) { coder, known throws(MigrationError) in
            let level = known ?? Level(interior)
            try level.image.code(with: &coder)
            return level
        }
        guard leaf.count > 0 || levels.isEmpty, levels.allSatisfy({ $0.image.count > 0 }) else {
            throw StateReader.damaged("a tree with an empty page")
        }
    }
}

extension TableTree {
    /// Writes or reads the state of the tree.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&lastKey)
        try codePages(with: &coder)
        guard lastKey != nil || leaf.count == 0 else { throw StateReader.damaged("a tree without its last key") }
    }
}

extension PageImage {
    /// Writes or reads the page's state: pointers, contents, and the cells' overflow pages.
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&count, upTo: PageGeometry.pageSize / 6)
        try coder.code(&contentStart, upTo: PageGeometry.pageSize)
        guard kind.headerSize + 2 * count <= contentStart else { throw StateReader.damaged("a page of other sizes") }
        try coder.code(space: UnsafeMutableRawBufferPointer(start: bytes + kind.headerSize, count: 2 * count))
        let size = PageGeometry.pageSize - contentStart
        try coder.code(space: UnsafeMutableRawBufferPointer(start: bytes + contentStart, count: size))
        let last = count - 1
        try coder.code(list: &overflows, empty: (0, 0)) { coder, overflow throws(MigrationError) in
            try coder.code(&overflow.cell, upTo: last)
            try coder.code(&overflow.page)
        }
        guard isConsistent else { throw StateReader.damaged("a page whose cells do not follow each other") }
    }
}
