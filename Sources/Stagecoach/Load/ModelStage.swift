/// The inputs that all stages and loads of one mapping model share.
struct StageInputs {
    let modelRun: ModelRun
    /// Nil if no checkpoints are taken.
    let checkpoints: CheckpointScheduler?
    let mappings: [PlannedMapping]
    let work: PlannedWork
    /// True if a value copied unchanged only warns of a rule that the source had too.
    let excuses: Bool
    let manager: MigrationManager

    /// The state of a killed run from which the mapping model resumes; nil if there is none, and once its counts are restored.
    var resumed: JournalRecord.State? { checkpoints?.resumed }
    /// True if a killed run can be resumed from the states that this one writes.
    var isResumable: Bool { checkpoints?.isResumable ?? false }
}

/// A stage or a load of one mapping model, or a part of it.
protocol ModelStage {
    var stage: StageInputs { get }
}

extension ModelStage {
    var modelRun: ModelRun { stage.modelRun }
    var checkpoints: CheckpointScheduler? { stage.checkpoints }
    var resumed: JournalRecord.State? { stage.resumed }
    var isResumable: Bool { stage.isResumable }
    var mappings: [PlannedMapping] { stage.mappings }
}
