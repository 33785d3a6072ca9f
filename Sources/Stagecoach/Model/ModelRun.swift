import CoreDataStore
import Diagnostics
import Rows

/// The run of one mapping model. It is made anew for each of them; ``PreviousModels`` keeps what later models need.
final class ModelRun {
    let run: MigrationRun
    /// The associations of the mapping models that ran before. Those of this one are added at its end.
    let archive: AssociationArchive
    /// The keys of the rows that exist before the mapping model.
    let keysBefore: KeysBefore
    /// The handling of broken rules.
    let validation: Validation
    /// The external binary values of the run.
    let external: ExternalFiles
    /// The map from this step's source objects to the objects of the chain's source; nil if no step ran before.
    let previousStepIDs: PreviousStepIDMap?
    /// True if more mapping models follow.
    let hasLaterModels: Bool
    /// The keys of source objects; set once they are read.
    var sourceKeys: PlanKeys?
    /// The handling of references that find no object.
    var missing = MissingReferences()
    /// The existing rows that the mapping model changed; nil if it cannot change any.
    var touched: TouchedRows?

    var inputs: RunInputs { run.inputs }
    var tally: RunTally { run.tally }
    var services: RunServices { run.services }

    /// - Parameter validation: made with the same keys.
    init(
        _ previous: PreviousModels, validation: Validation, external: ExternalFiles,
        previousStepIDs: PreviousStepIDMap?, hasLaterModels: Bool
    ) {
        run = previous.run
        archive = previous.archive
        keysBefore = previous.keys
        self.validation = validation
        self.external = external
        self.previousStepIDs = previousStepIDs
        self.hasLaterModels = hasLaterModels
    }

    /// Begins the search for references; also called when the model's work is repeated.
    ///
    /// - Parameter mayBeSet: true if the model's own policies may set references that its lookups do not find.
    func beginReferences(mayBeSet: Bool) {
        missing.unmigrated = mayBeSet || hasLaterModels ? UnmigratedReferences(run) : nil
    }

    /// Returns the reader of the links that mapping models declare.
    ///
    /// - Parameter further: the links beside those of the mappings' own rows.
    func links(by keys: PlanKeys, and further: (any FurtherLinks)? = nil) -> LinkStream {
        LinkStream(run: run, missing: missing, keys: keys, further: further)
    }

    /// Brings external values into their final form and counts them, before rows are written.
    func finalizeExternalValues(_ batch: inout RowBatch, table: Int) throws {
        try external.finalize(&batch, table: table, counts: &tally.counts)
    }
}
