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
        let found = texts(lines, beside: expected)
        let wanted = texts(expected)
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

    /// The expected lines of a reject file, in its order.
    static func texts(_ expected: ReferenceReport) -> [String] {
        expected.rejects.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
            .map { "\($0.entity)/p\($0.key) \($0.property) \(word($0.rule))" }
    }

    /// The lines of a reject file. If several relationships of an object needed rejected objects, each of them is a true
    /// reason, and the one that the reference names stands for all: the order in which they are found depends on the loads.
    static func texts(_ lines: [RejectLine], beside expected: ReferenceReport) -> [String] {
        let rejects = Dictionary(
            expected.rejects.map { ("\($0.entity)/p\($0.key)", $0) }, uniquingKeysWith: { first, _ in first })
        return lines.map { line in
            guard let reject = rejects[line.id], let rules = reject.others[line.property],
                rules.contains(where: { word($0) == line.rule })
            else {
                return "\(line.id) \(line.property) \(line.rule)"
            }
            return "\(line.id) \(reject.property) \(word(reject.rule))"
        }
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
