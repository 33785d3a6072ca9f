import CoreDataStore
import DatabasePages
import Diagnostics
import SpillStorage

/// The row path: no user code runs, so nobody can observe that the three stages are fused.
///
/// The keys of all mappings are determined first, for the whole plan. Keys that nobody asks for before their rows are
/// read are left out of this (``UnaskedKeys``). Then the work goes pass by pass and step by step: links that need a
/// whole table are resolved, and rows are read, mapped, related, validated and written once, in ascending key order.
/// With its last step a table closes, and its indexes are built. A join table is loaded when both its sides are closed.
struct RowPath: ModelStage {
    let stage: StageInputs

    /// The highest key (Z_MAX) of each destination table, and the mappings' association tables, for later mapping
    /// models.
    typealias Outcome = (highest: [Int64], associations: [MappingAssociations])

    /// Determines the keys and writes the rows of all tables.
    ///
    /// - Parameter load: calls ``LoadRequest/fill`` with the destination, again after objects were rejected, and returns the
    ///   highest key (Z_MAX) of each destination table.
    func run(load: (LoadRequest) throws -> [Int64]) throws -> Outcome {
        var outcome: Outcome = ([], [])
        outcome.highest = try load(
            LoadRequest(
                fill: { destination in
                    outcome = try fill(destination)
                    return outcome.highest
                }, release: {}, resume: { _, _ in }))
        return outcome
    }

    /// Loads all tables.
    private func fill(_ destination: DestinationStore) throws -> Outcome {
        try beginReferences()
        modelRun.services.begin(.keys)
        modelRun.services.releaseMemoryBeforeLoad()
        let links = LinkPlanner(
            mappings: mappings, source: modelRun.inputs.layout.schema, destination: modelRun.inputs.destinationSchema
        ).plan()
        let unasked = UnaskedKeys(
            modelRun: modelRun, mappings: mappings, work: stage.work, links: links,
            isResumed: resumed != nil
        ).tables
        let keys = try scanKeys(unasked, destination)
        // The resolution of an inverse pair uses up to six sorts at a time; each of its results waits in a sort for its
        // table's load.
        modelRun.services.concurrentSorts = 6 + links.columns.count
        destination.filling.expectedKeys = expectedKeys
        let stream = modelRun.links(by: keys)
        for (mapping, planned) in links.counted { try stream.forEach(mapping, planned, countsMissing: true) { _ in } }
        // In a complete store they are raised already.
        let raisesVersions =
            mappings.contains { $0.belongsToPreviousModel || $0.matching != nil } && !(resumed?.isComplete ?? false)
        let highest = try LoadRun(
            stage: stage, units: stage.work.units, countsBeforeLoad: true, destination: destination
        ).run(RowLoad(stage: stage, keys: keys, links: links, destination: destination))
        modelRun.run.declared = DeclaredPairs(mappings: mappings, pairs: nil)
        // Count again: the load has noted further keys, and a killed run may have saved the counts from before a load
        // without rejects.
        keys.account(for: mappings, in: modelRun.tally)
        if raisesVersions {
            try ExistingRowVersions(modelRun: modelRun, destination: destination).raise()
        }
        return (highest, associations(keys))
    }

    private func beginReferences() throws {
        modelRun.beginReferences(mayBeSet: false)
        // A resumed run may note the same reference a second time: it counts once.
        guard let references = resumed?.references else { return }
        var coder = StateCoder(reading: references)
        try modelRun.missing.unmigrated?.code(with: &coder, model: modelRun.inputs.destinationSchema.model)
        // The state has named all files that it needs.
        try modelRun.inputs.work.removeUnclaimed()
    }

    /// Determines the keys, and what follows from them: the causes of missing references, the origins of objects, and
    /// the counts of source objects.
    private func scanKeys(_ unasked: [Int: Int], _ destination: DestinationStore) throws -> PlanKeys {
        let scan = try KeyScan(
            run: modelRun.run, archive: modelRun.archive, keysBefore: modelRun.keysBefore, mappings: mappings,
            tables: stage.work.tables, destination: destination,
            collectByObjects: ObjectFilterScan(modelRun: modelRun, manager: stage.manager).collect,
            unasked: unasked
        ).scan()
        let keys = PlanKeys(byMapping: scan.byMapping, byTable: scan.byTable)
        modelRun.sourceKeys = keys
        let fates = ReferenceFates(
            run: modelRun.run, mappings: mappings, makers: .keys(keys.byMapping),
            hasDeletions: { [archive = modelRun.archive] in archive.hasDeletions })
        fates.rejected = modelRun.validation.rejected
        fates.rejected?.hide(in: keys.byMapping.values.filter { !$0.mapping.belongsToPreviousModel })
        modelRun.missing.fates = fates
        modelRun.validation.origins = .keys(keys, mappings: mappings)
        keys.account(for: mappings, in: modelRun.tally)
        return keys
    }

    /// Returns the association tables for later mapping models. The keys themselves are the pairs, so no log of pairs is
    /// ever filled.
    private func associations(_ keys: PlanKeys) -> [MappingAssociations] {
        let logs = RecordMemory(bytes: 0)
        return mappings.filter { !$0.belongsToPreviousModel }.map { mapping in
            let table = MappingAssociations(
                mapping: mapping, keys: keys.byMapping[mapping.index], directory: modelRun.archive.directory,
                memory: 0, logs: logs)
            table.isCreated = true
            return table
        }
    }

    /// The highest key that each destination table is expected to get.
    private var expectedKeys: [Int64] {
        var expected = modelRun.keysBefore.highestKeys
        for table in stage.work.tables {
            for index in table.mappings {
                guard let source = mappings[index].sourceTable else { continue }
                let more = Int64(clamping: modelRun.tally.counts.mappings[index].sourceObjects)
                let key = expected[table.table].addingReportingOverflow(more)
                expected[table.table] =
                    table.keys == .kept
                    ? max(expected[table.table], modelRun.inputs.layout.tables[source].maximumKey)
                    : key.overflow ? .max : key.partialValue
            }
        }
        return expected
    }
}
