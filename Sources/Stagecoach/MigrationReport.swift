import Foundation

/// What a migration did: a value that can be encoded.
public struct MigrationReport: Sendable, Codable {
    /// The store that was migrated.
    public var source: String
    /// Where the migrated store stands.
    public var destination: String
    /// Mapping models that ran, in turn.
    public var mappingModels: Int
    /// Whether the objects were added to a store that stood at the destination.
    public var isAppended: Bool
    /// Objects by entity mapping, and what was left out and why.
    public var counts: MigrationCounts
    /// Objects that were left out because they are invalid; nil where the first one would have ended the run.
    public var rejects: RejectReport?
    /// Passes that the work was cut into.
    public var passes: Int
    /// Whether the stages were barriers, because user code may run.
    public var isStaged: Bool
    /// Keys of each destination root entity: `kept` or `sequential`.
    public var keys: [String: String]
    /// Seconds of wall time.
    public var seconds: Double
    /// Seconds of processor time.
    public var processorSeconds: Double
    /// VmHWM of the process at the end, in bytes.
    public var peakMemory: Int
    /// The limit that was kept, in bytes.
    public var memoryLimit: Int
    /// Bytes written to association tables and spill files.
    public var spilledBytes: Int
    /// Bytes of the destination's file.
    public var destinationBytes: Int
    /// Whether nothing was published.
    public var isDryRun: Bool
    /// Sentences that a person should read.
    public var notes: [String]
    /// Where time and bytes went, stage by stage in the order in which they began; nil where it was not asked for.
    public var profile: [ProfileLine]?
    /// Properties that could not be mapped and were left without a value; nil where there are none.
    public var unmapped: [MigrationPlan.Unmapped]?
    /// What the source lacks and was read as empty or nil; nil where it lacks nothing.
    public var repairs: [MigrationPlan.Repair]?
    /// Data of the source that no entity mapping took along; nil where there is none. Of a chain it is that of all steps.
    public var leftBehind: LeftBehind?
    /// Objects of the source, of all entities; of a chain of its source.
    public var sourceObjects: Int?
    /// The runs of a chain of versions, in order; nil where there was one step. The other figures are then the last run's,
    /// but for times, bytes, rejects and notes, which are of all.
    public var steps: [ChainStepReport]?

    /// The report as JSON with sorted keys.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}
