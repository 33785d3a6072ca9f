/// The plan of a chain's runs.
public struct ChainPlan: Sendable, Codable {
    /// Steps that run as one migration.
    public struct Run: Sendable, Codable {
        /// The steps that run as one migration.
        public var steps: [Step]
        /// The reason why the next steps are not fused with these; nil for the last.
        public var obstacle: String?
        /// The run's plan. For all but the first run it is based on the objects that the previous runs are expected to
        /// make: as many as they read. The actual source cannot be known beforehand, so the plan's inputs do not
        /// describe it.
        public var plan: MigrationPlan
        /// The entity mappings, `source → destination` by name, in order.
        public var entityMappings: [String]
    }

    /// One step from version to version.
    public struct Step: Sendable, Codable {
        /// The version that it begins with; nil if it has no name.
        public var source: String?
        /// The version that it ends with; nil if it has no name.
        public var destination: String?
        /// The files of the mapping models in turn, or `inferred`.
        public var mapping: String
    }

    /// The current version of the format of a saved chain plan.
    public static let currentFormatVersion = 1

    /// The version of the format in which the plan is saved.
    public var formatVersion = ChainPlan.currentFormatVersion
    /// The migrations, in order.
    public var runs: [Run]

    /// Refuses what a run with the options would certainly refuse: ``MigrationPlan/checkObjects(_:)`` of each migration.
    ///
    /// - Throws: the error with its step, if there are several migrations.
    public func checkObjects(_ options: MigrationOptions) throws(MigrationError) {
        for (index, run) in runs.enumerated() {
            do throws(MigrationError) { try run.plan.checkObjects(options) } catch {
                var error = error
                if runs.count > 1 {
                    error.message = "Step \(index + 1) of \(runs.count), \(run.label): \(error.message)"
                }
                throw error
            }
        }
    }
}

extension ChainPlan.Run {
    /// The versions of the run, for messages.
    fileprivate var label: String {
        let unnamed = "an unnamed version"
        return "\(steps.first?.source ?? unnamed) → \(steps.last?.destination ?? unnamed)"
    }
}
