import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// The results of a policy's calls ahead of their turn: rows without keys, and associations, held until all earlier calls are
/// done.
///
/// Memory: a batch for each of a few tables, which together take a share of the memory for batches; 64 bytes per association.
final class ConcurrentResults {
    /// The rows of one table, in the order in which they were made.
    final class Table {
        let index: Int
        /// The rows. Their provisional keys count from ``ConcurrentResults/firstKey``.
        @exclusivity(unchecked) var batch: RowBatch

        init(index: Int, batch: consuming RowBatch) {
            self.index = index
            self.batch = batch
        }
    }

    /// An association of the current mapping.
    struct Pair {
        let sourceTable: Int
        let sourceKey: Int64
        let destination: ObjectPlace
        /// The source object in whose call the association was made.
        let call: Int64
    }

    /// The first provisional key of rows that were made ahead. No object has such a key.
    static let firstKey = Int64.min / 2
    /// The maximum number of tables with rows made ahead. A policy that makes rows of more tables waits for its turn.
    private static let mostTables = 8
    private static let mostRows = 1024

    private let modelRun: ModelRun
    private var tables: [Table] = []
    @exclusivity(unchecked) private(set) var pairs: [Pair] = []
    /// The numbers of rows, by entity index.
    @exclusivity(unchecked) private(set) var made: [Int: Int] = [:]
    /// The number of rows made ahead so far, including those that have got their keys.
    @exclusivity(unchecked) private(set) var total = 0
    @exclusivity(unchecked) private var last: Table?

    init(modelRun: ModelRun) { self.modelRun = modelRun }

    var isEmpty: Bool { pairs.isEmpty && made.isEmpty }

    /// Returns a table with room for one more row. Returns nil if the memory for rows made ahead is used up.
    func room(inTable index: Int) -> Table? {
        if let last, last.index == index { return last.batch.isFull ? nil : last }
        if let known = tables.first(where: { $0.index == index }) {
            last = known
            return known.batch.isFull ? nil : known
        }
        guard tables.count < Self.mostTables else { return nil }
        let slots = modelRun.inputs.destinationSchema.tables[index].columns.count
        let bytes = modelRun.inputs.budget.batch / Self.mostTables
        let table = Table(
            index: index,
            batch: RowBatch(
                slots: slots, rowCapacity: max(1, min(Self.mostRows, bytes / (16 * max(1, slots) + 8))),
                byteTarget: max(4096, bytes)))
        tables.append(table)
        last = table
        return table
    }

    /// Appends a row of an entity. Every cell is null except Z_ENT and Z_OPT.
    func append(_ entity: EntityDescription, to table: Table) -> Int {
        let row = table.batch.appendRow(key: Self.firstKey + Int64(table.batch.count))
        table.batch[row, EntityTable.entityColumn] = .integer(
            Int64(modelRun.inputs.destinationSchema.number(of: entity)))
        table.batch[row, EntityTable.lockColumn] = .integer(1)
        made[entity.index, default: 0] += 1
        total += 1
        return row
    }

    /// Removes the row that was appended last.
    func removeLast(_ entity: EntityDescription, from table: Table) {
        table.batch.removeLastRow()
        made[entity.index, default: 1] -= 1
        total -= 1
    }

    func place(of row: Int, in table: Table, _ entity: EntityDescription) -> ObjectPlace {
        ObjectPlace(entity: entity, key: Self.firstKey + Int64(row), table: table.index)
    }

    /// Returns the row of an object that was made ahead. Returns nil for any other object.
    func row(of place: ObjectPlace) -> (table: Table, row: Int)? {
        let (row, overflow) = place.key.subtractingReportingOverflow(Self.firstKey)
        guard !overflow, row >= 0, row < Int64(Self.mostRows) else { return nil }
        let table = last?.index == place.table ? last : tables.first { $0.index == place.table }
        guard let table, Int(row) < table.batch.count else { return nil }
        return (table, Int(row))
    }

    func add(_ pair: Pair) { pairs.append(pair) }

    /// Gives the rows their keys, in the order in which they were made, and appends them to the destination's rows.
    ///
    /// - Returns: the key of the first row, by table.
    func append(to objects: DestinationObjects) throws(MigrationError) -> [Int: Int64] {
        var first: [Int: Int64] = [:]
        for table in tables where !table.batch.isEmpty {
            first[table.index] = try objects.rows[table.index].append(table.batch)
            table.batch.removeAll()
        }
        for (index, count) in made { objects.countInserted(count, entity: index) }
        made.removeAll(keepingCapacity: true)
        return first
    }

    /// Returns the associations and removes them.
    func takePairs() -> [Pair] {
        defer { pairs.removeAll(keepingCapacity: true) }
        return pairs
    }
}
