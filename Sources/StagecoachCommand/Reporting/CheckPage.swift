import Foundation
import Stagecoach

/// A check's result as a page and as comma-separated values.
///
/// It is a class, and its page is never inlined, because the optimizer of Swift 6.3 fails on closures over an inlined value.
final class CheckPage {
    private let outline: CheckOutline

    init(_ outline: CheckOutline) { self.outline = outline }

    /// One line for each broken rule, below a line of names.
    var table: String {
        var rows = [["kind", "entity", "property", "rule", "objects", "first"]]
        let report = outline.report
        for (kind, lines) in [("broken", report.violations), ("warning", report.warnings)] {
            rows += lines.map { line in
                let ids = line.samples.map { $0.sourceID ?? $0.id }
                return [kind, line.entity, line.property, line.rule.rawValue, "\(line.count)"]
                    + [ids.joined(separator: " ")]
            }
        }
        rows += (report.repairs ?? []).map {
            let column = [$0.table, $0.column].compactMap(\.self).joined(separator: ".")
            return ["missing", $0.entity, $0.property ?? "", "", "\($0.rows)", column]
        }
        rows += report.danglingReferences.map {
            ["dangling", $0.entity, $0.property, "", "\($0.count)", $0.samples.joined(separator: " ")]
        }
        rows += (report.leftBehind?.lines ?? []).map {
            let count = $0.objects ?? $0.values ?? $0.links
            return [
                $0.isMeant == true ? "leftOnPurpose" : "leftBehind", $0.entity, $0.property ?? "", $0.reason.rawValue,
                count.map { "\($0)" } ?? "", "",
            ]
        }
        rows += (report.passesNoFilter ?? []).map {
            ["passesNoFilter", $0.entity, "", "", $0.objects.map { "\($0)" } ?? "", $0.samples.joined(separator: " ")]
        }
        rows += (report.nilReferences ?? []).map {
            ["nil reference", "", $0.relationship, $0.cause.rawValue, "\($0.count)", ""]
        }
        rows += (report.furtherObjects ?? []).map {
            ["further objects", "", $0.relationship, $0.kept.rawValue, "\($0.count)", ""]
        }
        rows += (report.linksNotMade ?? []).map {
            [
                "links not made", "", $0.relationship, $0.cause.rawValue, "\($0.links)",
                $0.objects.joined(separator: " "),
            ]
        }
        rows += (report.ordersNotKept ?? []).map { ["order not kept", "", $0.relationship, "", "\($0.lists)", ""] }
        rows += (report.valuesCut ?? []).map {
            ["values cut", "", $0.attribute, $0.part.rawValue, "\($0.values)"]
                + [$0.objects.map(\.object).joined(separator: " ")]
        }
        return ReportTable.text(rows)
    }

    @inline(never)
    func page() -> String {
        let left = LossWording.warning(outline.report.leftBehind).map { "would leave \($0) behind" }
        let losses =
            [left, LossWording.warning(outline.report.passesNoFilter)].compactMap(\.self)
            + CheckWording.lost(outline.report)
        return written(losses.isEmpty ? nil : losses.joined(separator: ", and "))
    }

    private func written(_ losses: String?) -> String {
        ReportPage.document(title: "Checked: \(outline.report.source)", mark: nil) { body in
            body.element(
                "div", ["class": "verdict " + (outline.fails ? "bad" : losses == nil ? "good" : "warn")],
                outline.fails
                    ? "A migration would fail"
                    : "A migration would not fail" + (losses.map { ", and \($0)" } ?? ""))
            body.element("h1", outline.report.source)
            body.remark("\(outline.names.line). Checked, nothing written.")
            body.figures([
                (Figures.count(outline.report.objects), "objects"),
                (Figures.count(outline.report.rejectedObjects), "would be rejected with --on-invalid reject"),
            ])
            if let repairs = outline.report.repairs {
                body.element("h2", "Missing in the store")
                body.element("div", ["class": "card", "id": "repairs"]) { card in
                    card.list(repairs.map(\.sentence))
                }
            }
            rules("Broken rules", "violations", outline.report.violations, &body)
            rules("Warnings: broken in the source already", "warnings", outline.report.warnings, &body)
            LossWording.write(outline.report.passesNoFilter, &body)
            LossWording.write(outline.report.leftBehind, &body)
            let notes = outline.notes + CheckWording.notes(outline.report)
            if !notes.isEmpty {
                body.element("h2", "Notes")
                body.list(notes, ["id": "notes"])
            }
            guard !outline.report.danglingReferences.isEmpty else { return }
            body.table(
                "References to rows that do not exist, which become nil", id: "dangling",
                header: ["relationship", "#objects", "first"],
                rows: outline.report.danglingReferences.map {
                    ["\($0.entity).\($0.property)", Figures.count($0.count), $0.samples.joined(separator: ", ")]
                }, stacks: true)
        }
    }

    private func rules(_ title: String, _ id: String, _ lines: [CheckReport.Line], _ body: inout Markup) {
        guard !lines.isEmpty else { return }
        body.table(
            title, id: id, header: ["property", "#objects", "rule", "first"],
            rows: lines.map { line in
                [
                    "\(line.entity).\(line.property)", Figures.count(line.count), line.rule.rawValue,
                    line.samples.map { sample in
                        let id = sample.sourceID ?? sample.id
                        return sample.value.map { "\(id) \u{2018}\($0)\u{2019}" } ?? id
                    }.joined(separator: ", "),
                ]
            }, stacks: true)
    }
}
