import CoreDataStore
import Diagnostics
import Rows
import SpillStorage

/// The rows of one open destination table on the policy path: made in stage 1, patched until the last policy's end, and loaded
/// once.
///
/// The latest rows are in an open batch, where a change costs nothing. Older rows are in the spill, where a change is a patch.
/// A table with sequential keys has one run of rows. With kept keys each entity mapping has its own run, because mappings come
/// one after the other, and a last run has the objects that policies insert.
///
/// Memory: one batch for each run that is being filled, and a share of the memory of all tables' spills. A sealed run gives its
/// batch back, so that idle tables and mappings cost no batch.
final class DestinationRows {
    /// A sequence of rows in ascending key order.
    final class Run {
        let spill: RowSpill
        @exclusivity(unchecked) var open: RowBatch
        /// True if the open batch was given back. The next row takes a new one.
        fileprivate(set) var isSealed = true
        /// The keys of the run's rows, by mapping, if several runs share a table; empty for the last run.
        let keys: [DestinationKeys]
        /// The greatest key of the run's rows, deleted ones included; nil if there is none.
        var lastKey: Int64? { open.isEmpty ? spill.lastKey : open.key(open.count - 1) }

        init(spill: RowSpill, open: consuming RowBatch, keys: [DestinationKeys]) {
            self.spill = spill
            self.open = open
            self.keys = keys
        }
    }

    let table: Int
    let columns: Int
    let modelRun: ModelRun
    private let memory: RowMemory
    /// The runs. The run for rows without a mapping of their own is last.
    @exclusivity(unchecked) var allRuns: [Run] = []
    /// The prepared rows that were taken but not stored yet. They are the last rows of the last run.
    @exclusivity(unchecked) private var prepared: PreparedRows?
    /// The key of the next inserted object.
    @exclusivity(unchecked) private(set) var nextKey: Int64
    @exclusivity(unchecked) private var scratch: RowBatch
    @exclusivity(unchecked) private var scratchKey: Int64?
    /// Called after a row changed, while an index of fetches needs it: the batch and row with the new values, and the key. Cells
    /// of kind absent are unchanged.
    var changed: ((borrowing RowBatch, Int, Int64) throws(MigrationError) -> Void)?
    /// The rows that the table had before; nil if there are none.
    private var stored: ExistingRows?
    private var touched: TouchedRows?
    /// The unchanged copy of an existing row while it is being changed.
    private var present: RowBatch
    /// True if an existing row was deleted.
    private(set) var hasDeletedStored = false

    /// - Parameters:
    ///   - firstKey: the key of the first inserted object.
    ///   - memory: the memory that the rows of all tables share.
    init(table: Int, firstKey: Int64, modelRun: ModelRun, memory: RowMemory) {
        self.table = table
        self.modelRun = modelRun
        self.memory = memory
        columns = modelRun.inputs.destinationSchema.tables[table].columns.count
        nextKey = firstKey
        scratch = RowBatch(slots: columns, rowCapacity: 1, byteTarget: 4096)
        present = RowBatch(slots: columns, rowCapacity: 1, byteTarget: 4096)
        allRuns.append(makeRun(keys: []))
    }

    /// The runs with all their rows. The run for rows without a mapping of their own is last.
    var runs: [Run] {
        get throws(MigrationError) {
            try putTaken()
            return allRuns
        }
    }

    /// Lays the table over its existing rows.
    func begin(on destination: DestinationStore, touched: TouchedRows) {
        guard modelRun.keysBefore.hasRows[table] else { return }
        stored = ExistingRows(destination, table: table)
        self.touched = touched
    }

    /// Releases the statements on the destination.
    func end() {
        stored = nil
        touched = nil
    }

    /// Returns the store of existing rows if the row existed before the mapping model. Returns nil otherwise.
    private func existing(_ key: Int64) -> ExistingRows? { isStored(key) ? stored : nil }

    /// Tells whether a row existed before the mapping model.
    func isStored(_ key: Int64) -> Bool { stored != nil && modelRun.keysBefore.isExisting(key, table: table) }

    /// Returns a scan of the existing rows from a key on. Returns nil if there are none.
    ///
    /// - Parameter columns: the columns to read.
    func storedScan(from key: Int64, columns: [Int]) throws(MigrationError) -> StoredRowScan? {
        guard let stored, key <= modelRun.keysBefore.highestKeys[table] else { return nil }
        return try stored.scan(columns: columns, from: key, through: modelRun.keysBefore.highestKeys[table])
    }

    /// Returns the numbers of existing rows that are not deleted, by Z_ENT. Complexity: O(rows).
    func storedCounts() throws(MigrationError) -> [Int64: Int] {
        try stored?.counts(through: modelRun.keysBefore.highestKeys[table]) ?? [:]
    }

    func makeRun(keys: [DestinationKeys]) -> Run {
        Run(
            spill: RowSpill(directory: modelRun.inputs.work, name: "rows-\(table)", slots: columns, memory: memory),
            open: closedBatch(), keys: keys)
    }

    /// Returns the placeholder batch of a run that is not being filled.
    private func closedBatch() -> RowBatch { RowBatch(slots: columns, rowCapacity: 1, byteTarget: 4096) }

    /// Adds a run for the rows of a mapping that keeps its keys.
    func addRun(for keys: DestinationKeys) -> Run {
        let run = makeRun(keys: [keys])
        allRuns.insert(run, at: allRuns.count - 1)
        open(run)
        return run
    }

    /// The run for inserted objects and sequential rows.
    private var lastRun: Run { allRuns[allRuns.count - 1] }

    /// Returns the last run, ready for rows.
    func openLastRun() -> Run {
        assert(prepared == nil, "rows come in the order of their keys")
        let run = lastRun
        open(run)
        return run
    }

    private func open(_ run: Run) {
        guard run.isSealed else { return }
        run.open = modelRun.inputs.destinationBatch(slots: columns)
        run.isSealed = false
    }

    /// Reserves keys for rows that a mapping makes at once. Returns the key before the first reserved one.
    func reserveKeys(_ count: Int) throws(MigrationError) -> Int64 {
        let base = nextKey - 1
        let (next, overflow) = nextKey.addingReportingOverflow(Int64(count))
        guard !overflow else {
            throw DestinationKeys.exhausted(after: nextKey, modelRun.inputs.destinationSchema.tables[table].name)
        }
        nextKey = next
        return base
    }

    /// Makes a row in the last run, lets a body fill it, and returns its key.
    ///
    /// - Parameter fill: receives the batch, the row and the key. Every cell is null except Z_ENT and Z_OPT.
    func insert(
        entityNumber: Int, _ fill: (inout RowBatch, Int, Int64) throws(MigrationError) -> Void
    ) throws(MigrationError) -> Int64 {
        try putTaken()
        let key = try reserveKeys(1) + 1
        let run = openLastRun()
        if run.open.isFull { try flush(run) }
        let row = run.open.appendRow(key: key)
        run.open[row, EntityTable.entityColumn] = .integer(Int64(entityNumber))
        run.open[row, EntityTable.lockColumn] = .integer(1)
        try fill(&run.open, row, key)
        return key
    }

    /// Appends rows to the last run, with the next keys. Returns the key of the first row.
    func append(_ batch: borrowing RowBatch) throws(MigrationError) -> Int64 {
        try putTaken()
        let base = try reserveKeys(batch.count)
        let run = openLastRun()
        for row in 0..<batch.count {
            let key = base + 1 + Int64(row)
            if run.open.isFull { try flush(run) }
            run.open.append(row: row, of: batch, key: key)
        }
        return base + 1
    }

    // MARK: - Prepared rows

    /// Gives the next key to one of the prepared rows. The row is stored later.
    func take(_ rows: PreparedRows) throws(MigrationError) {
        _ = try reserveKeys(1)
        if prepared == nil { prepared = rows }
    }

    /// Copies the taken rows to the last run's open batch, because the rows of the table are about to be read.
    func putTaken() throws(MigrationError) {
        guard let prepared else { return }
        self.prepared = nil
        let run = openLastRun()
        try prepared.put { batch, rows throws(MigrationError) in
            for row in rows {
                if run.open.isFull { try flush(run) }
                run.open.append(row: row, of: batch, key: batch.key(row))
            }
        }
    }

    /// Spills the taken rows directly, because nothing has read them.
    func spillTaken() throws(MigrationError) {
        guard let prepared else { return }
        self.prepared = nil
        let run = lastRun
        try flush(run)
        try prepared.put { batch, rows throws(MigrationError) in try run.spill.append(rows: rows, of: batch) }
    }

    /// Drops the taken rows after the run has failed.
    func dropTaken() { prepared = nil }

    /// Spills the rows of a run's open batch.
    func flush(_ run: Run) throws(MigrationError) {
        guard !run.open.isEmpty else { return }
        try run.spill.append(rows: 0..<run.open.count, of: run.open)
        run.open.removeAll()
    }

    /// Spills every run's open batch and gives it back.
    func seal() throws(MigrationError) {
        for run in try runs where !run.isSealed {
            try flush(run)
            try run.spill.seal()
            run.open = closedBatch()
            run.isSealed = true
        }
    }

    /// True if the rows can be saved. Values that are read from the source again cannot.
    var canBeSaved: Bool { memory.canBeSaved }

    /// Writes the table, or restores it: this table must be empty. The rows in memory go to the spills before.
    ///
    /// - Parameter keys: the keys of mappings without a policy, by index.
    func code(with coder: inout StateCoder, keys: [Int: DestinationKeys]) throws(MigrationError) {
        var coded = coder.isReading ? [] : try runs
        try coder.code(&nextKey)
        try coder.code(&hasDeletedStored)
        try coder.code(objects: &coded, upTo: 1 << 20) { coder, known throws(MigrationError) in
            if let known { try flush(known) }
            var mappings = known?.keys.map(\.mapping.index) ?? []
            try coder.code(&mappings)
            let run = known ?? makeRun(keys: mappings.compactMap { keys[$0] })
            try run.spill.code(with: &coder)
            return run
        }
        guard coder.isReading else { return }
        guard !coded.isEmpty else { throw StateReader.damaged("rows without a run") }
        allRuns = coded
    }

    /// Returns the run of the rows that one mapping makes, ready for more.
    func reopenRun(for keys: DestinationKeys) -> Run {
        guard keys.mode == .kept, let run = allRuns.dropLast().first(where: { $0.keys.contains { $0 === keys } }) else {
            return openLastRun()
        }
        open(run)
        return run
    }

    // MARK: - One row

    private func run(of key: Int64) throws(MigrationError) -> Run {
        try putTaken()
        for run in allRuns.dropLast() {
            for keys in run.keys where try keys.index.contains(key) { return run }
        }
        return lastRun
    }

    /// Reads a row. Returns nil if there is no such row.
    func read<Value>(
        _ key: Int64, _ body: (borrowing RowBatch, Int) throws(MigrationError) -> Value
    ) throws(MigrationError) -> Value? {
        let existing = existing(key)
        let run = try existing == nil ? run(of: key) : nil
        if let run, let row = run.open.row(ofKey: key) { return try body(run.open, row) }
        if scratchKey != key {
            scratch.removeAll()
            scratchKey = nil
            let isThere: Bool
            if let existing {
                isThere = try existing.fetch(key, into: &scratch)
            } else {
                isThere = try run?.spill.read(key: key, into: &scratch) ?? false
            }
            guard isThere else { return nil }
            scratchKey = key
        }
        return try body(scratch, 0)
    }

    /// Changes cells of a row. `body` sets slots of the row it receives. If the row is spilled, slots that it leaves absent do
    /// not change.
    func write(_ key: Int64, _ body: (inout RowBatch, Int) throws(MigrationError) -> Void) throws(MigrationError) {
        if let existing = existing(key) { return try write(key, existing, body) }
        let run = try run(of: key)
        if let row = run.open.row(ofKey: key) {
            try body(&run.open, row)
            try changed?(run.open, row, key)
            // Replaced bytes stay in the arena until the batch is written.
            if run.open.arenaCount > 2 * run.open.byteTarget { try flush(run) }
            return
        }
        try change(key) { scratch, row throws(MigrationError) in
            try body(&scratch, row)
            try run.spill.patch(key: key, row: row, of: scratch)
            try changed?(scratch, row, key)
        }
    }

    /// Changes cells of an existing row. A cell that gets its present value does not count as changed.
    private func write(
        _ key: Int64, _ existing: ExistingRows, _ body: (inout RowBatch, Int) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        present.removeAll()
        guard try existing.fetch(key, into: &present) else { return }
        try change(key) { scratch, row throws(MigrationError) in
            try body(&scratch, row)
            var isChanged = false
            for slot in 0..<columns where scratch[row, slot].kind != .absent {
                if scratch.isEqual(scratch[row, slot], to: present[0, slot], of: present) {
                    scratch[row, slot] = .absent
                } else {
                    try touched?.note(cell: slot, of: key, table: table, before: present, row: 0)
                    isChanged = true
                }
            }
            guard isChanged else { return }
            try changed?(scratch, row, key)
            try existing.update(key, from: scratch, row: row)
        }
    }

    /// Runs `body` on a row whose cells are all absent.
    private func change(
        _ key: Int64, _ body: (inout RowBatch, Int) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        scratchKey = nil
        scratch.removeAll()
        let row = scratch.appendRow(key: key)
        for slot in 0..<columns { scratch[row, slot] = .absent }
        try body(&scratch, row)
        scratch.removeAll()
    }

    func delete(_ key: Int64) throws(MigrationError) {
        if let existing = existing(key) {
            scratchKey = nil
            hasDeletedStored = true
            try existing.delete(key)
            modelRun.tally.rowsWritten[table] -= 1
            return
        }
        let run = try run(of: key)
        try flush(run)
        scratchKey = nil
        try run.spill.delete(key: key)
    }
}
