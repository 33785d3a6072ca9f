import DatabasePages
import Diagnostics
import Glibc
import Rows
import SpillStorage

/// Saves the state of a table that is being filled, and resumes from it.
extension PageTableWriter {
    /// The part of a state that is not in the trees.
    private struct Head: StateCodable {
        var isComplete = false
        var rows: Int64 = 0
        /// The pages of the file before the first row.
        var pages: UInt32 = 0
        /// The names of the indexes; of those that need no sorter any more; and of those that are built.
        var (all, done, built): ([String], [String], [String]) = ([], [], [])
        /// The columns of the last entry of the primary key's index; nil before the first one.
        var last: [Int64]?

        mutating func code(with coder: inout StateCoder) throws(MigrationError) {
            try coder.code(&self, \.isComplete, \.rows, \.pages, \.all, \.done, \.built, \.last)
        }
    }

    /// Writes appended rows into the file and returns the rest of the state needed to resume; nil if nothing was appended, and
    /// while an index is built.
    ///
    /// The entries of indexes are not part of the state: a resumed writer reads them again from the rows in the store.
    ///
    /// - Throws: `store.full`, `store.io` (74).
    package func checkpoint() throws(MigrationError) -> [UInt8]? {
        guard let open, !isBuilding else { return nil }
        let indexes = open.target.indexes
        var head = Head(
            isComplete: isComplete, rows: rows, pages: open.file.existingPages, all: indexes.map(\.name),
            done: indexes.filter { $0.sorter == nil }.map(\.name), built: built.sorted(),
            last: last.map { [$0.0, $0.1] })
        var coder = StateCoder()
        try coder.code(&head)
        let (tables, trees) = isComplete ? ([], []) : ([open.table], open.primary.map { [$0] } ?? [])
        try open.file.save(tables: tables, indexes: trees, to: &coder)
        return coder.bytes
    }

    /// Resumes from a checkpoint. Later writes to the file are cut off.
    ///
    /// - Parameter bytes: the result of ``checkpoint()``.
    /// - Throws: `journal.damaged`, `store.io` (74), `spill.…`.
    /// - Complexity: O(rows so far) if the table has sorted indexes, else O(1).
    package func resume(from bytes: [UInt8]) throws(MigrationError) {
        precondition(open == nil, "a writer is resumed before its first row")
        var coder = StateCoder(reading: bytes)
        var head = Head()
        try coder.code(&head)
        (isComplete, rows, built) = (head.isComplete, head.rows, Set(head.built))
        var target = try begin(Set(head.all))
        guard target.indexes.count == head.all.count else { throw StateReader.damaged("other indexes") }
        if let values = head.last {
            guard target.primary != nil, values.count == 2 else { throw StateReader.damaged("another primary key") }
            last = (values[0], values[1])
        }
        for place in target.indexes.indices where head.done.contains(target.indexes[place].name) {
            target.indexes[place].sorter = nil
        }
        if target.indexes.contains(where: { $0.sorter != nil }), rows > 0 {
            try sortAgain(target, pages: try whole(target, head, coder))
        }
        let made = try restored(target, head, coder)
        // The pages that the killed run wrote after the state are cut off, and those that it overwrote are restored.
        if access(FileSums.path(of: path), F_OK) == 0 {
            try FileSums.check(path, upTo: made.file.pageCount * FileSums.block)
        }
        open = made
    }

    /// Completes the trees of a checkpoint temporarily, so that they can be read. The writer is released afterwards, and its
    /// memory is free for the resumed one.
    ///
    /// - Returns: the number of pages of the file.
    private func whole(_ target: Target, _ head: Head, _ coder: StateCoder) throws(MigrationError) -> UInt32 {
        let made = try restored(target, head, coder)
        if !isComplete {
            try made.table.finish()
            try made.primary?.finish()
        }
        try made.file.finish()
        return UInt32(clamping: made.file.pageCount)
    }

    private func restored(_ target: Target, _ head: Head, _ coder: StateCoder) throws(MigrationError) -> Open {
        var coder = coder
        let made = Open(target, file: try DatabaseFileWriter(path: path, pages: head.pages))
        let open = target.indexes.filter { $0.sorter != nil }.map(\.root)
        if isComplete {
            try made.file.restore(tables: [], indexes: [], emptied: ([], open), from: &coder)
        } else {
            try made.file.restore(
                tables: [made.table], indexes: made.primary.map { [$0] } ?? [],
                emptied: ([target.root], open + (target.primary.map { [$0.root] } ?? [])), from: &coder)
        }
        try coder.finish()
        return made
    }

    /// Gives the sorters the entries of the rows in the file.
    private func sortAgain(_ target: Target, pages: UInt32) throws(MigrationError) {
        // Pages that were written past the page cache are read past it too.
        guard let pages = try DirectPages(path, pageSize: 4096, pageCount: Int64(pages)) else {
            throw PageFailure.system("Opening", path, number: Int(errno))
        }
        guard let file = pages.file else { throw StateReader.damaged("the file cannot be read") }
        defer { withExtendedLifetime(pages) {} }
        // No limit, because each value was in memory once, when its row was written.
        var request = ScanRequest(large: .init(limit: .max) { _, _, _ in StateReader.damaged("a value") })
        let indexes = target.indexes.filter { $0.sorter != nil }
        for slot in Set(indexes.flatMap(\.slots)).sorted() {
            request.fields.append(
                .init(field: slot + (target.isKeyed ? 1 : 0), slot: slot, affinity: target.affinities[slot]))
        }
        let scan = TableScan(file: file, root: target.root, request: request)
        var batch = RowBatch(slots: target.affinities.count, rowCapacity: 1000, byteTarget: 128 << 10)
        var read: Int64 = 0
        while true {
            batch.removeAll()
            try scan.fill(&batch)
            if batch.isEmpty { break }
            for index in indexes { try index.sorter?.append(batch, firstID: nil) }
            read += Int64(batch.count)
        }
        guard read == rows else { throw StateReader.damaged("\(read) rows in the place of \(rows)") }
    }
}
