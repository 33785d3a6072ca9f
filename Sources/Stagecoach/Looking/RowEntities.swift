import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// The entity of each row of a table, by key, for many lookups.
///
/// Memory: a byte for each key up to the highest. Complexity: a scan of the table's keys, then O(1).
struct RowEntities {
    /// The entities of the table, by index in the model.
    private let entities: [Int]
    /// By key: 0 for no row, or for one of an unknown entity; else 1 + the position in `entities`.
    private var places: [UInt8] = []

    /// Reads the table. Returns nil if its keys need more memory than is given, or are below 0.
    ///
    /// - Parameter most: the memory in bytes.
    init?(_ store: SourceStore, _ layout: StoreLayout, table: Int, most: Int) throws(MigrationError) {
        entities = layout.schema.tables[table].entities
        guard entities.count < 255 else { return nil }
        var batch = RowBatch(slots: 1, rowCapacity: 1024, byteTarget: 1024)
        let reader = try store.rows(
            RowSelection(table: table, columns: [.own(EntityTable.entityColumn)]), in: layout)
        var (number, place) = (Int64.min, UInt8(0))
        while try reader.next(into: &batch) {
            guard let last = (batch.count > 0 ? batch.key(batch.count - 1) : nil), batch.key(0) >= 0, last < most else {
                return nil
            }
            places.append(contentsOf: repeatElement(0, count: Int(last) + 1 - places.count))
            for row in 0..<batch.count {
                let current = batch[row, 0].kind == .integer ? batch[row, 0].integerValue : 0
                if current != number {
                    number = current
                    let entity = layout.entity(inTable: table, forFileNumber: Int(truncatingIfNeeded: number))
                    place = entity.flatMap(entities.firstIndex).map { UInt8($0 + 1) } ?? 0
                }
                places[Int(batch.key(row))] = place
            }
        }
    }

    /// The memory in bytes.
    var size: Int { places.count }

    /// Returns the entity of a row, by index in the model; nil if there is no row with the key.
    func entity(of key: Int64) -> Int? {
        guard key >= 0, key < places.count, places[Int(key)] > 0 else { return nil }
        return entities[Int(places[Int(key)]) - 1]
    }
}
