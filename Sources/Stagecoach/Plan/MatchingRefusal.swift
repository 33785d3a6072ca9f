import Diagnostics
import Mapping

/// The refusal of runs in which source objects cannot become rows of the destination.
///
/// The rows are found by keys before any other is made, and looked up by keys. What makes or relates objects one by one, or leaves
/// objects out again, does not see them.
struct MatchingRefusal {
    /// The mappings of the run's only mapping model, or those of the first with such a mapping.
    let mappings: [PlannedMapping]
    /// The number of mapping models of the run, those of previous migrations by the same manager included.
    let modelCount: Int
    /// The reason why objects are made one by one; nil if rows are.
    let reasonForObjects: String?
    let options: MigrationOptions

    /// Refuses what cannot be combined.
    ///
    /// - Throws: `plan.match` (78), with the mapping and the remedy.
    func check() throws(MigrationError) {
        guard let mapping = mappings.first(where: { $0.matching != nil }) else { return }
        guard let (message, remedy) = problem else { return }
        throw MigrationError(
            "plan.match", .configuration,
            "Objects of \(mapping.name) become rows that the destination had before (\(ObjectMatching.keyName)), \(message)",
            remedy: remedy, context: mapping.context)
    }

    private var problem: (message: String, remedy: String)? {
        if !options.appendsToExisting {
            return (
                "and a fresh destination has none", "Add to the existing store with --append, or leave out the keys"
            )
        }
        if modelCount > 1 {
            return (
                "which several mapping models in one run cannot do: to a later one all rows of the previous ones were there "
                    + "before", "Run them one after the other, each with --append"
            )
        }
        if let reasonForObjects {
            return (
                "which works for rows that need no user code, and here \(reasonForObjects)",
                "Migrate what needs user code in a run of its own"
            )
        }
        if options.onInvalid == .reject {
            return (
                "which cannot be combined with --on-invalid reject: a rejected object's members may belong to such a row",
                "Leave invalid objects out by a \"sourceFilter\""
            )
        }
        return nil
    }
}
