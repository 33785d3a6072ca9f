import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows

/// Rows that the default creation method will make of the next source rows. They are computed together, column by column,
/// before the policy is called for each. Rows that calls take are numbered at once. They are stored when all are done, or when
/// the table's rows are read. A policy that only calls the default method costs little more than computing the rows.
///
/// A row whose values cannot be computed is left out; its own call then makes it and reports the error. Nothing is recorded or
/// counted ahead, so a call that takes no row leaves nothing behind.
///
/// Memory: at most ``mostCells`` cells, and 32 KiB of computed texts or one longer; others stay in the source's batch.
final class PreparedRows {
    /// The mapping and the version of its expressions with which the rows are made. A call with another mapping, or after an
    /// expression was changed, makes its own row.
    let mapping: EntityMapping
    let version = PropertyMapping.changes
    let rows: DestinationRows
    private let objects: DestinationObjects
    private let associations: MappingAssociations
    private let sources: SourceObjects
    private let program: AttributeProgram
    private let sourceTable: Int
    private let entity: EntityDescription
    /// The columns that the program does not fill.
    private let openColumns: [Int]
    /// The rows, under the keys of their source rows until they are stored.
    @exclusivity(unchecked) private var batch: RowBatch
    /// The rows that were taken but not stored. Their keys are consecutive.
    @exclusivity(unchecked) private var taken = 0..<0
    @exclusivity(unchecked) private var firstKey: Int64 = 0
    /// The number of rows of the current batch that were taken.
    @exclusivity(unchecked) private var uses = 0
    /// The end of the source rows that were prepared or skipped.
    @exclusivity(unchecked) private(set) var end = 0
    /// The number of batches to skip, because earlier rows were prepared in vain.
    @exclusivity(unchecked) private var pause = 0
    @exclusivity(unchecked) private var lastPause = 0

    private static let mostRows = 128
    private static let mostCells = 4096
    private static let longestPause = 64

    /// - Parameters:
    ///   - planned: a mapping whose attributes need no objects.
    ///   - entity: its destination entity.
    init(
        mapping planned: PlannedMapping, entity: EntityDescription, sourceTable: Int, program: AttributeProgram,
        objects: DestinationObjects, sources: SourceObjects, associations: MappingAssociations
    ) {
        mapping = planned.mapping
        self.objects = objects
        rows = objects.rows[objects.schema.tableIndex(of: entity)]
        self.associations = associations
        self.sources = sources
        self.program = program
        self.sourceTable = sourceTable
        self.entity = entity
        let filled = program.filledColumns.union([EntityTable.entityColumn, EntityTable.lockColumn])
        openColumns = (0..<rows.columns).filter { !filled.contains($0) }
        batch = RowBatch(
            slots: rows.columns, rowCapacity: max(1, min(Self.mostRows, Self.mostCells / max(1, rows.columns))),
            byteTarget: 32 << 10)
    }

    /// Stores the taken rows at the end of the source's batch. Throws the errors of writing a spill.
    func finishBatch() throws(MigrationError) {
        try rows.spillTaken()
        if !batch.isEmpty {
            lastPause = uses * 2 < batch.count ? min(Self.longestPause, lastPause * 2 + 1) : 0
            pause = lastPause
        }
        batch.removeAll()
        (taken, uses, end) = (0..<0, 0, 0)
    }

    /// Stores the taken rows, and prepares the rows of the source's batch from a row on.
    ///
    /// - Throws: the errors of writing a spill.
    func prepare(from row: Int) throws(MigrationError) {
        try finishBatch()
        let range = row..<min(row + batch.rowCapacity, sources.window.count)
        end = range.upperBound
        guard pause == 0 else {
            pause -= 1
            return
        }
        _ = batch.appendRows(keys: sources.window.keys(range), clearing: openColumns)
        let all = 0..<range.count
        batch.fill(all, slot: EntityTable.entityColumn, with: .integer(Int64(objects.schema.number(of: entity))))
        batch.fill(all, slot: EntityTable.lockColumn, with: .integer(1))
        if program.fillsRowsTogether {
            if !program.run(sources.window, rows: range, into: &batch, from: 0) { batch.removeRows(from: 0) }
            return
        }
        for (place, row) in range.enumerated() {
            // Computed texts may have any length. The remaining rows are prepared after these are stored.
            guard batch.arenaCount < batch.byteTarget else {
                batch.removeRows(from: place)
                end = row
                return
            }
            do throws(MigrationError) {
                try program.run(sources.window, row: row, into: &batch, destinationRow: place, borrows: true)
            } catch {
                batch.removeRows(from: place)
                return
            }
        }
    }

    /// Takes the row of a source object for a new object of the table, which becomes associated with it.
    ///
    /// - Returns: false if there is no such row, or if it was passed already.
    /// - Throws: `plan.keysExhausted` (65); the errors of writing a spill.
    func take(_ source: ManagedObject, for mapping: EntityMapping) throws(MigrationError) -> Bool {
        guard mapping === self.mapping, source.place.table == sourceTable, version == PropertyMapping.changes else {
            return false
        }
        // Mostly this is the next row. Rows of calls that took none are skipped.
        var place = taken.upperBound
        while place < batch.count, batch.key(place) < source.key { place += 1 }
        guard place < batch.count, batch.key(place) == source.key else { return false }
        if taken.isEmpty || place != taken.upperBound || rows.nextKey != firstKey &+ Int64(taken.count) {
            try rows.putTaken()
            taken = place..<place
            firstKey = rows.nextKey
        }
        try rows.take(self)
        associations.noteAddition()
        taken = taken.lowerBound..<place + 1
        uses += 1
        return true
    }

    /// Counts and associates the taken rows, and shows them under their own keys.
    func put(_ body: (borrowing RowBatch, Range<Int>) throws(MigrationError) -> Void) throws(MigrationError) {
        let (done, key) = (taken, firstKey)
        taken = done.upperBound..<done.upperBound
        objects.countInserted(done.count, entity: entity.index)
        try associations.addNoted(batch.keys(done), table: sourceTable, destinations: key, of: entity)
        for row in done { batch.setKey(key &+ Int64(row - done.lowerBound), row: row) }
        try body(batch, done)
    }
}
