import DatabasePages
import Diagnostics
import Glibc
import Rows
import SpillStorage

/// The state of a table that is being filled, and going on from it.
extension PageTableWriter {
    /// Brings what was appended into the file and writes what else it takes to go on from here; nil where nothing was
    /// appended.
    ///
    /// The entries of its indexes that lie in files may be part of it. The others are not: they are read again from the rows
    /// that stand in the store.
    ///
    /// - Parameter sorts: of which entries it tells.
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
        state.write(bytes: sorts == .standing ? savedSorts : pendingSorts)
        state.write(open.last?.values.count ?? 0)
        if let last = open.last {
            state.write(last.isFirst)
            for value in last.values { state.write(value) }
        }
        if isComplete {
            try open.file.save(tables: [], indexes: [], to: &state)
        } else {
            try open.file.save(tables: [open.table], indexes: open.primary.map { [$0] } ?? [], to: &state)
        }
        return state.bytes
    }

    /// Which entries of indexes a checkpoint tells of.
    package enum SavedSorts {
        /// None.
        case none
        /// Those that lie in files. The checkpoint is about to be brought to the disk, with the files that it names.
        case all
        /// Those that the last checkpoint told of that stands on the disk (``forgetWritten(before:)``).
        case standing
    }

    /// Whether the last checkpoint that was to tell of entries in files does, and the last one that stands on the disk.
    package var namesSorts: Bool { !pendingSorts.isEmpty }
    package var hasSavedSorts: Bool { !savedSorts.isEmpty }

    /// What the sorters have in files; nothing where there is nothing.
    private func sortedEntries(_ target: Target) throws(MigrationError) -> [UInt8] {
        var state = StateWriter()
        let settled = target.indexes.filter { $0.sorter != nil && $0.settled.rows > 0 }
        guard !settled.isEmpty else { return [] }
        state.write(settled.count)
        for index in settled {
            state.write(index.name)
            state.write(index.settled.rows)
            state.write(index.settled.key)
            var entries = StateWriter()
            try index.sorter?.save(to: &entries)
            state.write(bytes: entries.bytes)
        }
        return state.bytes
    }

    /// Gives the sorters what lies in files.
    private func restoreSorts(_ bytes: [UInt8], _ target: inout Target) throws(MigrationError) {
        guard !bytes.isEmpty else { return }
        var state = StateReader(bytes)
        for _ in 0..<(try state.count(upTo: 1 << 16)) {
            let (name, settled, key) = (try state.text(), try state.integer(), try state.integer())
            var entries = StateReader(try state.block())
            guard settled > 0, settled <= rows,
                let place = target.indexes.firstIndex(where: { $0.name == name && $0.sorter != nil }),
                let sorter = target.indexes[place].sorter
            else { throw StateReader.damaged("the entries of an index") }
            guard try sorter.restore(from: &entries) else { continue }
            try entries.finish()
            guard sorter.settledRows == Int(settled) else { throw StateReader.damaged("the number of entries") }
            target.indexes[place].settled = (settled, key)
        }
        try state.finish()
    }

    /// A checkpoint was taken that is about to be brought to the disk: what is written from now on is summed.
    ///
    /// - Returns: a number for ``forgetWritten(before:)``; nil where no table is open.
    package func beginWritten() -> Int? { open?.file.beginWritten() }

    /// The checkpoint of that number stands on the disk.
    package func forgetWritten(before number: Int) {
        savedSorts = pendingSorts
        open?.file.forgetWritten(before: number)
    }

    /// Sums of all that is in the file since the last checkpoint that stands on the disk; right after ``checkpoint(sorts:)``.
    package var written: [UInt8] {
        var state = StateWriter()
        open?.file.saveWritten(to: &state)
        return state.bytes
    }

    /// Goes on from a checkpoint: what was written to the file since is cut off.
    ///
    /// - Parameter bytes: what ``checkpoint(sorts:)`` gave.
    /// - Throws: `journal.damaged`, `store.io` (74), `spill.…`.
    /// - Complexity: O(rows so far) where the table has sorted indexes, else O(1).
    package func goOn(from bytes: [UInt8]) throws(MigrationError) {
        precondition(open == nil, "a writer goes on from where another stood")
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
        let rest = state
        var made = try restored(target, pages: pages, from: rest)
        if target.indexes.contains(where: { $0.sorter != nil }), rows > 0 {
            // A tree that is whole for a while, to be read.
            if !isComplete {
                try made.table.finish()
                try made.primary?.finish()
            }
            try made.file.finish()
            try sortAgain(&target, pages: UInt32(clamping: made.file.pageCount))
            made = try restored(target, pages: pages, from: rest)
        }
        open = made
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

    /// Gives the sorters the entries of the rows that stand in the file, but those that they have.
    private func sortAgain(_ target: inout Target, pages: UInt32) throws(MigrationError) {
        let descriptor = PosixFile.openReadOnly(path)
        guard descriptor >= 0 else {
            throw MigrationError(
                "store.io", .io, "Opening failed: \(String(cString: strerror(errno)))", context: .init(path: path))
        }
        defer { close(descriptor) }
        // What was written past the page cache is read past it.
        let direct = Glibc.open(path, O_RDONLY | O_CLOEXEC | FileFlags.direct)
        defer { if direct >= 0 { close(direct) } }
        guard
            let file = try PageFile.open(
                path: path, descriptor: descriptor, direct: direct >= 0 ? direct : nil, pageSize: 4096, frames: nil,
                pageCount: Int64(pages))
        else { throw StateReader.damaged("the file cannot be read") }
        defer { file.close() }
        // Each value was in memory once, when its row was written.
        var request = ScanRequest(
            large: .init(
                limit: .max, streamed: [],
                reference: { _, _, _, _ in preconditionFailure("no value is above the limit") },
                refusal: { _, _, _ in StateReader.damaged("a value") }))
        let open = target.indexes.filter { $0.sorter != nil }
        let settled = open.map(\.settled).min { $0.rows < $1.rows } ?? (0, .min)
        if settled.rows > 0 { request.after = settled.key }
        let slots = Set(open.flatMap(\.slots))
        for slot in slots.sorted() {
            request.fields.append(
                .init(field: slot + (target.isKeyed ? 1 : 0), slot: slot, affinity: target.affinities[slot]))
        }
        let scan = TableScan(file: file, root: target.root, request: request)
        let places = target.indexes.indices.filter { target.indexes[$0].sorter != nil }
        var batch = RowBatch(slots: target.affinities.count, rowCapacity: 1000, byteTarget: 128 << 10)
        var read = settled.rows
        while true {
            // An index alone needs no batches, as long as its rows are ordinary.
            if places.count == 1, let place = places.first {
                read += try sortOrdinary(&target, place, scan, after: read)
            }
            batch.removeAll()
            try scan.fill(&batch)
            if batch.isEmpty { break }
            for place in places {
                let index = target.indexes[place]
                let first = Int(clamping: index.settled.rows - read)
                guard let sorter = index.sorter, first < batch.count else { continue }
                try sorter.append(batch, from: max(0, first), firstID: nil)
                let now = Int64(sorter.settledRows)
                if now != index.settled.rows {
                    target.indexes[place].settled = Self.settled(now, after: read, in: batch, isKeyed: target.isKeyed)
                }
            }
            read += Int64(batch.count)
        }
        guard read == rows else { throw StateReader.damaged("\(read) rows in the place of \(rows)") }
    }

    /// Gives the sorter of an index the entries of the rows that a scan reads next, up to one that is not ordinary.
    ///
    /// - Parameter read: rows before them.
    /// - Returns: the rows.
    private func sortOrdinary(
        _ target: inout Target, _ place: Int, _ scan: TableScan, after read: Int64
    ) throws(MigrationError) -> Int64 {
        guard let sorter = target.indexes[place].sorter, target.indexes[place].settled.rows <= read else { return 0 }
        let fields = target.indexes[place].slots.map { $0 + (target.isKeyed ? 1 : 0) }
        var settled = target.indexes[place].settled
        defer { target.indexes[place].settled = settled }
        var added: Int64 = 0
        while true {
            let most = Int(clamping: min(4096, rows - read - added))
            guard most > 0 else { return added }
            let more = try sorter.append(rowsOf: scan, fields: fields, upTo: most) {
                settled = (Int64(sorter.settledRows), $0)
            }
            added += Int64(more)
            if more < most { return added }
        }
    }
}
