import Diagnostics
import SpillStorage

/// The associations of the mapping models that ran before, for the lookups of later ones.
///
/// Several mapping models of one run share one; a ``MigrationManager`` keeps one over its calls until it is reset.
/// Memory: what the tables hold, 64 KiB each at most once they are parked; the rest lies in the directory.
final class AssociationArchive {
    /// Where association tables lie that outlive their mapping model.
    let directory: WorkDirectory
    /// All mappings that ran, each at its index.
    private(set) var mappings: [PlannedMapping] = []
    /// Their association tables, by the same index.
    private(set) var tables: [MappingAssociations] = []
    /// Whether an associated object may have no row: policies deleted some.
    var hasDeletions = false
    /// Destination tables in which objects were rejected: their keys are not given again, though the table be empty.
    var rejectingTables: Set<Int> = []

    init(directory: WorkDirectory) { self.directory = directory }

    /// Key indices of the mappings that made rows without user code, by mapping index.
    var keys: [Int: MappingKeys] {
        Dictionary(
            uniqueKeysWithValues: tables.compactMap { table in table.keys.map { (table.mapping.index, $0) } })
    }

    /// Takes in a mapping model that has run.
    ///
    /// - Parameter tables: of its mappings, in order.
    func append(_ tables: [MappingAssociations]) {
        for table in tables {
            precondition(table.mapping.index == mappings.count, "mappings are archived in order")
            table.mapping.retire()
            mappings.append(table.mapping)
            self.tables.append(table)
        }
    }

    /// Puts the tables on disk, between two calls that both have a memory limit to hold.
    func park() throws(MigrationError) {
        for table in tables { try table.park() }
    }

    /// Forgets the mappings from an index on: what they made was given up.
    func truncate(to count: Int) {
        for mapping in mappings.dropFirst(count) { mapping.revive() }
        mappings.removeLast(mappings.count - count)
        tables.removeLast(tables.count - count)
        if count == 0 {
            hasDeletions = false
            rejectingTables = []
        }
    }
}
