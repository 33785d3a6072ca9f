import DatabasePages
import Diagnostics
import Glibc
import Rows
import SpillStorage

/// Saves the entries of a table's indexes in its state, restores them, and sorts the missing ones again.
extension PageTableWriter {
    /// The index entries that a checkpoint describes.
    package enum SavedSorts {
        /// None.
        case none
        /// The entries in files. The checkpoint is about to be synced to the disk, with the files that it names.
        case all
        /// The entries of the last checkpoint on the disk (``forgetWritten(before:)``).
        case standing
    }

    /// Returns the entries that the sorters have in files.
    func sortedEntries(_ target: Target) throws(MigrationError) -> [SavedEntries] {
        var saved: [SavedEntries] = []
        for index in target.indexes where index.spilled.rows > 0 {
            guard let sorter = index.sorter else { continue }
            var entries = StateWriter()
            try sorter.save(to: &entries)
            saved.append(SavedEntries(index.name, index.spilled, entries.bytes))
        }
        return saved
    }

    /// Returns the entries that the sorters have both in memory and in a file; empty if there are none.
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

    /// The index entries in a state: those of the first rows.
    struct SavedEntries {
        let name: String
        /// The number of rows, and the key of the last of them.
        let spilled: (rows: Int64, key: Int64)
        /// The part written by the sorter.
        let entries: [UInt8]

        init(_ name: String, _ spilled: (rows: Int64, key: Int64), _ entries: [UInt8]) {
            (self.name, self.spilled, self.entries) = (name, spilled, entries)
        }

        /// Makes the entries that a sorter has both in memory and in a file; nil if there are none.
        init?(kept sorter: IndexSorter, of name: String) {
            guard let kept = sorter.kept else { return nil }
            var entries = StateWriter()
            sorter.saveKept(to: &entries)
            self.init(name, (kept.rows, kept.id), entries.bytes)
        }

        init(from state: inout StateReader) throws(MigrationError) {
            name = try state.text()
            spilled = (try state.integer(), try state.integer())
            entries = try state.block()
        }

        func write(to state: inout StateWriter) {
            state.write(name)
            state.write(spilled.rows)
            state.write(spilled.key)
            state.write(bytes: entries)
        }
    }

    /// Passes the entries of a state to the sorters, each with the index's position among the indexes.
    ///
    /// - Parameter restore: gives a sorter its entries; returns false if it cannot use them.
    /// - Returns: the number of rows whose entries the sorters have now, and the key of the last, by position of the index.
    private func restore(
        _ bytes: [UInt8], _ target: Target,
        _ restore: (IndexSorter, SavedEntries, inout StateReader) throws(MigrationError) -> Bool
    ) throws(MigrationError) -> [Int: (rows: Int64, key: Int64)] {
        var known: [Int: (rows: Int64, key: Int64)] = [:]
        var state = StateReader(bytes)
        while !state.isAtEnd {
            let saved = try SavedEntries(from: &state)
            guard saved.spilled.rows > 0, saved.spilled.rows <= rows,
                let place = target.indexes.firstIndex(where: { $0.name == saved.name && $0.sorter != nil }),
                let sorter = target.indexes[place].sorter, known[place] == nil, sorter.spilledRows == 0
            else { throw StateReader.damaged("the entries of an index") }
            var entries = StateReader(saved.entries)
            guard try restore(sorter, saved, &entries) else { continue }
            try entries.finish()
            known[place] = saved.spilled
        }
        return known
    }

    /// Restores the entries in files to the sorters.
    func restoreSorts(_ bytes: [UInt8], _ target: inout Target) throws(MigrationError) {
        let known = try restore(bytes, target) { sorter, saved, entries throws(MigrationError) in
            guard try sorter.restore(from: &entries) else { return false }
            guard sorter.spilledRows == Int(saved.spilled.rows) else {
                throw StateReader.damaged("the number of entries")
            }
            return true
        }
        for (place, spilled) in known { target.indexes[place].spilled = spilled }
    }

    /// Restores the entries that the sorters had in memory, if they are in a file.
    ///
    /// - Returns: the number of rows whose entries they have, and the key of the last, by position of the index.
    func restoreKept(
        _ bytes: [UInt8], _ target: Target
    ) throws(MigrationError) -> [Int: (rows: Int64, key: Int64)] {
        try restore(bytes, target) { sorter, saved, entries throws(MigrationError) in
            guard let found = try sorter.restoreKept(from: &entries) else { return false }
            guard found == (saved.spilled.rows, saved.spilled.key) else {
                throw StateReader.damaged("the number of entries")
            }
            return true
        }
    }

    /// Gives the sorters the entries of the rows in the file, except those that they already have.
    ///
    /// - Parameter kept: the number of rows whose entries the sorters have in memory, and the key of the last, by position of
    ///   the index.
    func sortAgain(
        _ target: inout Target, _ kept: [Int: (rows: Int64, key: Int64)], pages: UInt32
    ) throws(MigrationError) {
        // Pages that were written past the page cache are read past it too.
        guard let opened = try DirectPages(path, pageSize: 4096, pageCount: Int64(pages)) else {
            throw MigrationError(
                "store.io", .io, "Opening failed: \(String(cString: strerror(errno)))", context: .init(path: path))
        }
        defer { withExtendedLifetime(opened) {} }
        guard let file = opened.file else { throw StateReader.damaged("the file cannot be read") }
        // No limit, because each value was in memory once, when its row was written.
        var request = ScanRequest(
            large: .init(
                limit: .max, streamed: [],
                reference: { _, _, _, _ in preconditionFailure("no value is above the limit") },
                refusal: { _, _, _ in StateReader.damaged("a value") }))
        let places = target.indexes.indices.filter { target.indexes[$0].sorter != nil }
        let known = places.map { kept[$0] ?? target.indexes[$0].spilled }
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
            // A single index needs no batches, as long as its rows are ordinary.
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
                let now = Int64(sorter.spilledRows)
                if now != index.spilled.rows {
                    target.indexes[place].spilled = Self.spilled(now, after: read, in: batch, isKeyed: target.isKeyed)
                }
            }
            read += Int64(batch.count)
        }
        guard read == rows else { throw StateReader.damaged("\(read) rows in the place of \(rows)") }
    }

    /// Gives the sorter of an index the entries of the rows that a scan reads next, up to a row that is not ordinary.
    ///
    /// - Parameter read: the number of rows before them.
    /// - Returns: the number of rows with them.
    private func sortOrdinary(
        _ target: inout Target, _ place: Int, _ scan: TableScan, after read: Int64
    ) throws(MigrationError) -> Int64 {
        guard let sorter = target.indexes[place].sorter else { return 0 }
        let fields = target.indexes[place].slots.map { $0 + (target.isKeyed ? 1 : 0) }
        var spilled = target.indexes[place].spilled
        defer { target.indexes[place].spilled = spilled }
        var added: Int64 = 0
        while true {
            let most = Int(clamping: min(4096, rows - read - added))
            guard most > 0 else { return added }
            let more = try sorter.append(rowsOf: scan, fields: fields, upTo: most) {
                spilled = (Int64(sorter.spilledRows), $0)
            }
            added += Int64(more)
            if more < most { return added }
        }
    }
}
