import DatabasePages
import Diagnostics
import Glibc
import Rows
import SpillStorage

/// The entries of a table's indexes: what the state of a table tells of them, and sorting the others again.
extension PageTableWriter {
    /// Which entries of indexes a checkpoint tells of.
    package enum SavedSorts {
        /// None.
        case none
        /// Those that lie in files. The checkpoint is about to be brought to the disk, with the files that it names.
        case all
        /// Those that the last checkpoint told of that stands on the disk (``forgetWritten(before:)``).
        case standing
    }

    /// What the sorters have in files; nothing where there is nothing.
    func sortedEntries(_ target: Target) throws(MigrationError) -> [UInt8] {
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
    func restoreSorts(_ bytes: [UInt8], _ target: inout Target) throws(MigrationError) {
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

    /// What the sorters have in memory and in a file as well; nothing where there is nothing.
    func keptEntries(_ target: Target) -> [UInt8] {
        var state = StateWriter()
        var isAny = false
        for index in target.indexes {
            guard let sorter = index.sorter, let kept = sorter.keep() else { continue }
            isAny = true
            state.write(index.name)
            state.write(kept.rows)
            state.write(kept.id)
            var entries = StateWriter()
            sorter.saveKept(to: &entries)
            state.write(bytes: entries.bytes)
        }
        return isAny ? state.bytes : []
    }

    /// Gives the sorters what they had in memory, where it stands in a file.
    ///
    /// - Returns: the rows whose entries they have, and the key of the last, by places of indexes.
    func restoreKept(
        _ bytes: [UInt8], _ target: Target
    ) throws(MigrationError) -> [Int: (rows: Int64, key: Int64)] {
        var known: [Int: (rows: Int64, key: Int64)] = [:]
        var state = StateReader(bytes)
        while !state.isAtEnd {
            let (name, kept, id) = (try state.text(), try state.integer(), try state.integer())
            var entries = StateReader(try state.block())
            guard kept > 0, kept <= rows,
                let place = target.indexes.firstIndex(where: { $0.name == name && $0.sorter != nil }),
                let sorter = target.indexes[place].sorter, known[place] == nil, sorter.settledRows == 0
            else { throw StateReader.damaged("the entries of an index") }
            guard let found = try sorter.restoreKept(from: &entries) else { continue }
            try entries.finish()
            guard found == (kept, id) else { throw StateReader.damaged("the number of entries") }
            known[place] = (kept, id)
        }
        return known
    }

    /// Gives the sorters the entries of the rows that stand in the file, but those that they have.
    ///
    /// - Parameter kept: the rows whose entries the sorters have in memory, and the key of the last, by places of indexes.
    func sortAgain(
        _ target: inout Target, _ kept: [Int: (rows: Int64, key: Int64)], pages: UInt32
    ) throws(MigrationError) {
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
        let places = target.indexes.indices.filter { target.indexes[$0].sorter != nil }
        let known = places.map { kept[$0] ?? target.indexes[$0].settled }
        let first = known.min { $0.rows < $1.rows } ?? (0, .min)
        if first.rows > 0 { request.after = first.key }
        let slots = Set(places.flatMap { target.indexes[$0].slots })
        for slot in slots.sorted() {
            request.fields.append(
                .init(field: slot + (target.isKeyed ? 1 : 0), slot: slot, affinity: target.affinities[slot]))
        }
        let scan = TableScan(file: file, root: target.root, request: request)
        var batch = RowBatch(slots: target.affinities.count, rowCapacity: 1000, byteTarget: 128 << 10)
        var read = first.rows
        while true {
            // An index alone needs no batches, as long as its rows are ordinary.
            if places.count == 1, let place = places.first {
                read += try sortOrdinary(&target, place, scan, after: read)
            }
            batch.removeAll()
            try scan.fill(&batch)
            if batch.isEmpty { break }
            for (place, known) in zip(places, known) {
                let index = target.indexes[place]
                let first = Int(clamping: known.rows - read)
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
        guard let sorter = target.indexes[place].sorter else { return 0 }
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
