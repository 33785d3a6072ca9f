import Diagnostics

/// The parts of a killed run's work that are ignored because the run could not be resumed from them.
///
/// A killed run may lose work, but it is never refused because of what it left. Damage is found when a state is restored, or
/// hours later, when a block of a spill file from the killed run is read. In both cases the run ends and starts again: from the
/// state before the one that it resumed from if no later state was written, and otherwise from the beginning.
struct PassedOver {
    /// The lowest ordinal that is ignored: states from this one on are not used.
    var bound = Int.max
    /// True if all work is ignored and the run starts anew.
    var isAll = false
    /// The first damage that was found, for the report; nil if there was none.
    var reason: String?

    /// The maximum number of states of the killed run to read.
    var statesRead: Int { reason == nil ? InterruptedRun.statesRead.first : InterruptedRun.statesRead.again }
}

extension Resumption {
    /// Returns the parts to ignore in the next attempt, if the run was resumed and the error may be caused by damage in the
    /// killed run's work. Returns nil otherwise.
    func passing(over error: any Error) -> PassedOver? {
        guard let state, let error = error as? MigrationError, area.isDamage(error) else { return nil }
        var next = passed
        if next.reason == nil { next.reason = error.message }
        next.bound = state.ordinal
        // This run has written states since, and all of them are based on the damaged one. There is nothing left to resume
        // from.
        if checkpoints.hasJournal { next.isAll = true }
        return next
    }
}
