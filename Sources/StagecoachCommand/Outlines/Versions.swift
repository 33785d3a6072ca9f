import Stagecoach

/// The words for the two model versions.
enum Versions {
    static func text(_ source: String?, _ destination: String?, through: [String] = []) -> String {
        ([source ?? "unnamed version"] + through + [destination ?? "unnamed version"]).joined(separator: " → ")
    }

    /// Returns the versions of a migration of a chain, with those that it passes through.
    static func text(_ step: ChainStepReport) -> String {
        text(step.sourceVersion, step.destinationVersion, through: step.through)
            + (step.through.isEmpty ? "" : " (fused)")
    }
}
