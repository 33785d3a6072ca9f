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
struct RowPath {
    let modelRun: ModelRun
    let checkpoints: CheckpointScheduler?
    let mappings: [PlannedMapping]
    let work: PlannedWork
    let excuses: Bool
    let manager: MigrationManager

    /// The highest key (Z_MAX) of each destination table, and the mappings' association tables, for later mapping
    /// models.
    typealias Outcome = (highest: [Int64], associations: [MappingAssociations])

    /// Runs the work.
    ///
    /// - Parameter load: called with the work that fills the store; does it as often as needed and returns Z_MAX by
    ///   destination table.
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
        modelRun.beginReferences(mayBeSet: false)
        // A resumed run may note the same reference a second time: it counts once.
        if let references = checkpoints?.resumed?.references {
            var state = StateReader(references)
            try modelRun.missing.unmigrated?.restore(from: &state, model: modelRun.inputs.destinationSchema.model)
            try modelRun.inputs.work.removeUnclaimed()
        }
        modelRun.services.begin(.keys)
        // The buffers that write a large file need memory of their own, so give unused memory back first. A short run
        // would only map much of the code again and fill the gaps of the heap.
        let source = modelRun.inputs.source.fingerprint
        let bytes = max(Int(source.size), Int(source.walSize ?? 0), modelRun.services.progress.snapshot.expectedBytes)
        if bytes > StreamWriter.largeFile {
            ProcessMemory.trim()
            modelRun.services.releaseCode()
        }
        let links = LinkPlanner(
            mappings: mappings, source: modelRun.inputs.layout.schema, destination: modelRun.inputs.destinationSchema
        ).plan()
        let unasked = UnaskedKeys(
            modelRun: modelRun, mappings: mappings, work: work, links: links, resumed: checkpoints?.resumed
        ).tables
        let asked = unasked.noting.filter { unasked.asked.contains($0.key) }
        let scan = try KeyScan(
            run: modelRun.run, archive: modelRun.archive, keysBefore: modelRun.keysBefore, mappings: mappings,
            tables: work.tables, restoreKeys: { [checkpoints] index, table throws(MigrationError) in
                try checkpoints?.restoreKeys(index, ofTable: table) ?? false
            }, collectByObjects: ObjectFilterScan(modelRun: modelRun, manager: manager).collect, unasked: unasked
        ).scan()
        let keys = PlanKeys(byMapping: scan.byMapping, byTable: scan.byTable)
        modelRun.sourceKeys = keys
        modelRun.missing.fates = ReferenceFates(
            run: modelRun.run, mappings: mappings, makers: .keys(keys.byMapping),
            hasDeletions: { [archive = modelRun.archive] in archive.hasDeletions })
        modelRun.validation.origins = .keys(keys, mappings: mappings)
        keys.account(for: mappings, in: modelRun.tally)
        // The resolution of an inverse pair uses up to six sorts at a time; each of its results waits in a sort for its
        // table's load.
        modelRun.services.concurrentSorts = 6 + links.columns.count
        // If nothing else is sorted, index builds may use the memory of the sorts too.
        let isSorting = !links.columns.isEmpty || modelRun.validation.ledger != nil || modelRun.missing.unmigrated != nil
        let indexMemory = modelRun.inputs.budget.destinationCache
        let mostIndexMemory = indexMemory + (isSorting ? 0 : modelRun.inputs.budget.sorts / 8 * 7)
        destination.indexSorts?.memory = mostIndexMemory
        destination.expectedKeys = expectedKeys
        let stream = LinkStream(run: modelRun.run, missing: modelRun.missing, keys: keys)
        for (mapping, planned) in links.counted { try stream.forEach(mapping, planned, countsMissing: true) { _ in } }
        var highest = [Int64](repeating: 0, count: modelRun.inputs.destinationSchema.tables.count)
        var pending: [Int: [ColumnPatches]] = [:]
        var tasks = links.columns
        var open: [Int: TableLoad] = [:]
        let resumed = checkpoints?.resumed
        // Steps that the killed run completed. It may have done a part of the next one.
        let done = resumed?.unit ?? 0
        let lastUnits = lastUnits
        var unit = -1
        func restoreState() {
            let counts = modelRun.tally.counts
            checkpoints?.restore()
            guard let resumed else { return }
            highest = resumed.progress.highest
            // A state from before the load may also be from before the keys were counted.
            if resumed.unit == 0, resumed.position == nil { modelRun.tally.counts = counts }
        }
        for (number, pass) in work.passes.enumerated() {
            modelRun.services.progress.enter(pass: number + 1, of: work.passes.count)
            for step in pass.steps {
                unit += 1
                let part = unit == done ? resumed?.position : nil
                if unit == done, part == nil { restoreState() }
                if unit >= done { try checkpoints?.beginUnit() }
                if step.isFirst {
                    modelRun.services.begin(.relate, names(step.mappings))
                    // A one-to-one pair is resolved with the first of its two tables; the patches of the other table
                    // wait on disk.
                    let due = tasks.filter { $0.tables(in: modelRun.inputs.destinationSchema).contains(step.table) }
                    tasks.removeAll { $0.tables(in: modelRun.inputs.destinationSchema).contains(step.table) }
                    for task in due
                    where task.tables(in: modelRun.inputs.destinationSchema).contains(where: { lastUnits[$0] ?? 0 >= done }) {
                        let resolution = DeclaredLinkSort(run: modelRun.run, missing: modelRun.missing, mappings: mappings, keys: keys)
                        for (target, patches) in try resolution.resolve(task) {
                            pending[target, default: []].append(patches)
                        }
                    }
                    modelRun.services.begin(.load, names(step.mappings))
                    let table = work.tables[step.table]
                    if unit >= done, part == nil {
                        try modelRun.validation.prepare(step.table, expecting: expectedRows(table, keys), in: destination)
                    }
                    open[step.table] = TableLoad(
                        modelRun: modelRun, checkpoints: checkpoints, mappings: mappings, table: table, keys: keys, links: links,
                        patches: pending.removeValue(forKey: step.table) ?? [], excuses: excuses)
                }
                modelRun.services.begin(.load, names(step.mappings))
                guard unit >= done, let load = open[step.table] else {
                    if step.isLast { open[step.table] = nil }
                    continue
                }
                if part != nil { restoreState() }
                if resumed != nil, part == nil, step.isFirst {
                    try destination.checkEmpty(modelRun.inputs.destinationSchema.tables[step.table].name)
                }
                let writer = try destination.tableWriter(
                    step.table, isWhole: step.isFirst && step.isLast,
                    resumingFrom: part == nil ? nil : resumed?.fill)
                if part != nil, resumed?.namesSorts ?? false { try modelRun.inputs.work.removeUnclaimed() }
                try checkpoints?.enter(unit: unit, highest: highest)
                let loaded = try load.run(step, writer: writer, from: part)
                checkpoints?.loaded = .init(isDone: true, highest: loaded)
                try writer.finish()
                highest[step.table] = max(highest[step.table], loaded)
                if step.isLast {
                    open[step.table] = nil
                    highest[step.table] = maximumKey(of: load.table, loaded: highest[step.table])
                    modelRun.services.begin(.indexes, names(step.mappings))
                    try modelRun.validation.createIndexes(of: step.table, in: destination)
                }
                for (table, mapping) in asked where step.mappings.contains(mapping) {
                    if let index = keys.byTable[table] { try checkpoints?.note(index, ofTable: table) }
                }
                try checkpoints?.endStep(unit, highest: highest)
            }
            for join in pass.joinTables {
                unit += 1
                guard unit >= done else { continue }
                let part = unit == done ? resumed?.position : nil
                if unit == done, part == nil { restoreState() }
                try checkpoints?.beginUnit()
                modelRun.services.begin(.load, [modelRun.inputs.destinationSchema.joinTables[join].name])
                var rows = JoinLinks(
                    modelRun: modelRun, checkpoints: checkpoints, mappings: mappings, keys: keys, joinTable: join)
                if try rows.ordered == nil { destination.indexSorts?.memory = indexMemory }
                if resumed != nil, part == nil {
                    try destination.checkEmpty(modelRun.inputs.destinationSchema.joinTables[join].name)
                }
                let writer = try destination.joinWriter(join, resumingFrom: part == nil ? nil : resumed?.fill)
                if part != nil, resumed?.namesSorts ?? false { try modelRun.inputs.work.removeUnclaimed() }
                let links: Int
                if let part, part.isDone {
                    restoreState()
                    try checkpoints?.enter(unit: unit, highest: highest)
                    links = part.links
                } else {
                    let number = unit
                    rows.prepare = {
                        if part == nil {
                            try destination.prepareRows(joinTable: join, expecting: $0)
                        } else {
                            restoreState()
                        }
                        try checkpoints?.enter(unit: number, highest: highest)
                    }
                    rows.part = part
                    links = try rows.load(into: writer)
                }
                checkpoints?.loaded = .init(isDone: true, links: links)
                try writer.finish()
                modelRun.tally.linksWritten[join] += links
                modelRun.services.begin(.indexes, [modelRun.inputs.destinationSchema.joinTables[join].name])
                try destination.createIndexes(joinTable: join)
                destination.indexSorts?.memory = mostIndexMemory
                try checkpoints?.endStep(unit, highest: highest)
            }
        }
        if unit < done { restoreState() }
        // Count again: the load has noted further keys, and a killed run may have saved the counts from before a load
        // without rejects.
        keys.account(for: mappings, in: modelRun.tally)
        // In a complete store they are raised already.
        if mappings.contains(where: \.belongsToPreviousModel), !(resumed?.isComplete ?? false) {
            try ExistingRowVersions(modelRun: modelRun, destination: destination).raise()
        }
        // The keys themselves are the pairs, so no log of pairs is ever filled.
        let logs = RecordMemory(bytes: 0)
        let associations = mappings.filter { !$0.belongsToPreviousModel }.map { mapping in
            let table = MappingAssociations(
                mapping: mapping, keys: keys.byMapping[mapping.index], directory: modelRun.archive.directory,
                memory: 0, logs: logs)
            table.isCreated = true
            return table
        }
        return (highest, associations)
    }

    private func names(_ indices: [Int]) -> [String] { indices.map { mappings[$0].name } }

    /// The unit number of each table's last step, in the order in which steps and join tables are worked on.
    private var lastUnits: [Int: Int] {
        var last: [Int: Int] = [:]
        var unit = -1
        for pass in work.passes {
            for step in pass.steps {
                unit += 1
                last[step.table] = unit
            }
            unit += pass.joinTables.count
        }
        return last
    }

    /// Returns the number of rows that a table is expected to get.
    private func expectedRows(_ table: PlannedTable, _ keys: PlanKeys) -> Int {
        table.mappings.reduce(0) { sum, index in
            guard let own = keys.byMapping[index] else { return sum }
            let isKnown = !own.isFilledByLoad && !own.isLeftOut
            return sum + (isKnown ? own.index.count : modelRun.tally.counts.mappings[index].sourceObjects)
        }
    }

    /// The highest key that each destination table is expected to get.
    private var expectedKeys: [Int64] {
        var expected = modelRun.keysBefore.highestKeys
        for table in work.tables {
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

    /// Returns the highest key (Z_MAX) to store for a table. If keys are kept, it is never below the source's, so that the key
    /// of a deleted object is not given again.
    private func maximumKey(of table: PlannedTable, loaded: Int64) -> Int64 {
        let before = max(loaded, modelRun.keysBefore.highestKeys[table.table])
        guard table.keys == .kept, let first = table.mappings.first, let source = mappings[first].sourceTable else {
            return before
        }
        return max(before, modelRun.inputs.layout.tables[source].maximumKey)
    }
}
