import Diagnostics
import SpillStorage

/// The associations of mapping models that ran before, for the lookups of later ones.
///
/// The mapping models of one run share an archive. A ``MigrationManager`` keeps one across its calls until it is reset. Memory:
/// the memory of the tables, at most 64 KiB each once they are parked; the rest is in the directory.
final class AssociationArchive {
    /// The directory of association tables that outlive their mapping model.
    let directory: WorkDirectory
    /// All mappings that have run, each at its index.
    private(set) var mappings: [PlannedMapping] = []
    /// The association tables of ``mappings``, by the same index.
    private(set) var tables: [MappingAssociations] = []
    /// True if an associated object may have no row because a policy deleted it.
    var hasDeletions = false
    /// The destination tables in which objects were rejected. The keys of rejected objects are not given again, even if the
    /// table is empty.
    var rejectingTables: Set<Int> = []

    init(directory: WorkDirectory) { self.directory = directory }

    /// The keys of the mappings that made rows without user code, by mapping index.
    var keys: [Int: DestinationKeys] {
        Dictionary(uniqueKeysWithValues: tables.compactMap { table in table.keys.map { (table.mapping.index, $0) } })
    }

    /// Appends the mappings of a finished mapping model.
    ///
    /// - Parameter tables: the association tables of its mappings, in order.
    func append(_ tables: [MappingAssociations]) {
        for table in tables {
            precondition(table.mapping.index == mappings.count, "mappings are archived in order")
            table.retire()
            mappings.append(table.mapping)
            self.tables.append(table)
        }
    }

    /// Moves the tables to disk between two calls, each of which has its own memory limit.
    func park() throws(MigrationError) {
        for table in tables { try table.park() }
    }

    /// The contents at one moment, to which the archive can be reset.
    struct Mark {
        /// The number of mappings that had run.
        let count: Int
        fileprivate let hasDeletions: Bool
        fileprivate let rejectingTables: Set<Int>
    }

    /// The present contents.
    var mark: Mark { Mark(count: mappings.count, hasDeletions: hasDeletions, rejectingTables: rejectingTables) }

    /// Removes the mappings that ran since a mark, because their results were discarded.
    func goBack(to mark: Mark) {
        mappings.removeLast(mappings.count - mark.count)
        tables.removeLast(tables.count - mark.count)
        hasDeletions = mark.hasDeletions
        rejectingTables = mark.rejectingTables
    }
}
