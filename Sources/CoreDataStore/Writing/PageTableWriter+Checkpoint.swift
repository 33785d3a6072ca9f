import DatabasePages
import Diagnostics
import Glibc
import Rows
import SpillStorage

/// Saves the state of a table that is being filled, and resumes from it.
extension PageTableWriter {
    /// Writes appended rows into the file and returns the rest of the state needed to resume; nil if nothing was appended, and
    /// while an index is built.
    ///
    /// The entries of indexes are not part of the state: a resumed writer reads them again from the rows in the store.
    ///
    /// - Throws: `store.full`, `store.io` (74).
    package func checkpoint() throws(MigrationError) -> [UInt8]? {
        guard let open, !isBuilding else { return nil }
        var state = StateWriter()
        state.write(isComplete)
        state.write(rows)
        state.write(open.file.existingPages)
        state.write(texts: open.target.indexes.map(\.name))
        state.write(texts: open.target.indexes.filter { $0.sorter == nil }.map(\.name))
        state.write(texts: built.sorted())
        state.write(open.last?.values.count ?? 0)
        if let last = open.last {
            state.write(last.isFirst)
            for value in last.values { state.write(value) }
        }
        let (tables, indexes) = isComplete ? ([], []) : ([open.table], open.primary.map { [$0] } ?? [])
        try open.file.save(tables: tables, indexes: indexes, to: &state)
        return state.bytes
    }

    /// Resumes from a checkpoint. Later writes to the file are cut off.
    ///
    /// - Parameter bytes: the result of ``checkpoint()``.
    /// - Throws: `journal.damaged`, `store.io` (74), `spill.…`.
    /// - Complexity: O(rows so far) if the table has sorted indexes, else O(1).
    package func resume(from bytes: [UInt8]) throws(MigrationError) {
        precondition(open == nil, "a writer is resumed before its first row")
        var state = StateReader(bytes)
        isComplete = try state.flag()
        rows = try state.integer()
        let pages = try state.page()
        let all = Set(try state.texts(upTo: 1 << 16))
        let done = Set(try state.texts(upTo: 1 << 16))
        built = Set(try state.texts(upTo: 1 << 16))
        var target = try begin(all)
        guard target.indexes.count == all.count else { throw StateReader.damaged("other indexes") }
        for place in target.indexes.indices where done.contains(target.indexes[place].name) {
            target.indexes[place].sorter = nil
        }
        let rest = state
        if target.indexes.contains(where: { $0.sorter != nil }), rows > 0 {
            try sortAgain(target, pages: try whole(target, pages: pages, from: rest))
        }
        let made = try restored(target, pages: pages, from: rest)
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
    private func whole(_ target: Target, pages: UInt32, from state: StateReader) throws(MigrationError) -> UInt32 {
        let made = try restored(target, pages: pages, from: state)
        if !isComplete {
            try made.table.finish()
            try made.primary?.finish()
        }
        try made.file.finish()
        return UInt32(clamping: made.file.pageCount)
    }

    private func restored(
        _ target: Target, pages: UInt32, from state: StateReader
    ) throws(MigrationError) -> Open {
        var state = state
        let made = Open(target, file: try DatabaseFileWriter(path: path, pages: pages))
        let count = try state.count(upTo: 1 << 10)
        guard count == made.last?.values.count ?? 0 else { throw StateReader.damaged("another primary key") }
        if let last = made.last {
            last.isFirst = try state.flag()
            for place in 0..<count { last.values[place] = try state.integer() }
        }
        let open = target.indexes.filter { $0.sorter != nil }.map(\.root)
        if isComplete {
            try made.file.restore(tables: [], indexes: [], emptied: ([], open), from: &state)
        } else {
            try made.file.restore(
                tables: [made.table], indexes: made.primary.map { [$0] } ?? [],
                emptied: ([target.root], open + (target.primary.map { [$0.root] } ?? [])), from: &state)
        }
        try state.finish()
        return made
    }

    /// Gives the sorters the entries of the rows in the file.
    private func sortAgain(_ target: Target, pages: UInt32) throws(MigrationError) {
        let descriptor = PosixFile.openReadOnly(path)
        guard descriptor >= 0 else {
            throw MigrationError(
                "store.io", .io, "Opening failed: \(String(cString: strerror(errno)))", context: .init(path: path))
        }
        defer { close(descriptor) }
        // Pages that were written past the page cache are read past it too.
        let direct = Glibc.open(path, O_RDONLY | O_CLOEXEC | FileFlags.direct)
        defer { if direct >= 0 { close(direct) } }
        guard
            let file = try PageFile.open(
                path: path, descriptor: descriptor, direct: direct >= 0 ? direct : nil, pageSize: 4096, frames: nil,
                pageCount: Int64(pages))
        else { throw StateReader.damaged("the file cannot be read") }
        defer { file.close() }
        // No limit, because each value was in memory once, when its row was written.
        var request = ScanRequest(
            large: .init(
                limit: .max, streamed: [],
                reference: { _, _, _, _ in preconditionFailure("no value is above the limit") },
                refusal: { _, _, _ in StateReader.damaged("a value") }))
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
