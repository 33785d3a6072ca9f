import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// A line of a reject file, as a program reads it.
struct RejectLine: Decodable {
    let entity: String
    let id: String
    let sourceID: String?
    let property: String
    let rule: String
    let value: String?
    let mapping: String?

    /// The lines of a file.
    static func read(_ path: String) throws -> [RejectLine] {
        try String(decoding: Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { try JSONDecoder().decode(RejectLine.self, from: Data($0.utf8)) }
    }
}

/// Compares what a run rejected with what the reference rejects.
enum RejectComparison {
    /// Differences of the reject sets, of their reasons and order, and of the counts.
    static func differences(
        _ lines: [RejectLine], _ report: MigrationReport, from expected: ReferenceReport
    ) -> [String] {
        var differences: [String] = []
        let found = lines.map { "\($0.id) \($0.property) \($0.rule)" }
        let wanted = expected.rejects.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
            .map { "\($0.entity)/p\($0.key) \($0.property) \(word($0.rule))" }
        if found != wanted {
            for line in Set(found).subtracting(wanted).sorted() { differences.append("rejected: \(line)") }
            for line in Set(wanted).subtracting(found).sorted() { differences.append("not rejected: \(line)") }
            if differences.isEmpty { differences.append("another order: \(found)") }
        }
        if report.rejects?.objects != wanted.count {
            differences.append("\(report.rejects?.objects ?? -1) rejects counted, expected \(wanted.count)")
        }
        if report.rejects?.byRule.values.reduce(0, +) != wanted.count { differences.append("rules do not add up") }
        for line in report.counts.mappings where line.sourceEntity != nil && line.destinationEntity != nil {
            if line.rejected != expected.rejected[line.name] ?? 0 {
                differences.append("\(line.name): rejected \(line.rejected)")
            }
            if line.migrated != expected.migrated[line.name] ?? 0 {
                differences.append("\(line.name): migrated \(line.migrated)")
            }
            if line.rejectedByRule.values.reduce(0, +) != line.rejectedObjects {
                differences.append("\(line.name): rules do not add up")
            }
        }
        return differences
    }

    /// The reference's word for a rule, as reject files have it.
    static func word(_ rule: ReferenceViolation.Rule) -> String {
        switch rule {
        case .missing: "required"
        case .tooSmall: "minimum"
        case .tooLarge: "maximum"
        case .predicate: "predicate"
        case .tooShort: "minimumLength"
        case .tooLong: "maximumLength"
        case .tooFew: "minimumCount"
        case .tooMany: "maximumCount"
        case .otherType: "type"
        case .pattern, .unique, .abstract, .reference, .value: rule.rawValue
        }
    }
}
