import Diagnostics
import ManagedModel
import PersistentStore
import Rows
import SpillStorage

/// What calls of a policy have made ahead: rows without keys and associations, until those before them are done.
///
/// Memory: a batch for each of a few tables, a share of the memory of batches together; 64 bytes an association.
final class LaneResults {
    /// Rows of one table, in the order in which they were made.
    final class Table {
        let index: Int
        /// Rows whose keys count from ``LaneResults/firstKey``.
        @exclusivity(unchecked) var batch: RowBatch

        init(index: Int, batch: consuming RowBatch) {
            self.index = index
            self.batch = batch
        }
    }

    /// An association of the mapping at work.
    struct Pair {
        let sourceTable: Int
        let sourceKey: Int64
        let destination: ObjectPlace
        /// The source object whose call it was made in.
        let call: Int64
    }

    /// A key no object has: the place of a row that was made ahead.
    static let firstKey = Int64.min / 2
    /// Tables that rows are made for ahead; a policy that makes more waits for its turn.
    private static let mostTables = 8
    private static let mostRows = 1024

    private let session: MigrationSession
    private var tables: [Table] = []
    @exclusivity(unchecked) private(set) var pairs: [Pair] = []
    /// Rows by entity index.
    @exclusivity(unchecked) private(set) var made: [Int: Int] = [:]
    /// Rows that were made ahead so far, those with keys included.
    @exclusivity(unchecked) private(set) var total = 0
    @exclusivity(unchecked) private var last: Table?

    init(session: MigrationSession) { self.session = session }

    var isEmpty: Bool { pairs.isEmpty && made.isEmpty }

    /// A table that takes one more row; nil where the memory for rows made ahead is used up.
    func room(inTable index: Int) -> Table? {
        if let last, last.index == index { return last.batch.isFull ? nil : last }
        if let known = tables.first(where: { $0.index == index }) {
            last = known
            return known.batch.isFull ? nil : known
        }
        guard tables.count < Self.mostTables else { return nil }
        let slots = session.destinationSchema.tables[index].columns.count
        let bytes = session.budget.batch / Self.mostTables
        let table = Table(
            index: index,
            batch: RowBatch(
                slots: slots, rowCapacity: max(1, min(Self.mostRows, bytes / (16 * max(1, slots) + 8))),
                byteTarget: max(4096, bytes)))
        tables.append(table)
        last = table
        return table
    }

    /// Adds a row of an entity; every cell is null but Z_ENT and Z_OPT.
    func append(_ entity: EntityDescription, to table: Table) -> Int {
        let row = table.batch.appendRow(key: Self.firstKey + Int64(table.batch.count))
        table.batch[row, EntityTable.entityColumn] = .integer(Int64(session.destinationSchema.number(of: entity)))
        table.batch[row, EntityTable.lockColumn] = .integer(1)
        made[entity.index, default: 0] += 1
        total += 1
        return row
    }

    /// Takes the row back that was added last.
    func removeLast(_ entity: EntityDescription, from table: Table) {
        table.batch.removeLastRow()
        made[entity.index, default: 1] -= 1
        total -= 1
    }

    func place(of row: Int, in table: Table, _ entity: EntityDescription) -> ObjectPlace {
        ObjectPlace(entity: entity, key: Self.firstKey + Int64(row), table: table.index)
    }

    /// Where the row of an object is that was made ahead; nil for any other object.
    func row(of place: ObjectPlace) -> (table: Table, row: Int)? {
        let (row, overflow) = place.key.subtractingReportingOverflow(Self.firstKey)
        guard !overflow, row >= 0, row < Int64(Self.mostRows) else { return nil }
        let table = last?.index == place.table ? last : tables.first { $0.index == place.table }
        guard let table, Int(row) < table.batch.count else { return nil }
        return (table, Int(row))
    }

    func add(_ pair: Pair) { pairs.append(pair) }

    /// Gives the rows their keys, in the order in which they were made, and puts them where those before them are.
    ///
    /// - Returns: the key of the first row, by table.
    func settle(into objects: DestinationObjects) throws(MigrationError) -> [Int: Int64] {
        var first: [Int: Int64] = [:]
        for table in tables where !table.batch.isEmpty {
            first[table.index] = try objects.rows[table.index].append(table.batch)
            table.batch.removeAll()
        }
        for (index, count) in made { objects.countInserted(count, entity: index) }
        made.removeAll(keepingCapacity: true)
        return first
    }

    /// Gives the associations up.
    func takePairs() -> [Pair] {
        defer { pairs.removeAll(keepingCapacity: true) }
        return pairs
    }
}
