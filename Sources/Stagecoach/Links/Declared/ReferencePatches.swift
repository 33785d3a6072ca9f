import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// A setter of columns in rows that are loaded in ascending order of their keys.
protocol RowPatches: AnyObject {
    /// Sets the columns of a batch's rows. Keys ascend from batch to batch.
    func apply(to batch: inout RowBatch) throws(MigrationError)
}

extension ColumnPatches: RowPatches {}

/// The references of the rows that one mapping made, looked up again from the source rows. The source is scanned in parallel
/// with the rows.
///
/// Memory: one batch of the source's foreign keys while the mapping's rows are loaded.
final class ReferencePatches: RowPatches {
    private let run: MigrationRun
    private let entity: EntityDescription
    private let own: KeyLookup
    private let program: ReferenceProgram
    private let slots: SourceColumns
    private let first: Int64
    private let last: Int64
    private let sharing: Int
    @exclusivity(unchecked) private var scan: Scan?
    /// True once all rows of the mapping are done. Rejected ones may be left behind them.
    private var isFinished = false
    /// The counts of the rows so far; empty once the rows are done.
    @exclusivity(unchecked) private var counts = ReferenceCounts()

    /// The current batch of source rows.
    private final class Scan {
        let reader: SourceReader
        @exclusivity(unchecked) var batch: RowBatch
        @exclusivity(unchecked) var row = 0
        /// The destination key of the current row.
        @exclusivity(unchecked) var key: Int64?
        /// The rows of the batch whose references are to be looked up.
        let open: UnsafeMutableBufferPointer<Int>

        init(reader: SourceReader, batch: consuming RowBatch) {
            self.reader = reader
            open = .allocate(capacity: batch.rowCapacity)
            self.batch = batch
        }

        deinit { open.deallocate() }
    }

    /// - Parameters:
    ///   - entity: the mapping's source entity.
    ///   - own: the keys of the mapping's rows; at least one.
    ///   - keys: the keys of all mappings.
    ///   - sharing: the number of mappings whose rows may be loaded at the same time.
    init(
        run: MigrationRun, mapping: PlannedMapping, of entity: EntityDescription, direct: [DirectReference],
        own: DestinationKeys, keys: PlanKeys, missing: MissingReferences, sharing: Int
    ) {
        self.run = run
        self.entity = entity
        self.own = KeyLookup(own)
        self.sharing = sharing
        var slots = SourceColumns(entity: entity, schema: run.inputs.layout.schema)
        program = ReferenceProgram(
            mapping: mapping, direct: direct, keys: keys, missing: missing,
            in: run.inputs.destinationSchema, slots: &slots)
        self.slots = slots
        switch own.mode {
        case .kept: (first, last) = (.min, own.index.lastKey)
        case .sequential: (first, last) = (own.base + 1, own.base + Int64(own.index.count))
        }
    }

    func apply(to batch: inout RowBatch) throws(MigrationError) {
        guard !isFinished, batch.count > 0, batch.key(batch.count - 1) >= first, batch.key(0) <= last else { return }
        let scan: Scan
        if let open = self.scan { scan = open } else { scan = try begin() }
        var row = 0
        while row < batch.count, let key = scan.key {
            if batch.key(row) < key {
                row += 1
                continue
            }
            // A run of neighbouring rows of the mapping, within the current source batch.
            let start = row
            var count = 0
            while row < batch.count, let key = scan.key, batch.key(row) == key {
                scan.open[count] = scan.row
                count += 1
                row += 1
                if try !advanceInBatch(scan) { break }
            }
            assert(count > 0, "every object that was associated has its row")
            try program.run(
                scan.batch, rows: UnsafeBufferPointer(rebasing: scan.open[..<count]), into: &batch, from: start,
                counts: &counts)
            if scan.key == nil || count == 0 { try advance(scan) }
        }
        if scan.key == nil { finish() }
    }

    private func begin() throws(MigrationError) -> Scan {
        let reader = try SourceReader(
            run: run, slots: slots, table: run.inputs.layout.schema.tableIndex(of: entity),
            entities: [entity.index])
        let made = Scan(
            reader: reader,
            batch: RowBatch(
                slots: slots.columns.count,
                rowCapacity: max(1, run.inputs.rowCapacity(slots: slots.columns.count) / sharing),
                byteTarget: max(4096, run.inputs.budget.batch / sharing)))
        made.row = -1
        scan = made
        try advance(made)
        return made
    }

    /// Moves to the next row of the batch that has an object. Sets `key` to nil and returns false if there is none.
    private func advanceInBatch(_ scan: Scan) throws(MigrationError) -> Bool {
        scan.row += 1
        while scan.row < scan.batch.count {
            if let key = try own.destinationKey(of: scan.batch.key(scan.row)) {
                scan.key = key
                return true
            }
            scan.row += 1
        }
        scan.key = nil
        return false
    }

    /// Moves to the next row that has an object, in this batch or a later one. Sets `key` to nil at the end.
    private func advance(_ scan: Scan) throws(MigrationError) {
        if scan.row < scan.batch.count, try advanceInBatch(scan) { return }
        while try scan.reader.next(into: &scan.batch) {
            scan.row = -1
            if try advanceInBatch(scan) { return }
        }
        scan.key = nil
    }

    private func finish() {
        run.tally.add(counts)
        counts = ReferenceCounts()
        scan = nil
        isFinished = true
    }
}
