import CoreDataStore
import SpillStorage

/// The load of the row path: unit by unit, links that need a whole table are resolved, and rows and links are written.
final class RowLoad {
    private let modelRun: ModelRun
    private let checkpoints: CheckpointScheduler?
    private let mappings: [PlannedMapping]
    private let work: PlannedWork
    private let keys: PlanKeys
    private let links: LinkPlan
    private let excuses: Bool
    private let destination: DestinationStore
    private var walk: UnitWalk
    /// The number of each table's last unit.
    private let lastUnits: [Int: Int]
    /// The column tasks that are not resolved yet, and patches that wait for their table.
    private var tasks: [LinkPlan.ColumnTask]
    private var pending: [Int: [ColumnPatches]] = [:]
    /// The tables that have begun and not closed.
    private var open: [Int: TableLoad] = [:]
    /// The memory of index builds while a join table is sorted, and otherwise: if nothing else is sorted, they may use the
    /// memory of the sorts too.
    private let indexMemory: (least: Int, most: Int)

    /// True if the load resumes from a state of the complete store.
    var resumesCompleteStore: Bool { walk.state?.isComplete ?? false }

    init(
        modelRun: ModelRun, checkpoints: CheckpointScheduler?, mappings: [PlannedMapping], work: PlannedWork,
        keys: PlanKeys, links: LinkPlan, excuses: Bool, destination: DestinationStore
    ) {
        self.modelRun = modelRun
        self.checkpoints = checkpoints
        self.mappings = mappings
        self.work = work
        self.keys = keys
        self.links = links
        self.excuses = excuses
        self.destination = destination
        walk = UnitWalk(
            work.units, passes: work.passes.count, modelRun: modelRun, checkpoints: checkpoints, countsBeforeLoad: true)
        lastUnits = Dictionary(
            work.units.enumerated().compactMap { number, unit in unit.table.map { ($0, number) } },
            uniquingKeysWith: { $1 })
        tasks = links.columns
        let budget = modelRun.inputs.budget
        // The ledger of rejects has a cache of the source's size; removed references are noted in a sixteenth of the sorts.
        let noted =
            (modelRun.validation.ledger == nil ? 0 : budget.sourceCache)
            + (modelRun.missing.unmigrated == nil ? 0 : budget.sorts / 16)
        let free = links.columns.isEmpty ? max(0, budget.sorts / 8 * 7 - noted) : 0
        indexMemory = (budget.destinationCache, budget.destinationCache + free)
        destination.indexSorts?.memory = indexMemory.most
    }

    /// Loads all units.
    ///
    /// - Returns: Z_MAX by destination table.
    func run() throws -> [Int64] {
        for unit in walk.units {
            let isDue = try walk.enterUnit()
            switch unit.content {
            case .step(let step):
                if step.isFirst { try begin(step, isDue: isDue) }
                modelRun.services.begin(.load, names(step))
                if isDue, let load = open[step.table] { try run(step, load) }
                if step.isLast { open[step.table] = nil }
            case .join(let join): if isDue { try load(join: join) }
            }
        }
        walk.finish()
        return walk.highest
    }

    private func names(_ step: PlannedStep) -> [String] { step.mappings.map { mappings[$0].name } }

    // MARK: - Tables

    /// Begins a table: resolves the links that its rows need, and prepares it for rows.
    private func begin(_ step: PlannedStep, isDue: Bool) throws {
        modelRun.services.begin(.relate, names(step))
        try resolveLinks(of: step.table)
        modelRun.services.begin(.load, names(step))
        let table = work.tables[step.table]
        if isDue, walk.position == nil {
            try modelRun.validation.prepare(step.table, expecting: expectedRows(table), in: destination)
        }
        open[step.table] = TableLoad(
            modelRun: modelRun, checkpoints: checkpoints, mappings: mappings, table: table, keys: keys, links: links,
            patches: pending.removeValue(forKey: step.table) ?? [], excuses: excuses)
    }

    /// Resolves the column tasks of a table. A one-to-one pair is resolved with the first of its two tables; the patches
    /// of the other table wait on disk.
    private func resolveLinks(of table: Int) throws {
        let schema = modelRun.inputs.destinationSchema
        let due = tasks.filter { $0.tables(in: schema).contains(table) }
        tasks.removeAll { $0.tables(in: schema).contains(table) }
        for task in due where task.tables(in: schema).contains(where: { lastUnits[$0] ?? 0 >= walk.done }) {
            let resolution = DeclaredLinkSort(
                run: modelRun.run, missing: modelRun.missing, mappings: mappings, keys: keys)
            for (target, patches) in try resolution.resolve(task) { pending[target, default: []].append(patches) }
        }
    }

    /// Loads the rows of a step. With its last step a table closes, and its indexes are built.
    private func run(_ step: PlannedStep, _ load: TableLoad) throws {
        let start = walk.position
        if start != nil { walk.restoreState() }
        if walk.beginsAfterKill, step.isFirst {
            try destination.checkEmpty(modelRun.inputs.destinationSchema.tables[step.table].name)
        }
        let writer = try destination.tableWriter(
            step.table, isWhole: step.isFirst && step.isLast, resumingFrom: walk.fill)
        try walk.recordBeginning()
        let loaded = try load.run(step, writer: writer, from: start)
        walk.recordEnd(of: .init(isDone: true, highest: loaded))
        try writer.finish()
        walk.highest[step.table] = max(walk.highest[step.table], loaded)
        if step.isLast {
            open[step.table] = nil
            walk.highest[step.table] = maximumKey(of: load.table, loaded: walk.highest[step.table])
            modelRun.services.begin(.indexes, names(step))
            try modelRun.validation.createIndexes(of: step.table, in: destination)
        }
        try walk.finishUnit()
    }

    /// Returns the number of rows that a table is expected to get.
    private func expectedRows(_ table: PlannedTable) -> Int {
        table.mappings.reduce(0) { sum, index in
            guard let own = keys.byMapping[index] else { return sum }
            return sum + (own.isFilledByLoad ? modelRun.tally.counts.mappings[index].sourceObjects : own.index.count)
        }
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

    // MARK: - Join tables

    private func load(join: Int) throws {
        var rows = JoinLinks(
            modelRun: modelRun, checkpoints: checkpoints, mappings: mappings, keys: keys, joinTable: join)
        if try rows.ordered == nil { destination.indexSorts?.memory = indexMemory.least }
        defer { destination.indexSorts?.memory = indexMemory.most }
        try JoinTableLoad(modelRun: modelRun, destination: destination, joinTable: join).run(&walk) {
            writer, position, prepare in
            rows.prepare = prepare
            rows.start = position
            return try rows.load(into: writer)
        }
    }
}
