import Stagecoach

/// What `verify` prints.
enum VerifyWording {
    /// The report for people: counts, differences, what was not computed again.
    static func text(_ report: VerificationReport) -> String {
        var lines = ["\(report.source) → \(report.destination)", ""]
        for mapping in report.mappings where mapping.destinationEntity != nil {
            let ends = "\(mapping.sourceEntity ?? "–") → \(mapping.destinationEntity ?? "–")"
            var counts: [String] = []
            if let expected = mapping.expected {
                counts.append("\(mapping.found) of \(expected) objects")
            } else {
                counts.append("not recomputed")
            }
            if mapping.filtered > 0 { counts.append("\(mapping.filtered) filtered") }
            if mapping.rejected > 0 { counts.append("\(mapping.rejected) rejected") }
            let differing = mapping.properties.filter { $0.differing > 0 }
            for property in differing {
                counts.append(
                    "\(property.name) differs in \(property.differing) (\(property.expectedChecksum), found \(property.foundChecksum))"
                )
            }
            lines.append("  \(mapping.name)  \(ends)  \(counts.joined(separator: ", "))")
        }
        for relationship in report.relationships where relationship.isRecomputed {
            let inverse = relationship.inverse.map { " ↔ \($0)" } ?? ""
            lines.append(
                "  \(relationship.entity).\(relationship.name)\(inverse)  \(relationship.foundLinks) of \(relationship.expectedLinks) links"
                    + (relationship.differing > 0 ? ", \(relationship.differing) differ" : ""))
        }
        if !report.differences.isEmpty {
            lines += ["", "Differences:"]
            lines += report.differences.map { "  \(line($0))" }
            if report.differenceCount > report.differences.count {
                lines.append("  and \(report.differenceCount - report.differences.count) more")
            }
        }
        if !report.notRecomputed.isEmpty {
            lines += ["", "Not recomputed, checked against the model's rules only:"]
            lines += report.notRecomputed.map { "  \($0.subject): \($0.reason)" }
        }
        if !report.notes.isEmpty {
            lines += ["", "Notes:"]
            lines += report.notes.map { "  \($0)" }
        }
        lines += ["", report.isEqual ? "The destination is what the migration makes." : verdict(report)]
        return lines.map(\.printable).joined(separator: "\n") + "\n"
    }

    /// One sentence.
    static func verdict(_ report: VerificationReport) -> String {
        let kinds = VerificationReport.Kind.allCases.compactMap { kind in
            report.countByKind[kind.rawValue].map { "\(kind.label) \($0)" }
        }
        return "The destination differs in \(report.differenceCount) places: \(kinds.joined(separator: ", "))"
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
