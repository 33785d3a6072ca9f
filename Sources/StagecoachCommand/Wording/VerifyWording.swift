import Diagnostics
import Stagecoach

/// The output of `verify`.
enum VerifyWording {
    /// Returns the report for people: counts, differences, and the parts that were not recomputed.
    static func text(_ report: VerificationReport, _ names: MigrationNames) -> String {
        var lines = ["\(report.source) → \(report.destination)"] + names.facts.lines() + [""]
        for mapping in report.mappings where mapping.destinationEntity != nil {
            let ends = "\(mapping.sourceEntity ?? "–") → \(mapping.destinationEntity ?? "–")"
            var counts = [
                mapping.expected.map { "\(mapping.found.grouped) of \($0.counted("object"))" } ?? "not recomputed"
            ]
            if mapping.filtered > 0 { counts.append("\(mapping.filtered.grouped) filtered") }
            if let shared = mapping.shared { counts.append("\(shared.grouped) sharing the object of another one") }
            if mapping.rejected > 0 { counts.append("\(mapping.rejected.grouped) rejected") }
            for property in mapping.properties where property.differing > 0 {
                let checksums = "\(property.expectedChecksum), found \(property.foundChecksum)"
                counts.append("\(property.name) differs in \(property.differing.grouped) (\(checksums))")
            }
            lines.append("  \(mapping.name)  \(ends)  \(counts.joined(separator: ", "))")
        }
        for relationship in report.relationships where relationship.isRecomputed {
            let sides = "\(relationship.entity).\(relationship.name)" + (relationship.inverse.map { " ↔ \($0)" } ?? "")
            lines.append(
                "  \(sides)  \(relationship.foundLinks.grouped) of \(relationship.expectedLinks.counted("link"))"
                    + (relationship.differing > 0 ? ", \(relationship.differing.counted("differs", "differ"))" : ""))
        }
        lines += report.differences.map(line).titled("Differences:", indent: 2)
        if !report.differences.isEmpty, report.differenceCount > report.differences.count {
            lines.append("  and \((report.differenceCount - report.differences.count).grouped) more")
        }
        lines += section(
            "Not recomputed, checked against the model's rules only:", report.notRecomputed.filter { !$0.isRerun })
        lines += section(
            "Not recomputed, compared with what the policies made when they ran again:",
            report.notRecomputed.filter(\.isRerun))
        lines += comparedSection(report)
        lines += report.notes.titled("Notes:", indent: 2)
        lines += ["", report.isEqual ? agreement(report) : "\(verdict(report)). \(compared(report))"]
        return lines.printableText
    }

    private static func section(_ title: String, _ lines: [VerificationReport.NotRecomputed]) -> [String] {
        lines.map { "\($0.subject): \($0.reason)" }.titled(title, indent: 2)
    }

    /// Returns each entity's objects by the way of comparison, if not all were recomputed.
    private static func comparedSection(_ report: VerificationReport) -> [String] {
        let entities = report.compared.entities
        guard entities.contains(where: { $0.recomputed < $0.objects }) else { return [] }
        let rows = entities.map { line in
            let counts = [
                (line.recomputed, "recomputed"), (line.rerun, "compared with a second run"),
                (line.checked, "checked against the model's rules"), (line.passedOver, "passed over"),
            ]
            let words = counts.filter { $0.0 > 0 }.map { "\(Figures.count($0.0)) \($0.1)" }
            return [line.entity, words.joined(separator: ", "), line.mappings.joined(separator: ", ")]
                + [line.reason ?? ""]
        }
        return ([["entity", "objects", "entity mappings", "why"]] + rows).lines().titled("Compared")
    }

    /// Returns the last line if nothing differs. It claims no more than was compared.
    static func agreement(_ report: VerificationReport) -> String {
        let verdict =
            report.isComplete ? "The destination is what the migration makes." : "Nothing differs of what was compared."
        return "\(verdict) \(compared(report))"
    }

    /// Returns how many objects were compared, in which way, and which.
    private static func compared(_ report: VerificationReport) -> String {
        let compared = report.compared
        let total = compared.objects - compared.passedOver
        var parts: [String] = []
        if compared.recomputed == total {
            parts.append(
                total == 0
                    ? "There were no objects to compare"
                    : (total == 1 ? "" : "All ") + Figures.count(total, "object") + " recomputed")
        } else {
            let names = compared.entities.filter { $0.recomputed > 0 }.map(\.entity)
            parts.append(
                "\(Figures.count(compared.recomputed)) of \(Figures.count(total, "object")) recomputed"
                    + (names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"))
        }
        parts += others(compared, \.rerun) { _ in
            "compared with what the policies made when they ran again, which trusts them"
        }
        parts += others(compared, \.checked) { "checked against the model's rules\($0)" }
        if compared.passedOver > 0 {
            parts.append("\(Figures.count(compared.passedOver)) that stood in the destination before were passed over")
        }
        if compared.takenForRejected > 0 {
            let count = Figures.count(compared.takenForRejected)
            parts.append("\(count) that are missing were taken for rejected, as no reject file names them")
        }
        let wholes = Set(report.mappings.map(\.name) + ["all objects"])
        let properties = Set(report.notRecomputed.map(\.subject)).subtracting(wholes).filter { subject in
            // Lines of objects that were not recomputed are part of their mapping's line.
            !report.mappings.contains { $0.expected == nil && subject.hasPrefix($0.name + ".") }
        }
        if !properties.isEmpty {
            parts.append("not recomputed: \(properties.sorted().joined(separator: ", "))")
        }
        return parts.joined(separator: "; ") + "."
    }

    /// Returns the objects that were compared in one other way, by the reason.
    private static func others(
        _ compared: VerificationReport.Compared, _ way: KeyPath<VerificationReport.Coverage, Int>,
        _ words: (String) -> String
    ) -> [String] {
        let lines = compared.entities.filter { $0[keyPath: way] > 0 }
        return Set(lines.map { $0.reason ?? "" }).sorted().map { reason in
            let own = lines.filter { ($0.reason ?? "") == reason }
            let names = own.map { line in
                line.entity + (line.mappings.isEmpty ? "" : " by " + line.mappings.joined(separator: ", "))
            }
            let count = Figures.count(own.reduce(0) { $0 + $1[keyPath: way] })
            return "\(count) \(words(reason.isEmpty ? "" : " because \(reason)")) (\(names.joined(separator: "; ")))"
        }
    }

    static func verdict(_ report: VerificationReport) -> String {
        let kinds = VerificationReport.Kind.allCases.compactMap { kind in
            report.countByKind[kind.rawValue].map { "\(kind.label) \($0.grouped)" }
        }
        let places = report.differenceCount == 1 ? "one place" : report.differenceCount.counted("place")
        return "The destination differs in \(places): \(kinds.joined(separator: ", "))"
    }

    private static func line(_ difference: VerificationReport.Difference) -> String {
        var place = difference.objectID ?? difference.entity ?? ""
        if let property = difference.property { place += place.isEmpty ? property : " \(property)" }
        var text = "\(difference.kind.label): \(place)"
        text += ": expected \(difference.expected ?? "nothing"), found \(difference.found ?? "nothing")"
        if let source = difference.sourceID { text += " (source \(source))" }
        return text
    }
}
