import ManagedModel
import PersistentStore
import Rows

/// The rows of one side of a migration, as fetches read them.
protocol FetchSide: AnyObject {
    var schema: StoreSchema { get }
    var isSource: Bool { get }

    /// Shows the rows of some entities, ascending by key, until the closure returns false. The batch is the side's own:
    /// other rows may be read inside the closure.
    func scan(_ rows: FetchRows, _ body: (borrowing RowBatch, Int, EntityDescription) throws -> Bool) throws

    /// Shows those of the rows that exist and are of the entities, in the order of the keys, until the closure returns
    /// false.
    func probe(
        _ rows: FetchRows, keys: [Int64], _ body: (borrowing RowBatch, Int, EntityDescription) throws -> Bool
    ) throws

    /// The number of objects of an entity, its subentities not counted.
    func count(of entity: EntityDescription) throws -> Int

    /// The keys of rows whose column may hold one of the values, ascending, each once; nil where a scan of all rows is
    /// to be preferred: the first time that a column is asked for.
    func keys(in column: FetchColumn, holding values: [StoredValue]) throws -> [Int64]?

    /// Whether an id or an object is one of this side.
    func contains(_ id: ManagedObjectID) -> Bool

    func object(entity: EntityDescription, table: Int, key: Int64) -> ManagedObject?
}

/// What fetches of one side have read, for tests of their cost.
package struct FetchStatistics: Sendable, Equatable {
    /// Rows read in order: scans, and what indexes are made from.
    package var scannedRows = 0
    /// Rows read by key.
    package var probedRows = 0
    package var indexesBuilt = 0
}

extension MigrationSession {
    /// Rows a batch of a fetch takes: what its share of memory holds, whatever batch size the user asked for.
    func fetchCapacity(slots: Int) -> Int { max(1, min(2000, budget.batch / (16 * max(1, slots) + 8))) }
}
