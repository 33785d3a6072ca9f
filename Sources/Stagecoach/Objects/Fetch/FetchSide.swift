import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// Receives a row of a fetch, as a batch and an index, with its entity. Returns false to end the reading.
typealias FetchedRow = (borrowing RowBatch, Int, EntityDescription) throws -> Bool

/// The rows of one side of a migration, as fetches read them.
protocol FetchSide: AnyObject {
    var modelRun: ModelRun { get }
    var schema: StoreSchema { get }
    /// The context of the side's objects.
    var context: ManagedObjectContext? { get }
    var isSource: Bool { get }
    /// The names of the model's attributes that allow external storage.
    var externalNames: Set<String> { get }

    /// Calls a closure with the rows of some entities, ascending by key, until it returns false. The batch is not
    /// shared, so the closure may read other rows.
    func scan(_ rows: FetchRows, _ body: FetchedRow) throws

    /// Calls a closure with those rows that exist and have one of the entities, in the order of the keys, until it
    /// returns false.
    func probe(_ rows: FetchRows, keys: [Int64], _ body: FetchedRow) throws

    /// Returns the number of objects of an entity, without its subentities.
    func count(of entity: EntityDescription) throws -> Int

    /// Returns the index of a column, up to date; nil if reading all rows is better, as it is the first time that a
    /// column is asked for.
    func index(of column: FetchColumn) throws -> EqualityIndex?

    /// Temporary indexes of fetches.
    var indexes: EqualityIndexes { get }
    var statistics: FetchStatistics { get }
}

extension FetchSide {
    var fetchEngine: FetchEngine { FetchEngine(side: self, run: modelRun.run) }

    func entity(named name: String) throws(MigrationError) -> EntityDescription {
        guard let entity = schema.model.entity(named: name) else {
            throw MigrationError(
                "object.unknownEntity", .data, "The model has no entity \(name)", context: .init(entity: name))
        }
        return entity
    }

    /// A place that no row has: the result of a failed insertion, which cannot throw.
    var placeholder: ObjectPlace {
        ObjectPlace(entity: schema.model.entity(at: 0), key: .min, table: schema.tableByEntity[0])
    }

    /// Tells whether an id or an object belongs to this side.
    func contains(_ id: ManagedObjectID) -> Bool { id.isDestination != isSource && id.storeUUID == context?.storeUUID }

    func object(entity: EntityDescription, table: Int, key: Int64) -> ManagedObject? {
        context?.object(at: ObjectPlace(entity: entity, key: key, table: table))
    }
}

/// Figures on the rows that fetches of one side have read, for tests of their cost.
package struct FetchStatistics: Sendable, Equatable {
    /// Rows read in order: by scans, and to build indexes.
    package var scannedRows = 0
    /// Rows read by key.
    package var probedRows = 0
    package var indexesBuilt = 0
    /// Index entries that lookups have read.
    package var indexEntries = 0
}
