/// One run of a chain of versions, with its report.
public struct ChainStepReport: Sendable, Codable {
    /// The version that it began with; nil if it has no name.
    public var sourceVersion: String?
    /// The version that it ended with; nil if it has no name.
    public var destinationVersion: String?
    /// The versions between the run's fused steps.
    public var through: [String]
    /// The files of the mapping models of each fused step, `inferred` if there is none.
    public var mappings: [String]
    /// The report of its migration.
    public var report: MigrationReport
}
