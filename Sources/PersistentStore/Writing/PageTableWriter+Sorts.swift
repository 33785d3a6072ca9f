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

    /// The entries that the sorters have in files.
    func sortedEntries(_ target: Target) throws(MigrationError) -> [SavedEntries] {
        var saved: [SavedEntries] = []
        for index in target.indexes where index.settled.rows > 0 {
            guard let sorter = index.sorter else { continue }
            var entries = StateWriter()
            try sorter.save(to: &entries)
            saved.append(SavedEntries(index.name, index.settled, entries.bytes))
        }
        return saved
    }

    /// What the sorters have in memory and in a file as well; nothing where there is nothing.
    func keptEntries(_ target: Target) -> [UInt8] {
        var state = StateWriter()
        for (place, index) in target.indexes.enumerated() {
            guard let sorter = index.sorter else { continue }
            if let building, building.place == place {
                building.kept?.write(to: &state)
            } else if sorter.keep() != nil {
                SavedEntries(kept: sorter, of: index.name)?.write(to: &state)
            }
        }
        return state.bytes
    }

    /// What a state tells of the entries of an index: those of the first rows.
    struct SavedEntries {
        let name: String
        /// The rows, and the key of the last of them.
        let settled: (rows: Int64, key: Int64)
        /// The sorter's own part.
        let entries: [UInt8]

        init(_ name: String, _ settled: (rows: Int64, key: Int64), _ entries: [UInt8]) {
            (self.name, self.settled, self.entries) = (name, settled, entries)
        }

        /// Those that a sorter has in memory and in a file as well; nil where there are none.
        init?(kept sorter: IndexSorter, of name: String) {
            guard let kept = sorter.kept else { return nil }
            var entries = StateWriter()
            sorter.saveKept(to: &entries)
            self.init(name, (kept.rows, kept.id), entries.bytes)
        }

        init(from state: inout StateReader) throws(MigrationError) {
            name = try state.text()
            settled = (try state.integer(), try state.integer())
            entries = try state.block()
        }

        func write(to state: inout StateWriter) {
            state.write(name)
            state.write(settled.rows)
            state.write(settled.key)
            state.write(bytes: entries)
        }
    }

    /// Shows what a state tells of sorters' entries, with each one's place among the indexes.
    ///
    /// - Parameter restore: gives a sorter its entries; false where they are of no use to it.
    /// - Returns: the rows whose entries sorters have now, and the key of the last, by places of indexes.
    private func restore(
        _ bytes: [UInt8], _ target: Target,
        _ restore: (IndexSorter, SavedEntries, inout StateReader) throws(MigrationError) -> Bool
    ) throws(MigrationError) -> [Int: (rows: Int64, key: Int64)] {
        var known: [Int: (rows: Int64, key: Int64)] = [:]
        var state = StateReader(bytes)
        while !state.isAtEnd {
            let saved = try SavedEntries(from: &state)
            guard saved.settled.rows > 0, saved.settled.rows <= rows,
                let place = target.indexes.firstIndex(where: { $0.name == saved.name && $0.sorter != nil }),
                let sorter = target.indexes[place].sorter, known[place] == nil, sorter.settledRows == 0
            else { throw StateReader.damaged("the entries of an index") }
            var entries = StateReader(saved.entries)
            guard try restore(sorter, saved, &entries) else { continue }
            try entries.finish()
            known[place] = saved.settled
        }
        return known
    }

    /// Gives the sorters what lies in files.
    func restoreSorts(_ bytes: [UInt8], _ target: inout Target) throws(MigrationError) {
        let known = try restore(bytes, target) { sorter, saved, entries throws(MigrationError) in
            guard try sorter.restore(from: &entries) else { return false }
            guard sorter.settledRows == Int(saved.settled.rows) else {
                throw StateReader.damaged("the number of entries")
            }
            return true
        }
        for (place, settled) in known { target.indexes[place].settled = settled }
    }

    /// Gives the sorters what they had in memory, where it stands in a file.
    ///
    /// - Returns: the rows whose entries they have, and the key of the last, by places of indexes.
    func restoreKept(
        _ bytes: [UInt8], _ target: Target
    ) throws(MigrationError) -> [Int: (rows: Int64, key: Int64)] {
        try restore(bytes, target) { sorter, saved, entries throws(MigrationError) in
            guard let found = try sorter.restoreKept(from: &entries) else { return false }
            guard found == (saved.settled.rows, saved.settled.key) else {
                throw StateReader.damaged("the number of entries")
            }
            return true
        }
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
