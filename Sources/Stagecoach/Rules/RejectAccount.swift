import Diagnostics
import ManagedModel
import SpillStorage

/// Counts and lists the rejected objects by entity, then key, each object once.
struct RejectAccount {
    let run: MigrationRun
    /// The map from this step's source objects to the objects of the chain's source; nil if no step ran before.
    let previousStepIDs: PreviousStepIDMap?
    let mappings: [PlannedMapping]
    let ledger: RejectLedger
    let rejected: RejectedKeys
    let origins: ObjectOrigins
    /// The rejects of previous mapping models.
    let previous: RejectReport

    /// Writes the reject file's lines and subtracts the rejected objects from the counts.
    ///
    /// - Returns: the rejects so far.
    /// - Throws: `internal.rejects` (70) if the number of rows left out is not the number of rejected objects.
    /// - Complexity: O(rejected objects), with a lookup of the origin for each.
    func run(file: ResultFile?) throws -> RejectReport {
        var report = previous
        report.removedReferences = (run.tally.counts.nilReferences ?? []).reduce(0) {
            $1.cause == .rejected ? $0 + $1.count : $0
        }
        report.rounds += try ledger.lastRound()
        var shownByRule = Dictionary(report.sample.map { ($0.rule, 1) }, uniquingKeysWith: +)
        try ledger.forEachObject(run, origins, previousStepIDs) { object, entry, origin in
            let name = object.entity
            report.objects += 1
            report.byRule[entry.rule.rawValue, default: 0] += 1
            report.byEntity[name, default: 0] += 1
            if shownByRule[entry.rule, default: 0] < RejectReport.mostOfRule {
                report.sample.append(object)
                shownByRule[entry.rule, default: 0] += 1
            }
            try file?.append(line: object.json)
            run.tally.counts.created[name, default: 0] -= 1
            guard let index = origin?.mapping, !mappings[index].belongsToPreviousModel else { return }
            run.tally.counts.mappings[index].created = max(0, run.tally.counts.mappings[index].created - 1)
            run.tally.counts.mappings[index].rejectedObjects += 1
            run.tally.counts.mappings[index].rejectedByRule[entry.rule.rawValue, default: 0] += 1
            guard !mappings[index].hasPolicy else { return }
            run.tally.counts.mappings[index].migrated -= 1
            run.tally.counts.mappings[index].rejected += 1
        }
        let listed = report.objects - previous.objects
        guard listed == ledger.count, rejected.skippedRows == ledger.count else {
            throw MigrationError(
                "internal.rejects", .internal,
                "\(ledger.count.counted("object is", "objects are")) rejected, \(listed) listed and \(rejected.skippedRows) left out"
            )
        }
        if case .associations(let policies) = origins {
            for mapping in mappings where mapping.hasPolicy && mapping.source != nil { try recount(mapping, policies) }
        }
        return report
    }

    /// Counts the rejected source objects of a mapping with a policy. A source object is rejected if all its
    /// destination objects that still exist are.
    private func recount(_ mapping: PlannedMapping, _ policies: PolicyOrigins) throws {
        guard let table = mapping.sourceTable else { return }
        let schema = run.inputs.destinationSchema
        func countSources(where isCounted: (ObjectReference) throws -> Bool) throws -> Int {
            var total = 0
            try policies.associations[mapping.index].forEachSource(inTable: table, whereExists: isCounted) {
                guard try mapping.reads(policies.sourceEntity(table, $0)) else { return }
                total += 1
            }
            return total
        }
        var associated = try countSources(where: policies.exists)
        var migrated = try countSources { object in
            let entity = schema.model.entity(at: Int(object.entity))
            guard try !rejected.contains(object.key, table: schema.tableIndex(of: entity)) else { return false }
            return try policies.exists(object)
        }
        // A policy may associate source objects that the mapping's filter left out.
        let fetched =
            run.tally.counts.mappings[mapping.index].sourceObjects - run.tally.counts.mappings[mapping.index].filtered
        migrated = min(migrated, fetched)
        associated = min(associated, fetched)
        run.tally.counts.mappings[mapping.index].correct(associated: associated)
        run.tally.counts.mappings[mapping.index].migrated = migrated
        run.tally.counts.mappings[mapping.index].rejected = associated - migrated
    }
}
