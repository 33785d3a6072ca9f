import Foundation

/// The results of a migration; can be encoded.
///
/// ```swift
/// let report = try migration.run()
/// for (entity, count) in report.counts.created.sorted(by: { $0.key < $1.key }) { print(entity, count) }
/// if let left = report.leftBehind, !left.isEmpty { print("left behind:", left.amounts) }
/// try JSONEncoder().encode(report).write(to: URL(fileURLWithPath: "report.json"))
/// ```
public struct MigrationReport: Sendable, Codable {
    /// The store that was migrated.
    public var source: String
    /// The path of the migrated store.
    public var destination: String
    /// The number of mapping models that ran.
    public var mappingModels: Int
    /// True if the objects were added to an existing store.
    public var isAppended: Bool
    /// Object counts by entity mapping, with the objects that were left out and the reasons.
    public var counts: MigrationCounts
    /// Objects that were left out because they are invalid; nil if the first one would have ended the run.
    public var rejects: RejectReport?
    /// The number of passes.
    public var passes: Int
    /// True for the policy path: user code may run.
    public var isStaged: Bool
    /// The keys of each destination root entity: `kept` or `sequential`.
    public var keys: [String: String]
    /// Wall time in seconds.
    public var seconds: Double
    /// Processor time in seconds.
    public var processorSeconds: Double
    /// The process's peak resident memory (VmHWM) at the end, in bytes.
    public var peakMemory: Int
    /// The memory limit of the run, in bytes.
    public var memoryLimit: Int
    /// Bytes written to association tables and spill files.
    public var spilledBytes: Int
    /// The size of the destination's file, in bytes.
    public var destinationBytes: Int
    /// True if nothing was published.
    public var isDryRun: Bool
    /// Notes for the user, as sentences.
    public var notes: [String]
    /// Time and bytes used by each stage, in the order in which the stages began; nil if no profile was asked for.
    public var profile: [ProfileLine]?
    /// Properties that could not be mapped and were left without a value; nil if there are none.
    public var unmapped: [MigrationPlan.Unmapped]?
    /// Tables and columns that the source lacks and that were read as empty or nil; nil if it lacks none.
    public var repairs: [MigrationPlan.Repair]?
    /// Core Data's own numbers that are wrong in the source and right in the destination; nil if there are none.
    public var correctedBookkeeping: [CorrectedBookkeeping]?
    /// Data of the source that no entity mapping carried over; nil if there is none. For a chain: of all steps.
    public var leftBehind: LeftBehind?
    /// Links of the source that were not made although something reads their relationship, by relationship and cause; nil if there
    /// are none. A pair of inverses counts once. For a chain: of all steps.
    public var linksNotMade: [LinksNotMade]?
    /// Ordered relationships of the source whose order is not kept; nil if there are none. For a chain: of all steps.
    public var ordersNotKept: [OrdersNotKept]?
    /// Numbers of which a conversion cut something off; nil if there are none. For a chain: of all steps.
    public var valuesCut: [ValuesCut]?
    /// The number of objects in the source, over all entities. For a chain: in the chain's source.
    public var sourceObjects: Int?
    /// The reports of the steps of a chain, in order; nil if there was one step. The other figures are then those of
    /// the last step, except times, bytes, rejects and notes, which cover all steps.
    public var steps: [ChainStepReport]?

    /// Returns the report as JSON with sorted keys.
    public func json() throws -> Data { try JSONEncoder.readable.encode(self) }
}

extension MigrationReport {
    /// Names the destination, where the run itself made a private store, and gives its size.
    package mutating func place(at path: String) {
        guard destination != path, !isDryRun else { return }
        destination = path
        destinationBytes = (try? DestinationPath.size(of: path)) ?? destinationBytes
    }
}
