import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import Rows

/// Rows as the default creation method makes them of the source rows that come next: computed together, column by column,
/// before the policy is called for each. What calls then take of them is numbered at once, and put down when they are all
/// done, or when somebody looks at the table's rows: whoever only lets the default method work pays for little more.
///
/// A row whose values cannot be computed is not among them: it is refused where its call makes it. Nothing is noted or
/// counted ahead, so a call that takes no row leaves nothing behind.
///
/// Memory: ``mostCells`` cells at the most, and 32 KiB of texts that are made, or one; others stay in the source's batch.
final class PreparedRows {
    /// What the rows are made by: a call with another mapping, or after an expression was changed, makes its own.
    let mapping: EntityMapping
    let version = PropertyMapping.changes
    let rows: DestinationRows
    private let objects: DestinationObjects
    private let associations: MappingAssociations
    private let sources: SourceObjects
    private let program: AttributeProgram
    private let sourceTable: Int
    private let entity: EntityDescription
    /// Columns that the program does not fill.
    private let openColumns: [Int]
    /// The rows, under the keys of their source rows until they are put down.
    @exclusivity(unchecked) private var batch: RowBatch
    /// Those that were taken and are not put down, which have keys one after the other.
    @exclusivity(unchecked) private var taken = 0..<0
    @exclusivity(unchecked) private var firstKey: Int64 = 0
    /// How many of the rows at hand were taken.
    @exclusivity(unchecked) private var uses = 0
    /// The source row after the last one that was looked at.
    @exclusivity(unchecked) private(set) var end = 0
    /// Turns to leave out, because rows were prepared in vain.
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
        runtime: StagedRuntime
    ) {
        mapping = planned.mapping
        objects = runtime.objects
        rows = objects.rows[objects.schema.tableIndex(of: entity)]
        associations = runtime.associations[planned.index]
        sources = runtime.sources
        self.program = program
        self.sourceTable = sourceTable
        self.entity = entity
        let filled = program.filledColumns.union([EntityTable.entityColumn, EntityTable.lockColumn])
        openColumns = (0..<rows.columns).filter { !filled.contains($0) }
        batch = RowBatch(
            slots: rows.columns, rowCapacity: max(1, min(Self.mostRows, Self.mostCells / max(1, rows.columns))),
            byteTarget: 32 << 10)
    }

    /// Puts down what was taken: the source's batch is done.
    ///
    /// - Throws: what writing a spill throws.
    func finishBatch() throws(MigrationError) {
        try rows.spillTaken()
        if !batch.isEmpty {
            lastPause = uses * 2 < batch.count ? min(Self.longestPause, lastPause * 2 + 1) : 0
            pause = lastPause
        }
        batch.removeAll()
        (taken, uses, end) = (0..<0, 0, 0)
    }

    /// Puts down what was taken, and prepares the rows of the source's batch from one on.
    ///
    /// - Throws: what writing a spill throws.
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
            // Texts that are made may be of any length: the rest has its turn when these are put down.
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

    /// Takes the row of a source object for a new object of the table, which is associated with it.
    ///
    /// - Returns: false where there is no such row, or its turn is over.
    /// - Throws: `plan.keysExhausted` (65), what writing a spill throws.
    func take(_ source: ManagedObject, for mapping: EntityMapping) throws(MigrationError) -> Bool {
        guard mapping === self.mapping, source.place.table == sourceTable, version == PropertyMapping.changes else {
            return false
        }
        // The next one mostly: calls that take none are passed over.
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

    /// Counts and associates what was taken, and shows the rows under their own keys.
    func put(_ body: (borrowing RowBatch, Range<Int>) throws(MigrationError) -> Void) throws(MigrationError) {
        let (done, key) = (taken, firstKey)
        taken = done.upperBound..<done.upperBound
        objects.countInserted(done.count, entity: entity.index)
        try associations.addNoted(batch.keys(done), table: sourceTable, destinations: key, of: entity)
        for row in done { batch.setKey(key &+ Int64(row - done.lowerBound), row: row) }
        try body(batch, done)
    }
}
