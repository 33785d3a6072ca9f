import CoreDataStore
import ManagedModel
import Mapping

/// The memory that models and mapping models need beside the shares of ``MemoryShares``, independent of the number of
/// rows: compiled programs of entity mappings, their key indices and association tables, statements, and batches of
/// wide tables.
///
/// Measured with 300 entity mappings into a root, 300 root entities, 60 inverse pairs, and 1,900 columns. The figures
/// are the measured excess over small models, rounded up.
struct MemoryNeeds {
    /// The memory, in bytes.
    private(set) var bytes = 0

    /// Creates the needs of a run.
    ///
    /// - Parameters:
    ///   - models: the mapping models of the run.
    ///   - previous: the number of entity mappings of previous calls whose associations may still be looked up.
    ///   - isStaged: true if any of the models takes the policy path.
    init(models: [MappingModel], previous: Int, destination: StoreSchema, isStaged: Bool) {
        let mappings = models.flatMap { $0.entityMappings ?? [] }
        // Every run's base covers a few of each.
        bytes += max(0, mappings.count - 16) * (isStaged ? 48 << 10 : 37 << 10) + previous * (8 << 10)
        if isStaged {
            // Open rows of many tables.
            bytes += max(0, destination.tables.count - 16) * (10 << 10)
            // A checkpoint on its way to the journal.
            bytes += 1 << 20
        }
        // If a policy relates objects, every relationship of the mapping has a batch of its own.
        let related = mappings.filter(\.hasPolicy).map { mapping in
            mapping.destinationEntityName.flatMap(destination.model.entity(named:))?.relationships.count ?? 0
        }
        bytes += max(0, (related.max() ?? 0) - 8) * (192 << 10)
        bytes += max(0, (destination.tables.map { $0.columns.count }.max() ?? 0) - 100) * 1536
    }

    /// Adds the memory of the counts of the source's values, by column and entity, and of what a state takes of them.
    mutating func addCounts(in source: StoreSchema) {
        for table in source.tables {
            bytes += max(0, table.columns.count * table.entities.count * 16 - (64 << 10))
        }
    }

    /// Adds the memory that the key indices of mappings need beyond their smallest share: at most 64 KiB each.
    ///
    /// - Parameter rows: the number of source rows of each mapping.
    mutating func addKeys(rows: [Int]) {
        let wanted = rows.reduce(0) { $0 + min(64 << 10, $1 / 3) }
        bytes += max(0, wanted - (1 << 20))
    }
}
