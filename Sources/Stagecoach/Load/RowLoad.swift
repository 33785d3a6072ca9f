import CoreDataStore
import SpillStorage

/// The rows and links of the row path: rows are read from the source, and links that need a whole table are resolved by sorts.
final class RowLoad: ModelStage, LoadSource {
    let stage: StageInputs
    private let keys: PlanKeys
    private let links: LinkPlan
    private let destination: DestinationStore
    private var pending: PendingLinks
    /// Nil if no source object can become a row that was there before.
    private let standing: StandingOrders?
    /// The tables that have begun and not ended.
    private var open: [Int: TableLoad] = [:]
    /// The memory of index builds while a join table is sorted, and otherwise: if nothing else is sorted, they may use the
    /// memory of the sorts too.
    private let indexMemory: (least: Int, most: Int)

    init(stage: StageInputs, keys: PlanKeys, links: LinkPlan, destination: DestinationStore) {
        self.stage = stage
        self.keys = keys
        self.links = links
        self.destination = destination
        pending = PendingLinks(links.columns)
        standing =
            stage.mappings.contains { $0.matching != nil }
            ? StandingOrders(destination, stage.modelRun.keysBefore) : nil
        let modelRun = stage.modelRun
        let budget = modelRun.inputs.budget
        // The ledger of rejects has a cache of the source's size; removed references are noted in a sixteenth of the sorts.
        let noted =
            (modelRun.validation.ledger == nil ? 0 : budget.sourceCache)
            + (modelRun.missing.unmigrated == nil ? 0 : budget.sorts / 16)
        let free = links.columns.isEmpty ? max(0, budget.sorts / 8 * 7 - noted) : 0
        indexMemory = (budget.destinationCache, budget.destinationCache + free)
        destination.filling.indexSorts?.memory = indexMemory.most
    }

    func begin(_ step: PlannedStep, isClosed: (Int) -> Bool) throws {
        modelRun.services.begin(.relate, step.mappings.map { mappings[$0].name })
        let resolution = DeclaredLinkSort(
            stream: modelRun.links(by: keys), mappings: mappings, standing: standing)
        open[step.table] = TableLoad(
            stage: stage, table: stage.work.tables[step.table], keys: keys, links: links,
            patches: try pending.patches(of: step.table, by: resolution, isClosed: isClosed))
    }

    func expectedRows(of table: PlannedTable) -> Int {
        table.mappings.reduce(0) { sum, index in
            guard let own = keys.byMapping[index] else { return sum }
            return sum + (own.isFilledByLoad ? modelRun.tally.counts.mappings[index].sourceObjects : own.index.count)
        }
    }

    func load(_ step: PlannedStep, into writer: any TableWriter) throws -> Int64 {
        try open[step.table]?.run(step, writer: writer) ?? 0
    }

    /// If keys are kept, Z_MAX is never below the source's, so that the key of a deleted object is not given again.
    func end(_ table: PlannedTable, loaded: Int64) -> Int64 {
        open[table.table] = nil
        let before = max(loaded, modelRun.keysBefore.highestKeys[table.table])
        guard table.keys == .kept, let first = table.mappings.first, let source = mappings[first].sourceTable else {
            return before
        }
        return max(before, modelRun.inputs.layout.tables[source].maximumKey)
    }

    func load(join: Int, into writer: any TableWriter, prepare: @escaping (Int) throws -> Void) throws -> Int {
        let rows = JoinLinks(
            stage: stage, mappings: mappings, keys: keys, joinTable: join, standing: standing, prepare: prepare)
        if try rows.ordered == nil { destination.filling.indexSorts?.memory = indexMemory.least }
        defer { destination.filling.indexSorts?.memory = indexMemory.most }
        return try rows.load(into: writer)
    }
}
