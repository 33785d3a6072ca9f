import CoreDataStore

/// The results that the finished mapping models of a run leave for later ones.
final class PreviousModels {
    let run: MigrationRun
    /// The associations of the finished models, and of previous calls.
    let archive: AssociationArchive
    /// The keys of the rows that exist before the next model.
    private(set) var keys: KeysBefore
    /// The references that the finished models did not migrate, for each model that kept any.
    private(set) var unmigrated: [UnmigratedReferences] = []

    /// - Parameter existing: the store that is appended to; nil for a fresh one.
    init(_ run: MigrationRun, archive: AssociationArchive, existing: ExistingStore?) {
        self.run = run
        self.archive = archive
        let tables = run.inputs.destinationSchema.tables.count
        keys = KeysBefore(
            highestKeys: existing?.highestKeys ?? Array(repeating: 0, count: tables),
            hasRows: existing?.hasRows ?? Array(repeating: false, count: tables))
        for table in archive.rejectingTables where keys.hasRows.indices.contains(table) { keys.hasRows[table] = true }
    }

    /// Ends a mapping model: its rows are existing rows for the next one.
    ///
    /// - Parameter highest: Z_MAX by destination table.
    func end(_ model: ModelRun, highest: [Int64], _ tables: [MappingAssociations]) {
        archive.append(tables)
        if let references = model.missing.unmigrated { unmigrated.append(references) }
        for table in highest.indices {
            keys.highestKeys[table] = max(keys.highestKeys[table], highest[table])
            if run.tally.rowsWritten[table] > 0 || archive.rejectingTables.contains(table) {
                keys.hasRows[table] = true
            }
        }
        run.services.concurrentSorts = RunServices.leastSorts
        model.touched?.close()
    }

    /// Restores the results of the mapping models that a killed run completed.
    ///
    /// - Parameters:
    ///   - keys: the keys of the rows that those models left.
    ///   - unmigrated: the unmigrated references of each model that kept any.
    func restore(
        _ tables: [MappingAssociations], keys: KeysBefore, hasDeletions: Bool, rejectingTables: [Int],
        unmigrated: [UnmigratedReferences]
    ) {
        archive.append(tables)
        archive.hasDeletions = hasDeletions
        archive.rejectingTables = Set(rejectingTables)
        self.unmigrated = unmigrated
        self.keys = keys
    }

    /// Counts the references that are nil after all mapping models have run.
    func countUnmigrated(in destination: DestinationStore) throws {
        for references in unmigrated {
            run.tally.add(try references.nilReferences(in: destination, run, archive))
        }
    }
}
