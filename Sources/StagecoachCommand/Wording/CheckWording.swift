import Diagnostics
import Stagecoach

/// The words for a check.
enum CheckWording {
    static func text(_ outline: CheckOutline) -> String {
        let report = outline.report
        var lines = ["Checked \(report.source), nothing written"]
        let facts = [
            ["objects", Figures.count(report.objects)],
            ["policies", report.ranPolicies ? "ran, to see what they make" : "none"],
        ]
        lines += (outline.names.facts + facts).lines()
        if let version = outline.checkedVersion { lines.append("  looked at as far as version \(version)") }
        lines += (report.repairs ?? []).map(\.sentence).titled("Missing in the store", indent: 2)
        lines += section("Broken rules", report.violations)
        lines += section("Warnings: broken in the source already", report.warnings)
        let dangling = report.danglingReferences.map { line in
            [line.entity, line.property, Figures.count(line.count), line.samples.joined(separator: ", ")]
        }
        lines += dangling.lines(right: [2]).titled("References to rows that do not exist, which become nil")
        lines += (outline.notes + notes(report)).titled("Notes", indent: 2)
        lines += LossWording.section(report.passesNoFilter)
        lines += LossWording.section(report.leftBehind)
        lines += ["", sentence(outline)]
        return lines.printableText
    }

    /// Returns a sentence for each rule that cannot be checked, for references that get no object, and for objects that a
    /// to-one relationship has no room for.
    static func notes(_ report: CheckReport) -> [String] {
        // References to rows that do not exist have a table of their own.
        let links = report.linksNotMade?.filter { $0.cause != .dangling }
        return (report.correctedBookkeeping ?? []).flatMap(\.sentences) + (report.unevaluated ?? [])
            + (report.nilReferences ?? []).map(\.sentence)
            + (report.furtherObjects ?? []).map(\.sentence)
            + LinkLosses.notes(links, report.ordersNotKept, beside: report.nilReferences)
            + (report.valuesCut ?? []).map(\.sentence)
    }

    private static func section(_ title: String, _ found: [CheckReport.Line]) -> [String] {
        guard !found.isEmpty else { return [] }
        let header = ["entity", "property", "rule", "objects", "first"]
        let rows = found.map { line in
            [
                line.entity, line.property, line.rule.rawValue, Figures.count(line.count),
                line.samples.map(sample).joined(separator: ", "),
            ]
        }
        return ([header] + rows).lines(right: [3]).titled(title)
    }

    private static func sample(_ sample: CheckReport.Sample) -> String {
        let id = sample.sourceID ?? "\(sample.id), which a policy makes"
        return sample.value.map { "\(id) '\($0)'" } ?? id
    }

    /// Returns links, orders and parts of numbers that a migration would lose, in a few words for a verdict.
    static func lost(_ report: CheckReport) -> [String] {
        LossWording.warnings(report.linksNotMade, report.ordersNotKept, "would not be")
            + LossWording.warnings(report.valuesCut, "would be")
    }

    private static func sentence(_ outline: CheckOutline) -> String {
        if let refusal = outline.refusal { return "A migration would fail: \(refusal)." }
        if outline.report.violations.isEmpty {
            let left = outline.report.leftBehind.flatMap { left in
                left.isEmpty ? nil : "the migration would leave \(left.amounts) behind"
            }
            let losses =
                [LossWording.warning(outline.report.passesNoFilter), left].compactMap(\.self) + lost(outline.report)
            return (["No object breaks a rule"] + losses).joined(separator: ", and ") + "."
        }
        let left = "--on-invalid reject would leave out \(Figures.count(outline.report.rejectedObjects, "object"))"
        return outline.rejects ? "\(left)." : "A migration would fail; \(left)."
    }

    /// Returns the reason why a migration would fail, without a full stop.
    static func verdict(_ outline: CheckOutline) -> String {
        if let refusal = outline.refusal { return "A migration would fail: \(refusal)" }
        let rejected = outline.report.rejectedObjects
        guard outline.rejects else {
            let count = outline.report.violations.reduce(0) { $0 + $1.count }
            return "A migration would fail: rules are broken \(Figures.count(count, "time"))"
        }
        if outline.report.hasInvalidExistingObjects {
            return "A migration would fail: objects that the destination has already would break rules"
        }
        return "A migration would fail: \(Figures.count(rejected, "object")) would be rejected, and "
            + (outline.maximumRejects ?? 0).counted("is allowed", "are allowed")
    }
}
