import Diagnostics

/// Parts of a killed run's work that are passed over, because a run could not go on from them.
///
/// A killed run may lose work, and is never refused for what it left. Damage is met when a state is taken up, or hours later,
/// when a block of a spill file is read that the killed run wrote. Either way the run ends there and begins once more: from the
/// state before the one that it went on from, as long as no later one was written, and in the end from the beginning.
struct PassedOver {
    /// States with this number and later ones.
    var bound = Int.max
    /// All of it: the run begins anew.
    var isAll = false
    /// The first thing that was wrong, for the report; nil: nothing was.
    var reason: String?

    /// States of the killed run that are read at most.
    var statesRead: Int { reason == nil ? EarlierRun.statesRead.first : EarlierRun.statesRead.again }
}

/// The end of a run that met damage in the work of a killed one: it runs again, without that.
struct DamagedWork: Error {
    let passed: PassedOver
}

extension Resumption {
    /// What the run is to pass over next, where it went on from a killed one and the error may come of what that one left;
    /// nil elsewhere.
    func passing(over error: any Error) -> PassedOver? {
        guard let state, let error = error as? MigrationError, area.isDamage(error) else { return nil }
        var next = passed
        if next.reason == nil { next.reason = error.message }
        next.bound = state.ordinal
        // What was written since is later than all that is left to go on from.
        if checkpoints.hasWritten { next.isAll = true }
        return next
    }
}

extension WorkArea {
    /// Whether an error may come of damage to what stands in the work area. A failing disk is none: its errors name it.
    func isDamage(_ error: MigrationError) -> Bool {
        if error.category == .internal || ["journal.damaged", "spill.damaged"].contains(error.code) { return true }
        if let cause = error.cause as? MigrationError, isDamage(cause) { return true }
        guard let path = error.context.path, path.hasPrefix(self.path) || path.hasPrefix(spills.path) else {
            return false
        }
        return [.data, .noInput, .temporary].contains(error.category) && error.code != "store.interrupted"
    }
}
