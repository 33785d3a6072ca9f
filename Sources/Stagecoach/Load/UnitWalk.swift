/// The walk of a load through its units. It knows which of them a killed run has loaded, and restores that run's state when
/// the walk reaches the unit where it stopped.
struct UnitWalk {
    let units: [LoadUnit]
    /// Z_MAX by destination table.
    var highest: [Int64]
    /// The number of the current unit.
    private(set) var unit = -1
    /// The state of a killed run from which the load resumes; nil if it begins anew.
    let state: JournalRecord.State?
    /// The number of units that the killed run had loaded.
    var done: Int { state?.unit ?? 0 }
    private let modelRun: ModelRun
    private let checkpoints: CheckpointScheduler?
    private let passes: Int
    private var isRestored = false
    /// True if the counts of a state from before the load do not hold.
    private let countsBeforeLoad: Bool

    /// - Parameter countsBeforeLoad: true if the load itself counts what precedes its first unit, and a state from before
    ///   the load may lack it.
    init(
        _ units: [LoadUnit], passes: Int, modelRun: ModelRun, checkpoints: CheckpointScheduler?, countsBeforeLoad: Bool
    ) {
        self.units = units
        self.passes = passes
        self.modelRun = modelRun
        self.checkpoints = checkpoints
        self.countsBeforeLoad = countsBeforeLoad
        state = checkpoints?.resumed
        highest = [Int64](repeating: 0, count: modelRun.inputs.destinationSchema.tables.count)
    }

    /// Moves to the next unit.
    ///
    /// - Returns: true if the unit, or a part of it, is still to be loaded.
    mutating func enterUnit() throws -> Bool {
        unit += 1
        if unit == 0 || units[unit].pass != units[unit - 1].pass {
            modelRun.services.progress.enter(pass: units[unit].pass + 1, of: passes)
        }
        if unit == done, state?.position == nil { restoreState() }
        guard unit >= done else { return false }
        try checkpoints?.beginUnit()
        return true
    }

    /// The position of the killed run in the current unit; nil if the unit is loaded from its beginning.
    var position: LoadPosition? { unit == done ? state?.position : nil }

    /// The encoded state of the writer at ``position``.
    var fill: [UInt8]? { position == nil ? nil : state?.fill }

    /// True if the table of the current unit has to be empty, because a killed run may have begun a later state of the file.
    var beginsAfterKill: Bool { state != nil && position == nil }

    /// Restores the counts of the killed run, once.
    mutating func restoreState() {
        guard !isRestored else { return }
        isRestored = true
        let counts = modelRun.tally.counts
        checkpoints?.restore()
        guard let state else { return }
        highest = state.progress.highest
        if countsBeforeLoad, state.unit == 0, state.position == nil { modelRun.tally.counts = counts }
    }

    /// Records the state at the unit's first row or link.
    func recordBeginning() throws { try checkpoints?.enter(unit: unit, highest: highest) }

    /// Records that all rows or links of the unit were given to the writer.
    func recordEnd(of position: LoadPosition) { checkpoints?.loaded = position }

    /// Records that the unit is loaded, with its indexes.
    func finishUnit() throws { try checkpoints?.endStep(unit, highest: highest) }

    /// Ends the walk. A killed run may have loaded all units.
    mutating func finish() { if unit < done { restoreState() } }
}
