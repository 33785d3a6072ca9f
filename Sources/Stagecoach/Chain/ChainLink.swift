/// What a migration that is one run of a chain of versions takes over from the runs before.
struct ChainLink {
    /// The map from the chain's source to this run's source, in SQLite; nil where none is wanted, or for the first run.
    var idMap: String?
    /// Objects that the runs before rejected.
    var rejectFiles: [String] = []
    /// Where the run is only planned: how many objects of each entity its source is expected to have, once it stands.
    var expected: [String: Int]?
    /// Whether the sums of the store's pages stay beside it, for a chain that goes on from there after it was killed.
    var keepsSums = false
}

/// One run of a chain of versions, and what it did.
public struct ChainStepReport: Sendable, Codable {
    /// The version that it began with; nil where it has no name.
    public var sourceVersion: String?
    /// The version that it ended with; nil where it has no name.
    public var destinationVersion: String?
    /// Versions that the run passes by, because its steps are fused.
    public var through: [String]
    /// Files of the mapping models of each fused step, `inferred` where there is none.
    public var mappings: [String]
    /// What its migration did.
    public var report: MigrationReport
}

/// The runs of a chain, as they are planned.
public struct ChainPlan: Sendable, Codable {
    /// Steps that run as one migration.
    public struct Run: Sendable, Codable {
        /// The steps that run as one migration.
        public var steps: [Step]
        /// Why the next steps are not fused with these; nil for the last.
        public var obstacle: String?
        /// Of all but the first it goes by the objects that the runs before are expected to make: as many as they read. What
        /// such a source is in the end cannot be known beforehand, and its inputs do not say.
        public var plan: MigrationPlan
        /// Entity mappings, `source → destination` by name, in order.
        public var entityMappings: [String]
    }

    /// One step from version to version.
    public struct Step: Sendable, Codable {
        /// The version that it begins with; nil where it has no name.
        public var source: String?
        /// The version that it ends with; nil where it has no name.
        public var destination: String?
        /// Files of the mapping models in turn, or `inferred`.
        public var mapping: String
    }

    /// The form of a saved plan of a chain.
    public static let currentFormatVersion = 1

    /// The form that the plan has.
    public var formatVersion = ChainPlan.currentFormatVersion
    /// The migrations, in order.
    public var runs: [Run]
}
