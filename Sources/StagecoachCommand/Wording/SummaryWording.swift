import Stagecoach

/// The words for a finished migration.
enum SummaryWording {
    static func text(_ result: MigrationResult) -> String {
        let report = result.report
        let verb = report.isDryRun ? "Dry run, nothing published:" : report.isAppended ? "Appended" : "Migrated"
        var lines = ["\(verb) \(report.source) → \(report.destination)"]
        lines += facts(result)
        lines += entities(report.counts).titled("Objects by destination entity")
        let steps = report.steps ?? []
        lines += ChainWording.done(steps).titled("Versions")
        for (title, counts) in steps.count > 1 ? steps.map(named) : [("", report.counts)] {
            lines += mappings(counts).titled("Entity mappings" + title)
            lines += leftOut(counts).titled("Left out" + title)
        }
        lines += LossWording.section(gaps(report))
        lines += LossWording.section(report.leftBehind)
        if let rejects = report.rejects, rejects.objects > 0 {
            lines += sample(rejects).titled("Rejected, the first of each rule")
        }
        lines += report.notes.titled("Notes", indent: 2)
        return lines.printableText
    }

    /// Returns the objects that pass no filter, in all migrations of a chain.
    static func gaps(_ report: MigrationReport) -> [PassesNoFilter] {
        let steps = report.steps ?? []
        let counts = steps.count > 1 ? steps.map(\.report.counts) : [report.counts]
        return counts.flatMap { $0.passesNoFilter ?? [] }
    }

    private static func named(_ step: ChainStepReport) -> (String, MigrationCounts) {
        (", " + Versions.text(step.sourceVersion, step.destinationVersion), step.report.counts)
    }

    private static func facts(_ result: MigrationResult) -> [String] {
        let report = result.report
        let isKept = report.peakMemory <= report.memoryLimit
        let rows = [
            ["keys", keys(report)],
            ["passes", "\(report.passes), \(report.isStaged ? "policy path" : "row path")"],
            ["time", "\(Figures.duration(report.seconds)), \(Figures.duration(report.processorSeconds)) of processor"],
            [
                "peak memory",
                "\(Figures.size(report.peakMemory)) of \(Figures.size(report.memoryLimit)) allowed"
                    + (isKept ? "" : ": above the limit"),
            ],
            ["spilled", Figures.size(report.spilledBytes)],
            ["destination", Figures.size(report.destinationBytes)],
        ]
        return (result.names.facts + rows).lines()
    }

    /// Returns the destination objects by entity: as the run counted them, else as its mappings made them.
    static func objects(_ counts: MigrationCounts) -> [(entity: String, count: Int)] {
        var byEntity = counts.created
        if byEntity.isEmpty {
            for mapping in counts.mappings {
                guard let entity = mapping.destinationEntity, mapping.created > 0 else { continue }
                byEntity[entity, default: 0] += mapping.created
            }
        }
        return byEntity.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the root entities, each with its choice of keys.
    static func keys(_ report: MigrationReport) -> String {
        guard !report.keys.isEmpty else { return "no objects" }
        return report.keys.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    static func total(_ counts: MigrationCounts) -> Int { objects(counts).reduce(0) { $0 + $1.count } }

    private static func entities(_ counts: MigrationCounts) -> [String] {
        let objects = objects(counts)
        var rows = objects.map { [$0.entity, Figures.count($0.count)] }
        if objects.count != 1 { rows.append(["in all", Figures.count(total(counts))]) }
        return rows.lines(right: [1])
    }

    private static func mappings(_ counts: MigrationCounts) -> [String] {
        let shown = counts.mappings.filter { $0.sourceObjects > 0 || $0.created > 0 }
        guard !shown.isEmpty else { return [] }
        let header = ["", "from", "source objects", "migrated", "to", "made"]
        let rows = shown.map { mapping in
            [
                mapping.name, mapping.sourceEntity ?? "-", Figures.count(mapping.sourceObjects),
                Figures.count(mapping.migrated), mapping.destinationEntity ?? "-", Figures.count(mapping.created),
            ]
        }
        return ([header] + rows).lines(right: [2, 3, 5]) + shown.compactMap(shared)
            + shown.compactMap(matched)
    }

    /// Returns the number of source objects that share the object of another one; nil if each makes its own.
    private static func shared(_ mapping: MigrationCounts.Mapping) -> String? {
        guard let shared = mapping.shared else { return nil }
        let objects = "  \(Figures.count(shared, "object")) of \(mapping.sourceEntity ?? "-") "
        guard let values = mapping.mergedBy else { return objects + "share the object of another: \(mapping.name)" }
        return objects + (shared == 1 ? "was" : "were") + " merged into another by \(values): \(mapping.name)"
    }

    /// Returns the number of source objects that became rows of the destination; nil if none did.
    private static func matched(_ mapping: MigrationCounts.Mapping) -> String? {
        guard let matched = mapping.matched else { return nil }
        let rows = matched.rows == 1 ? "a row" : Figures.count(matched.rows, "row")
        return "  \(Figures.count(matched.objects, "object")) of \(mapping.sourceEntity ?? "-") became \(rows) that "
            + "\(matched.rows == 1 ? "was" : "were") there before, by \(matched.by), kept: \(mapping.name)"
    }

    private static func sample(_ rejects: RejectReport) -> [String] {
        let shown = rejects.examples(most: 3).map { object in
            [
                object.rule.rawValue, object.sourceID ?? "-", object.id, object.property,
                object.value.map { "'\($0)'" } ?? "",
            ]
        }
        var lines = shown.lines()
        if rejects.objects > shown.count { lines.append("  and \(Figures.count(rejects.objects - shown.count)) more") }
        lines.append("  \(rejects.file.map { "all of them in \($0)" } ?? "--reject-file lists all of them")")
        return lines
    }

    /// Returns a remark on a policy that makes objects and does not associate them.
    static func unassociated(_ mapping: MigrationCounts.Mapping) -> String {
        "the policy of \(mapping.name) made \(Figures.count(mapping.createdByPolicy, "object")) for these and associated none: "
            + "call associate"
    }

    /// Returns the source objects without a destination object, with the reason.
    private static func leftOut(_ counts: MigrationCounts) -> [String] {
        var rows: [[String]] = []
        for mapping in counts.mappings {
            let causes = [
                (mapping.filtered, "filtered by \(mapping.name)"), (mapping.unassociated, unassociated(mapping)),
                (mapping.droppedByPolicy, "dropped by the policy of \(mapping.name)"),
            ]
            for (count, cause) in causes where count > 0 {
                rows.append([Figures.count(count), mapping.sourceEntity ?? "", cause])
            }
        }
        for mapping in counts.mappings where mapping.rejectedObjects > 0 {
            let rules = mapping.rejectedByRule.sorted { $0.key < $1.key }.map { "\($0.key) \(Figures.count($0.value))" }
            rows.append([
                Figures.count(mapping.rejected), mapping.sourceEntity ?? "",
                "rejected from \(mapping.name): \(rules.joined(separator: ", "))",
            ])
        }
        for (objects, cause) in [
            (counts.removed, "removed by their entity mapping"),
            (counts.withoutMapping, "no entity mapping reads them"),
        ] {
            rows += objects.sorted { $0.key < $1.key }.map { [Figures.count($0.value), $0.key, cause] }
        }
        if counts.strays > 0 { rows.append([Figures.count(counts.strays), "-", "of no entity of the source model"]) }
        return rows.lines(right: [0])
    }
}
