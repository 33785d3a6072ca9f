import Stagecoach

/// A report as comma-separated values (RFC 4180): one line for each entity mapping, below a line of names.
///
/// In each line `read` is the sum of `migrated`, `filtered`, `dropped`, `rejected` and `removed`.
enum ReportTable {
    static let columns = [
        "outcome", "step", "mapping", "sourceEntity", "destinationEntity", "read", "migrated", "filtered", "dropped",
        "rejected", "removed", "made", "madeByPolicy", "exitCode", "error", "report",
    ]

    static func text(_ account: RunAccount) -> String {
        var rows = [columns]
        for (index, step) in account.counts.enumerated() {
            for line in MappingCount.lines(step.counts) {
                var row = [account.outcome.rawValue, "\(index + 1)", line.name]
                row += [line.source ?? "", line.destination ?? ""]
                let left = [line.filtered, line.dropped, line.rejected, line.removed]
                row += ([line.read, line.migrated] + left + [line.made, line.madeByPolicy]).map { "\($0)" }
                rows.append(row + ["0", "", ""])
            }
        }
        if let error = account.error {
            let words = FailureWords(error)
            var row = [account.outcome.rawValue] + Array(repeating: "", count: columns.count - 4)
            row += ["\(words.exitCode)", words.message, ReportFile.unfinishedMark]
            rows.append(row)
        }
        return text(rows)
    }

    static func text(_ rows: [[String]]) -> String {
        rows.map { $0.map(\.asCommaSeparated).joined(separator: ",") + "\r\n" }.joined()
    }
}

/// The counts of one entity mapping, which add up: every object read was migrated or left out.
struct MappingCount: Equatable {
    var name: String
    /// The source entity; nil for objects without a source.
    var source: String?
    /// The destination entity; nil if no object is made.
    var destination: String?
    var read = 0
    var migrated = 0
    var filtered = 0
    var dropped = 0
    var rejected = 0
    /// The source objects of an entity mapping of type remove.
    var removed = 0
    var made = 0
    var madeByPolicy = 0

    /// Returns one line for each entity mapping.
    static func lines(_ counts: MigrationCounts) -> [MappingCount] {
        counts.mappings.map { mapping in
            let (read, dropped) = (mapping.sourceObjects, mapping.droppedByPolicy + mapping.unassociated)
            let left = read - mapping.migrated - mapping.filtered - dropped - mapping.rejected
            return MappingCount(
                name: mapping.name, source: mapping.sourceEntity, destination: mapping.destinationEntity, read: read,
                migrated: mapping.migrated, filtered: mapping.filtered, dropped: dropped, rejected: mapping.rejected,
                removed: mapping.destinationEntity == nil ? max(0, left) : 0, made: mapping.created,
                madeByPolicy: mapping.createdByPolicy)
        }
    }

    static func sum(_ lines: [MappingCount]) -> MappingCount {
        var whole = MappingCount(name: "in all")
        for field in [\Self.read, \.migrated, \.filtered, \.dropped, \.rejected, \.removed, \.made, \.madeByPolicy] {
            whole[keyPath: field] = lines.reduce(0) { $0 + $1[keyPath: field] }
        }
        return whole
    }
}
