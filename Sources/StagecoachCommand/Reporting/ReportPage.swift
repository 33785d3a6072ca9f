import Foundation
import Stagecoach

/// A report as one page: well-formed XHTML with embedded style and pictures, without scripts and external resources.
///
/// Memory: the page. Lists of single objects are bounded (rejects, samples, stages).
struct ReportPage {
    let account: RunAccount

    init(_ account: RunAccount) { self.account = account }

    var text: String {
        @inline(never) get { written }
    }

    private var written: String {
        Self.document(
            title: "\(title): \(account.source)", mark: account.result == nil ? ReportFile.unfinishedMark : nil
        ) { body in
            header(&body)
            if let error = account.error { failure(error, &body) }
            figures(&body)
            facts(&body)
            counts(&body)
            leftBehind(&body)
            linksNotMade(&body)
            valuesCut(&body)
            rejects(&body)
            warnings(&body)
            PlanSection(account).write(&body)
            TimelineSection(account).write(&body)
            again(&body)
        }
    }

    /// Returns a page around its content.
    ///
    /// - Parameter mark: the mark by which the report of another run recognises a page that it may replace; nil for none.
    static func document(title: String, mark: String?, _ content: (inout Markup) -> Void) -> String {
        var page = Markup()
        page.raw("<!DOCTYPE html>\n")
        page.element("html", ["xmlns": "http://www.w3.org/1999/xhtml", "lang": "en"]) { html in
            html.element("head") { head in
                head.empty("meta", ["charset": "utf-8"])
                head.empty("meta", ["http-equiv": "Content-Security-Policy", "content": ReportStyle.policy])
                head.empty("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
                head.empty("meta", ["name": "generator", "content": "stagecoach \(CommandCatalog.version)"])
                if let mark { head.empty("meta", ["name": "state", "content": mark]) }
                head.empty("link", ["rel": "icon", "href": "data:,"])
                head.element("title", title.printable)
                head.raw("<style>\(ReportStyle.css)</style>\n")
            }
            html.element("body") { $0.element("main", [:], content) }
        }
        return page.text
    }

    /// The losses and rejected objects; nil if there are none or they were allowed.
    private var losses: String? {
        guard let report = account.report else { return nil }
        var parts = LossWording.warning(report.leftBehind).map { ["\($0) left out"] } ?? []
        parts += LossWording.warnings(report.linksNotMade, report.ordersNotKept)
        parts += LossWording.warnings(report.valuesCut)
        parts += LossWording.warning(SummaryWording.gaps(report)).map { [$0] } ?? []
        if let rejects = report.rejects, rejects.objects > 0 {
            parts.append("\(Figures.count(rejects.objects, "object")) rejected")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    private var title: String { [words, losses].compactMap(\.self).joined(separator: ": ") }

    private var words: String {
        switch account.outcome {
        case .migrated: account.report?.isAppended ?? false ? "Appended" : "Migrated"
        case .dryRun: "Dry run, nothing published"
        case .failed: "Failed, no destination was made"
        case .interrupted: "Interrupted, no destination was made"
        }
    }

    private func header(_ body: inout Markup) {
        let kind = account.outcome
        body.element(
            "div",
            ["class": "verdict " + (kind == .failed ? "bad" : kind == .migrated && losses == nil ? "good" : "warn")],
            title)
        body.element("h1", "\(account.source) → \(account.destination)")
        body.remark("\(account.names.line). Begun \(Self.time(account.started)).")
    }

    /// Returns a time in UTC, to the second.
    static func time(_ date: Date) -> String {
        date.formatted(.iso8601).replacing("T", with: " ").replacing("Z", with: " UTC")
    }

    private func failure(_ error: any Error, _ body: inout Markup) {
        let words = FailureWords(error)
        body.element("div", ["class": "card failure", "id": "failure"]) { card in
            card.element("p") { $0.element("strong", words.message) }
            if let remedy = words.remedy { card.element("p", remedy) }
            let stage = account.spans.last.map { span in
                "; it was at: \(span.stage)" + (span.subject.isEmpty ? "" : " \(span.subject)")
            }
            let code = "Exit code \(words.exitCode)" + (words.code.map { ", \($0)" } ?? "")
            card.remark("\(code)\(stage ?? ""). The source was not changed.")
        }
    }

    /// Writes the figures: what became of the data, which comes first, and what it took.
    private func figures(_ body: inout Markup) {
        if let report = account.report {
            let made = SummaryWording.total(report.counts)
            let (left, rejects, warnings) = (report.leftBehind, report.rejects?.objects ?? 0, self.warnings.count)
            let amounts = [left?.objects, left?.values, left?.links].map { $0 ?? 0 }
            var outcome = [(Figures.count(made), made == 1 ? "object made" : "objects made")]
            for (amount, noun) in zip(amounts, ["object", "value", "link"]) where amount > 0 {
                outcome.append((Figures.count(amount), noun + (amount == 1 ? "" : "s") + " left out"))
            }
            if report.lostLinks > 0 {
                outcome.append(
                    (Figures.count(report.lostLinks), report.lostLinks == 1 ? "link not made" : "links not made"))
            }
            if report.lostOrders > 0 { outcome.append((Figures.count(report.lostOrders), "orders not kept")) }
            if report.lostParts > 0 {
                outcome.append(
                    (Figures.count(report.lostParts), report.lostParts == 1 ? "value cut short" : "values cut short"))
            }
            if left?.isEmpty ?? true, report.lostLinks + report.lostOrders + report.lostParts == 0 {
                outcome.append(("0", "objects, values and links left out"))
            }
            outcome.append((Figures.count(rejects), rejects == 1 ? "object rejected" : "objects rejected"))
            outcome.append((Figures.count(warnings), warnings == 1 ? "warning" : "warnings"))
            body.figures(outcome)
        }
        var figures: [(value: String, name: String)] = []
        let processor = "time, \(Figures.duration(account.processorSeconds)) of processor"
        let limit = account.memoryLimit.map { "peak memory of \(Figures.size($0)) allowed" }
        figures.append((Figures.duration(account.seconds), processor))
        figures.append((Figures.size(account.peakMemory), limit ?? "peak memory"))
        figures.append((Figures.size(account.spilledBytes), "spilled to disk"))
        if let report = account.report { figures.append((Figures.size(report.destinationBytes), "destination")) }
        body.figures(figures)
    }

    private func facts(_ body: inout Markup) {
        guard let report = account.report else { return }
        body.element("div", ["class": "card"]) { card in
            card.element("dl") { list in
                for fact in [[String]](facts: [
                    "Keys": SummaryWording.keys(report),
                    "Passes": "\(report.passes), \(report.isStaged ? "policy path" : "row path")",
                    "Mapping models": report.mappingModels > 1 ? "\(report.mappingModels) in turn" : nil,
                    "Links in join tables": report.counts.links > 0 ? Figures.count(report.counts.links) : nil,
                    "Memory": report.peakMemory > report.memoryLimit ? "above the limit" : nil,
                ]) {
                    list.element("dt", fact[0])
                    list.element("dd", fact[1])
                }
            }
        }
        guard let steps = report.steps, !steps.isEmpty else { return }
        body.table(
            "Versions", id: "versions", header: ["way", "#objects", "#time", "mapping"],
            rows: steps.map { step in
                [
                    Versions.text(step), Figures.count(SummaryWording.total(step.report.counts)),
                    Figures.duration(step.report.seconds), step.mappings.joined(separator: "; "),
                ]
            })
    }

    private func counts(_ body: inout Markup) {
        for (index, step) in account.counts.enumerated() {
            let suffix = step.title.isEmpty ? "" : ", \(step.title)"
            let number = index == 0 ? "" : "-\(index + 1)"
            let lines = MappingCount.lines(step.counts)
            let sum = MappingCount.sum(lines)
            // A reason for which nothing was left out has no column.
            let reasons: [(name: String, count: KeyPath<MappingCount, Int>)] = [
                ("#+ filtered", \.filtered), ("#" + dropped(step.counts), \.dropped), ("#+ rejected", \.rejected),
                ("#+ removed", \.removed),
            ].filter { sum[keyPath: $0.count] > 0 }
            func cells(_ line: MappingCount) -> [String] {
                ([line.made, line.read, line.migrated] + reasons.map { line[keyPath: $0.count] }).map(Figures.count)
            }
            body.table(
                "Entity mappings" + suffix, id: "counts" + number,
                header: ["entity mapping", "#made", "#read", "#= migrated"] + reasons.map(\.name) + ["from", "to"],
                rows: lines.map { [$0.name] + cells($0) + [$0.source ?? "–", $0.destination ?? "–"] },
                footer: [whole(step.objects)] + cells(sum) + ["", ""])
            let made = ", \(Figures.count(sum.madeByPolicy)) of them without a source object"
            body.remark(
                "Every line adds up: what was read was migrated, or left out for the reason above its figure. "
                    + "Made are objects of the destination\(sum.madeByPolicy > 0 ? made : "").")
            let left = leftOut(step.counts)
            if !left.isEmpty {
                body.table(
                    "Source objects that no entity mapping migrates", level: "h3", id: "left" + number,
                    header: ["entity", "#objects", "why"], rows: left, stacks: true)
            }
            let objects = SummaryWording.objects(step.counts)
            body.table(
                "Objects by destination entity", level: "h3", id: "objects" + number, header: ["entity", "#objects"],
                rows: objects.map { [$0.entity, Figures.count($0.count)] },
                footer: ["in all", Figures.count(objects.reduce(0) { $0 + $1.count })])
        }
    }

    /// Returns the title of the column of source objects without an associated object.
    private func dropped(_ counts: MigrationCounts) -> String {
        counts.mappings.contains { $0.unassociated > 0 } ? "+ dropped or not associated" : "+ dropped"
    }

    /// Returns the name of the sum row, with the number of objects in the store, read or not.
    private func whole(_ objects: Int?) -> String {
        objects.map { "in all, of \(Figures.count($0, "object")) of the store" } ?? "in all"
    }

    private func leftOut(_ counts: MigrationCounts) -> [[String]] {
        var rows = counts.withoutMapping.sorted { $0.key < $1.key }.map {
            [$0.key, Figures.count($0.value), "no entity mapping reads them"]
        }
        rows += counts.mappings.filter { $0.unassociated > 0 }.map {
            [$0.sourceEntity ?? "–", Figures.count($0.unassociated), SummaryWording.unassociated($0)]
        }
        if counts.strays > 0 { rows.append(["–", Figures.count(counts.strays), "of no entity of the source model"]) }
        return rows
    }

    /// The greatest number of losses that a page lists.
    private static let listedLosses = 200

    private func leftBehind(_ body: inout Markup) {
        LossWording.write(account.report.map(SummaryWording.gaps), &body)
        LossWording.write(account.report?.leftBehind, most: Self.listedLosses, &body)
    }

    private func linksNotMade(_ body: inout Markup) {
        let links = (account.report?.linksNotMade ?? []).map { line in
            [
                line.relationship, Figures.count(line.links), line.ofLinks.map(Figures.count) ?? "–",
                line.cause.rawValue,
                line.objects.joined(separator: ", "),
            ]
        }
        if !links.isEmpty {
            body.table(
                "Links that were not made", id: "links-not-made",
                header: ["relationship", "#links", "#of", "cause", "first objects"], rows: links, stacks: true)
        }
        let orders = (account.report?.ordersNotKept ?? []).map { line in
            [line.relationship, Figures.count(line.lists), line.remedy ?? ""]
        }
        if !orders.isEmpty {
            body.table(
                "Orders that are not kept", id: "orders-not-kept", header: ["relationship", "#lists", "to keep it"],
                rows: orders, stacks: true)
        }
    }

    private func valuesCut(_ body: inout Markup) {
        let cuts = (account.report?.valuesCut ?? []).map { line in
            let first = line.objects.map { "\($0.object): \($0.value)" }
            return [line.attribute, Figures.count(line.values), line.part.rawValue, first.joined(separator: ", ")]
        }
        guard !cuts.isEmpty else { return }
        body.table(
            "Numbers that were cut", id: "values-cut", header: ["attribute", "#values", "cut off", "first objects"],
            rows: cuts, stacks: true)
    }

    private func rejects(_ body: inout Markup) {
        guard let rejects = account.report?.rejects, rejects.objects > 0 else { return }
        body.table(
            "Rejected objects", id: "rejects-by-rule", header: ["broken rule", "#objects"],
            rows: rejects.byRule.sorted { $0.key < $1.key }.map { [$0.key, Figures.count($0.value)] },
            footer: ["in all", Figures.count(rejects.objects)])
        let shown = rejects.examples(most: RejectReport.mostOfRule)
        if !shown.isEmpty {
            body.table(
                "The first of each rule", level: "h3", id: "rejects",
                header: ["rule", "source object", "property", "value", "not made", "entity mapping"],
                rows: shown.map { object in
                    [
                        object.rule.rawValue, object.sourceID ?? "–", object.property, object.value ?? "–", object.id,
                        object.mapping ?? "–",
                    ]
                })
        }
        let more = rejects.objects - shown.count
        let place = rejects.file.map { "All of them are in \($0)." } ?? "--reject-file FILE lists all of them."
        body.remark((more > 0 ? "And \(Figures.count(more)) more. " : "") + place)
        if rejects.removedReferences > 0 {
            body.remark("\(Figures.count(rejects.removedReferences, "reference")) to rejected objects became nil.")
        }
    }

    private var warnings: [String] {
        let warned = account.counts.flatMap { $0.counts.warnings }.sorted { $0.key < $1.key }
        return (account.report?.notes ?? [])
            + warned.map { "\($0), broken by \(Figures.count($1, "value")) of the source already" }
    }

    private func warnings(_ body: inout Markup) {
        let warnings = warnings
        guard !warnings.isEmpty else { return }
        body.element("h2", "Warnings")
        body.element("div", ["class": "card", "id": "warnings"]) { $0.list(warnings) }
    }

    private func again(_ body: inout Markup) {
        body.again(account.command)
        body.remark("In the folder \(account.folder), with \(HelpText.version.dropLast()).")
    }
}
