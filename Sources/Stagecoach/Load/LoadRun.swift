import CoreDataStore

/// The rows and links of a load, as a path makes them.
protocol LoadSource: AnyObject {
    /// Resolves the links that need a whole table before its rows can be written.
    ///
    /// - Parameters:
    ///   - isClosed: tells whether a killed run has written all rows of a table. Links of such tables alone are not resolved.
    func begin(_ step: PlannedStep, isClosed: (Int) -> Bool) throws

    /// Returns the number of rows that a table is expected to get.
    func expectedRows(of table: PlannedTable) -> Int

    /// Writes the rows of a step.
    ///
    /// - Returns: the highest key of the step, 0 if it has no row.
    func load(_ step: PlannedStep, into writer: any TableWriter) throws -> Int64

    /// Ends a table, whose indexes are built next. Returns Z_MAX.
    ///
    /// - Parameter loaded: the highest key of its rows.
    func end(_ table: PlannedTable, loaded: Int64) throws -> Int64

    /// Writes the links of a join table.
    ///
    /// - Parameter prepare: called with the number of links at most, just before the first is written.
    /// - Returns: the number of links.
    func load(join: Int, into writer: any TableWriter, prepare: @escaping (Int) throws -> Void) throws -> Int
}

/// A load of all tables, unit by unit: a table is prepared before its first row, its rows are written, and its indexes are built
/// after its last row; join tables follow the tables that they join.
///
/// The load alone knows that a killed run had loaded some units. It leaves them out, and restores that run's counts when it
/// reaches the unit where it stopped.
final class LoadRun: ModelStage {
    let stage: StageInputs
    private let units: [LoadUnit]
    private let destination: DestinationStore
    /// The number of each table's last unit.
    private let lastUnits: [Int: Int]
    /// True if the load itself counts what precedes its first unit. The counts of a state from before the load do not hold then.
    private let countsBeforeLoad: Bool
    /// The state of a killed run from which the load resumes; nil if it begins anew.
    private let state: JournalRecord.State?
    private var isRestored = false
    /// The number of the current unit.
    private var unit = -1
    /// Z_MAX by destination table.
    private var highest: [Int64]

    init(stage: StageInputs, units: [LoadUnit], countsBeforeLoad: Bool, destination: DestinationStore) {
        self.stage = stage
        self.units = units
        self.countsBeforeLoad = countsBeforeLoad
        self.destination = destination
        lastUnits = Dictionary(
            units.enumerated().compactMap { number, unit in unit.table.map { ($0, number) } },
            uniquingKeysWith: { $1 })
        state = stage.resumed
        highest = [Int64](repeating: 0, count: stage.modelRun.inputs.destinationSchema.tables.count)
    }

    /// Loads all units.
    ///
    /// - Returns: Z_MAX by destination table.
    func run(_ source: any LoadSource) throws -> [Int64] {
        let done = state?.unit ?? 0
        let isClosed = { [lastUnits] table in lastUnits[table].map { $0 < done } ?? true }
        for next in units {
            enter(next)
            let isDue = unit >= done
            switch next.content {
            case .step(let step):
                if step.isFirst { try source.begin(step, isClosed: isClosed) }
                modelRun.services.begin(.load, names(step))
                if isDue { try load(step, source) }
            case .join(let join): if isDue { try load(join: join, source) }
            }
            if isDue { try checkpoints?.endUnit(unit, highest: highest) }
        }
        // A killed run may have loaded all units.
        if unit < done { restoreState() }
        return highest
    }

    private func names(_ step: PlannedStep) -> [String] { step.mappings.map { mappings[$0].name } }

    // MARK: - Resuming

    private func enter(_ next: LoadUnit) {
        unit += 1
        if unit == 0 || next.pass != units[unit - 1].pass {
            modelRun.services.progress.enter(pass: next.pass + 1, of: stage.work.passes.count)
        }
        if unit == state?.unit { restoreState() }
    }

    /// Restores the counts of the killed run, once.
    private func restoreState() {
        guard !isRestored else { return }
        isRestored = true
        let counts = modelRun.tally.counts
        checkpoints?.restore()
        guard let state else { return }
        highest = state.progress.highest
        if countsBeforeLoad, state.unit == 0 { modelRun.tally.counts = counts }
    }

    // MARK: - Units

    /// Loads the rows of a step.
    private func load(_ step: PlannedStep, _ source: any LoadSource) throws {
        let table = stage.work.tables[step.table]
        if step.isFirst {
            try modelRun.validation.prepare(step.table, expecting: source.expectedRows(of: table), in: destination)
        }
        let writer = try destination.tableWriter(step.table, isWhole: step.isFirst && step.isLast)
        let loaded = try source.load(step, into: writer)
        try writer.finish()
        highest[step.table] = max(highest[step.table], loaded)
        if step.isLast {
            highest[step.table] = try source.end(table, loaded: highest[step.table])
            modelRun.services.begin(.indexes, names(step))
            try modelRun.validation.createIndexes(of: step.table, in: destination)
        }
    }

    /// Loads the links of a join table.
    private func load(join: Int, _ source: any LoadSource) throws {
        let name = modelRun.inputs.destinationSchema.joinTables[join].name
        modelRun.services.begin(.load, [name])
        let writer = try destination.joinWriter(join)
        let count = try source.load(join: join, into: writer) { [destination] links in
            try destination.prepareRows(joinTable: join, expecting: links)
        }
        try writer.finish()
        modelRun.tally.linksWritten[join] += count
        modelRun.services.begin(.indexes, [name])
        try destination.createIndexes(joinTable: join)
    }
}
