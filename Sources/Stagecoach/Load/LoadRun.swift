import CoreDataStore

/// The rows and links of a load, as a path makes them.
protocol LoadSource: AnyObject {
    /// Resolves the links that need a whole table before its rows can be written.
    ///
    /// - Parameters:
    ///   - start: the position of a killed run in the step; nil if the step is loaded from its beginning.
    ///   - isClosed: tells whether all rows of a table were written. Links of such tables alone are resolved no more.
    func begin(_ step: PlannedStep, from start: LoadPosition?, isClosed: (Int) -> Bool) throws

    /// Returns the number of rows that a table is expected to get.
    func expectedRows(of table: PlannedTable) -> Int

    /// Writes the rows of a step, from a position on.
    ///
    /// - Returns: the highest key of the step, 0 if it has no row.
    func load(_ step: PlannedStep, into writer: any TableWriter, from start: LoadPosition?) throws -> Int64

    /// Ends a table, whose indexes are built next. Returns Z_MAX.
    ///
    /// - Parameter loaded: the highest key of its rows.
    func end(_ table: PlannedTable, loaded: Int64) throws -> Int64

    /// Writes the links of a join table, from a position on.
    ///
    /// - Parameter prepare: called with the number of links at most, just before the first is written.
    /// - Returns: the number of links.
    func load(
        join: Int, into writer: any TableWriter, from start: LoadPosition?, prepare: @escaping (Int) throws -> Void
    ) throws -> Int
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
        state = stage.checkpoints?.resumed
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
            if isDue { try checkpoints?.beginUnit() }
            switch next.content {
            case .step(let step):
                if step.isFirst { try source.begin(step, from: position, isClosed: isClosed) }
                modelRun.services.begin(.load, names(step))
                if isDue { try load(step, source) }
            case .join(let join): if isDue { try load(join: join, source) }
            }
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
        if let state, unit == state.unit, state.position == nil { restoreState() }
    }

    /// The position of the killed run in the current unit; nil if the unit is loaded from its beginning.
    private var position: LoadPosition? { unit == state?.unit ? state?.position : nil }

    /// The encoded state of the writer at ``position``.
    private var fill: [UInt8]? { position == nil ? nil : state?.fill }

    /// Checks that a table is empty before its first row, because a killed run may have begun a later state of the file.
    private func checkEmpty(_ table: String) throws {
        if state != nil, position == nil { try destination.checkEmpty(table) }
    }

    /// Restores the counts of the killed run, once.
    private func restoreState() {
        guard !isRestored else { return }
        isRestored = true
        let counts = modelRun.tally.counts
        checkpoints?.restore()
        guard let state else { return }
        highest = state.progress.highest
        if countsBeforeLoad, state.unit == 0, state.position == nil { modelRun.tally.counts = counts }
    }

    /// Records the state at the unit's first row or link.
    private func recordBeginning() throws { try checkpoints?.enter(unit: unit, highest: highest) }

    /// Ends the writing of a unit.
    private func finish(_ writer: any TableWriter, at end: LoadPosition) throws {
        checkpoints?.loaded = end
        try writer.finish()
    }

    // MARK: - Units

    /// Loads the rows of a step.
    private func load(_ step: PlannedStep, _ source: any LoadSource) throws {
        let (start, table) = (position, stage.work.tables[step.table])
        if step.isFirst {
            if start == nil {
                try modelRun.validation.prepare(
                    step.table, expecting: source.expectedRows(of: table), in: destination)
            }
            try checkEmpty(modelRun.inputs.destinationSchema.tables[step.table].name)
        }
        if start != nil { restoreState() }
        let writer = try destination.tableWriter(
            step.table, isWhole: step.isFirst && step.isLast, resumingFrom: fill)
        try recordBeginning()
        let loaded = try source.load(step, into: writer, from: start)
        try finish(writer, at: .init(isDone: true, highest: loaded))
        highest[step.table] = max(highest[step.table], loaded)
        if step.isLast {
            highest[step.table] = try source.end(table, loaded: highest[step.table])
            modelRun.services.begin(.indexes, names(step))
            try modelRun.validation.createIndexes(of: step.table, in: destination)
        }
        try checkpoints?.endStep(unit, highest: highest)
    }

    /// Loads the links of a join table.
    private func load(join: Int, _ source: any LoadSource) throws {
        let (start, name) = (position, modelRun.inputs.destinationSchema.joinTables[join].name)
        modelRun.services.begin(.load, [name])
        try checkEmpty(name)
        let writer = try destination.joinWriter(join, resumingFrom: fill)
        let count: Int
        if let start, start.isDone {
            restoreState()
            try recordBeginning()
            count = start.links
        } else {
            count = try source.load(join: join, into: writer, from: start) { [self] links in
                if start == nil {
                    try destination.prepareRows(joinTable: join, expecting: links)
                } else {
                    restoreState()
                }
                try recordBeginning()
            }
        }
        try finish(writer, at: .init(isDone: true, links: count))
        modelRun.tally.linksWritten[join] += count
        modelRun.services.begin(.indexes, [name])
        try destination.createIndexes(joinTable: join)
        try checkpoints?.endStep(unit, highest: highest)
    }
}
