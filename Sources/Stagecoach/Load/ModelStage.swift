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
}

/// A stage or a load of one mapping model, or a part of it.
protocol ModelStage {
    var stage: StageInputs { get }
}

extension ModelStage {
    var modelRun: ModelRun { stage.modelRun }
    var checkpoints: CheckpointScheduler? { stage.checkpoints }
    var mappings: [PlannedMapping] { stage.mappings }
}
