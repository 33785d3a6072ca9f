import DatabasePages
import Diagnostics
import Glibc
import SpillStorage

/// Saves the state of a table that is being filled, and resumes from it.
extension PageTableWriter {
    /// Writes appended rows into the file and returns the rest of the state needed to resume; nil if nothing was appended.
    ///
    /// The state may contain index entries in files, and entries in memory that are also in a file. All other entries are read
    /// again from the rows in the store.
    ///
    /// - Parameter sorts: the entries that the state describes.
    /// - Throws: `store.full`, `store.io` (74), `spill.…`.
    package func checkpoint(sorts: SavedSorts) throws(MigrationError) -> [UInt8]? {
        guard let open else { return nil }
        var state = StateWriter()
        state.write(isComplete)
        state.write(rows)
        state.write(open.file.existingPages)
        state.write(texts: open.target.indexes.map(\.name))
        state.write(texts: open.target.indexes.filter { $0.sorter == nil }.map(\.name))
        state.write(texts: built.sorted())
        switch sorts {
        case .none: pendingSorts = []
        case .all: pendingSorts = try sortedEntries(open.target)
        case .standing: break
        }
        // An index built since then has no use for its entries.
        let sorted = (sorts == .standing ? savedSorts : pendingSorts).filter { saved in
            open.target.indexes.contains { $0.name == saved.name && $0.sorter != nil }
        }
        let kept = sorts == .none ? [] : keptEntries(open.target)
        namesFiles = !sorted.isEmpty || !kept.isEmpty
        var entries = StateWriter()
        for saved in sorted { saved.write(to: &entries) }
        state.write(bytes: entries.bytes)
        state.write(bytes: kept)
        state.write(open.last?.values.count ?? 0)
        if let last = open.last {
            state.write(last.isFirst)
            for value in last.values { state.write(value) }
        }
        if isComplete {
            try state.write(optional: building?.progress) { progress, state throws(MigrationError) in
                progress.write(to: &state)
            }
            try open.file.save(tables: [], indexes: building.map { [$0.loader] } ?? [], to: &state)
        } else {
            try open.file.save(tables: [open.table], indexes: open.primary.map { [$0] } ?? [], to: &state)
        }
        return state.bytes
    }

    /// Begins the checksums of later writes, because the last checkpoint is about to be synced to the disk.
    ///
    /// - Returns: a number for ``forgetWritten(before:)``; nil if no table is open.
    package func beginWritten() -> Int? { open?.file.beginWritten() }

    /// Ends the checksums from before the checkpoint with that number, which is on the disk now.
    package func forgetWritten(before number: Int) {
        savedSorts = pendingSorts
        open?.file.forgetWritten(before: number)
    }

    /// The checksums of all that was written to the file since the last checkpoint on the disk. Read it directly after
    /// ``checkpoint(sorts:)``.
    package var written: [UInt8] {
        var state = StateWriter()
        open?.file.saveWritten(to: &state)
        return state.bytes
    }

    /// Resumes from a checkpoint. Later writes to the file are cut off.
    ///
    /// - Parameter bytes: the result of ``checkpoint(sorts:)``.
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
        try restoreSorts(try state.block(), &target)
        let kept = try restoreKept(try state.block(), target)
        let rest = state
        if target.indexes.contains(where: { $0.sorter != nil }), rows > 0 {
            try sortAgain(&target, kept, pages: try whole(target, pages: pages, from: rest))
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
        if isComplete {
            try building?.loader.finish()
            building = nil
        } else {
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
            building = try state.optional { state throws(MigrationError) in
                let progress = try IndexProgress(from: &state)
                guard let place = target.indexes.firstIndex(where: { $0.sorter != nil }) else {
                    throw StateReader.damaged("an index that is built and is not there")
                }
                return Building(
                    place: place, loader: made.file.index(root: target.indexes[place].root), progress: progress)
            }
            let loaders = building.map { [$0.loader] } ?? []
            try made.file.restore(tables: [], indexes: loaders, emptied: ([], open), from: &state)
            guard !loaders.contains(where: \.isEmpty) else { throw StateReader.damaged("an index without entries") }
        } else {
            try made.file.restore(
                tables: [made.table], indexes: made.primary.map { [$0] } ?? [],
                emptied: ([target.root], open + (target.primary.map { [$0.root] } ?? [])), from: &state)
        }
        try state.finish()
        return made
    }
}
