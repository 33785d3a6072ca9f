/// A line of a results file: what became of one store.
///
/// `schema` rises when a field changes its meaning or goes; new fields may come at any time.
struct BatchResult: Codable, Equatable {
    enum Status: String, Codable {
        /// The migration begins; another line follows unless the process is killed.
        case started
        /// The destination stands.
        case done
        /// No destination was made; the error says why.
        case failed
        /// Another run holds the destination, the source is being written, or the batch was asked to end: the next run
        /// tries again.
        case postponed
        /// An earlier run has done it: never in a file, only said.
        case skipped
    }

    var schema = 1
    var status: Status
    var source: String
    var destination: String
    /// What the source was: 64 hexadecimal digits over size, inode, time, header and -wal.
    var fingerprint: String?
    /// What was asked for: 64 hexadecimal digits over options, models and mapping models.
    var configuration: String?
    /// The destination's header, 64 hexadecimal digits.
    var result: String?
    var exitCode: Int32 = 0
    /// The error's stable code.
    var error: String?
    var message: String?
    /// Objects in the destination that this migration made.
    var objects: Int?
    var rejected: Int?
    /// Source objects, values and links that no entity mapping took along, where that was not allowed.
    var leftOutObjects: Int?
    var leftOutValues: Int?
    var leftOutLinks: Int?
    /// References that became nil, because their object does not exist, was not migrated or was rejected.
    var nilReferences: Int?
    var destinationBytes: Int?
    var seconds: Double?
    var processorSeconds: Double?
    var peakMemory: Int?
    /// The share of the batch, `2/8`; nil for the whole.
    var shard: String?
    /// When the line was written, as ISO 8601.
    var time: String?

    /// `5 objects, 7 values left out`; nil where the migration took everything along.
    var losses: String? {
        let counts = [(leftOutObjects ?? 0, "object"), (leftOutValues ?? 0, "value"), (leftOutLinks ?? 0, "link")]
        let parts = counts.filter { $0.0 > 0 }.map { Figures.count($0.0, $0.1) }
        return parts.isEmpty ? nil : parts.joined(separator: ", ") + " left out"
    }

    /// Whether another line is of the same source, as it is now, and asked for the same.
    func isAlike(_ other: BatchResult?) -> Bool {
        guard let other, let fingerprint else { return false }
        return fingerprint == other.fingerprint && configuration == other.configuration
    }

    /// The line with its end.
    func line() throws -> String { try JSONText.line(self) }
}
