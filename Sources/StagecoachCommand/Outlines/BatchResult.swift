import Diagnostics
import Stagecoach

/// A line of a results file: the outcome of one store.
///
/// `schema` rises when a field changes its meaning or is removed; new fields may be added at any time.
struct BatchResult: Codable, Equatable {
    enum Status: String, Codable {
        /// The migration starts. Another line follows unless the process is killed.
        case started
        /// The destination is complete.
        case done
        /// No destination was made; the error gives the reason.
        case failed
        /// The process that migrated it crashed. No destination was made; the next run tries it last.
        case crashed
        /// Another run holds the destination, the source is being written, or the batch was interrupted. The next run tries
        /// again.
        case postponed
        /// A run before has done it. This status is only displayed: the line in a file says `done` with ``isDoneBefore``.
        case skipped
    }

    var schema = 1
    var status: Status
    var source: String
    var destination: String
    /// The state of the source: 64 hexadecimal digits over size, inode, time, header and -wal.
    var fingerprint: String?
    /// The configuration: 64 hexadecimal digits over options, models and mapping models.
    var configuration: String?
    /// The state of the destination's header: 64 hexadecimal digits.
    var result: String?
    var exitCode: Int32 = 0
    /// The error's stable code.
    var error: String?
    var message: String?
    /// True if a run before had done the store, whose figures the line repeats: something else had happened since, such as
    /// a run with other options that failed. Else nil.
    var isDoneBefore: Bool?
    /// True if the source was of the target version before, so that its objects were copied as they are; else nil.
    var isAtTarget: Bool?
    /// The number of objects that this migration made in the destination.
    var objects: Int?
    var rejected: Int?
    /// The source objects, values and links that no entity mapping reads, unless `--on-loss allow` permits it.
    var leftOutObjects: Int?
    var leftOutValues: Int?
    var leftOutLinks: Int?
    /// The number of references that became nil because their object is missing, was not migrated or was rejected.
    var nilReferences: Int?
    var destinationBytes: Int?
    var spilledBytes: Int?
    /// The number of rows and links that went through the migration, over all steps of a chain.
    var rows: Int?
    /// The seconds of each phase, by its name.
    var phaseSeconds: [String: Double]?
    var seconds: Double?
    var processorSeconds: Double?
    var peakMemory: Int?
    /// The share of the batch, `2/8`; nil for the whole.
    var shard: String?
    /// The time at which the line was written, as ISO 8601.
    var time: String?

    /// `5 objects, 7 values left out`; nil if nothing was left out.
    var losses: String? { Self.losses(leftOutObjects ?? 0, leftOutValues ?? 0, leftOutLinks ?? 0) }

    /// ``losses`` without their verb, below a heading that has it.
    var amountsLost: String? { LeftBehind.amounts(leftOutObjects ?? 0, leftOutValues ?? 0, leftOutLinks ?? 0) }

    static func losses(_ objects: Int, _ values: Int, _ links: Int) -> String? {
        LeftBehind.amounts(objects, values, links).map { $0 + " left out" }
    }

    /// Marks the store as one for the next run.
    ///
    /// - Parameter reason: the reason in words, behind the store's name.
    mutating func postpone(_ reason: String) {
        status = .postponed
        exitCode = MigrationError.Category.temporary.rawValue
        message = "\(source): \(reason)"
    }

    /// True if the store was tried and is not done.
    var isUnfinished: Bool { [.failed, .crashed, .postponed].contains(status) }

    /// Tells whether another line has the same state of the source and the same configuration.
    func isAlike(_ other: BatchResult?) -> Bool {
        guard let other, let fingerprint else { return false }
        return fingerprint == other.fingerprint && configuration == other.configuration
    }

    /// Returns the line with its line end.
    func line() throws -> String { try JSONText.line(self) }
}
