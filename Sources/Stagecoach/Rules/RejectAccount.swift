import Diagnostics
import ManagedModel
import SpillStorage

/// Counts and lists the rejected objects by entity, then key, each object once.
struct RejectAccount {
    let session: MigrationSession
    let mappings: [PlannedMapping]
    let ledger: RejectLedger
    let rejected: RejectedKeys
    let origins: ObjectOrigins
    let rounds: Int
    /// The rejects of previous mapping models.
    let earlier: RejectReport

    /// The number of objects shown in the report.
    private static let shown = 20

    /// Writes the reject file's lines and subtracts the rejected objects from the counts.
    ///
    /// - Returns: the rejects so far.
    /// - Throws: `internal.rejects` (70) if the number of rows left out is not the number of rejected objects.
    /// - Complexity: O(rejected objects), with a lookup of the origin for each.
    func run(file: RejectFile?) throws -> RejectReport {
        var report = earlier
        report.removedReferences += rejected.removed.missing { _ in true }
        session.add(rejected.removed)
        report.rounds += rounds
        let lines = RejectLines(session: session, ledger: ledger, origins: origins)
        try lines.show { object, entry, origin in
            let name = object.entity
            report.objects += 1
            report.byRule[entry.rule.rawValue, default: 0] += 1
            report.byEntity[name, default: 0] += 1
            if report.sample.count < RejectAccount.shown { report.sample.append(object) }
            try file?.append(object)
            session.counts.created[name, default: 0] -= 1
            guard let index = origin?.mapping, !mappings[index].belongsToPreviousModel else { return }
            session.counts.mappings[index].created = max(0, session.counts.mappings[index].created - 1)
            session.counts.mappings[index].rejectedObjects += 1
            session.counts.mappings[index].rejectedByRule[entry.rule.rawValue, default: 0] += 1
            guard !mappings[index].hasPolicy else { return }
            session.counts.mappings[index].migrated -= 1
            session.counts.mappings[index].rejected += 1
        }
        let listed = report.objects - earlier.objects
        guard listed == ledger.count, rejected.skippedRows == ledger.count else {
            throw MigrationError(
                "internal.rejects", .internal,
                "\(ledger.count) objects are rejected, \(listed) listed and \(rejected.skippedRows) left out")
        }
        if case .associations(let runtime) = origins {
            for mapping in mappings where mapping.hasPolicy && mapping.source != nil { try recount(mapping, runtime) }
        }
        return report
    }

    /// Counts the rejected source objects of a mapping with a policy. A source object is rejected if all its
    /// destination objects that still exist are.
    private func recount(_ mapping: PlannedMapping, _ runtime: PolicyRuntime) throws {
        guard let table = mapping.sourceTable else { return }
        let model = session.destinationSchema.model
        func countSources(where isCounted: (ObjectPlace) throws -> Bool) throws -> Int {
            var total = 0
            func isCountedReference(_ reference: ObjectReference) throws -> Bool {
                let entity = model.entity(at: Int(reference.entity))
                return try isCounted(runtime.objects.place(entity: entity, key: reference.key))
            }
            try runtime.associations[mapping.index].forEachSource(inTable: table, whereExists: isCountedReference) {
                guard try mapping.reads(runtime.sources.place(table: table, key: $0)?.entity) else { return }
                total += 1
            }
            return total
        }
        func exists(_ place: ObjectPlace) throws -> Bool {
            guard runtime.objects.hasDeletions else { return true }
            return try runtime.objects.exists(place)
        }
        var associated = try countSources(where: exists)
        var migrated = try countSources { place in
            guard try !rejected.contains(place.key, table: place.table) else { return false }
            return try exists(place)
        }
        // A policy may associate source objects that the mapping's filter left out.
        let fetched =
            session.counts.mappings[mapping.index].sourceObjects - session.counts.mappings[mapping.index].filtered
        migrated = min(migrated, fetched)
        associated = min(associated, fetched)
        session.counts.mappings[mapping.index].settle(associated: associated)
        session.counts.mappings[mapping.index].migrated = migrated
        session.counts.mappings[mapping.index].rejected = associated - migrated
    }
}
