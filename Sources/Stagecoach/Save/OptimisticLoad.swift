import Diagnostics
import Foundation
import PersistentStore
import SpillStorage

/// Loads a store optimistically; where objects are to be rejected and some are invalid, abandons it, computes the
/// rejected keys from it and loads once more without them.
final class OptimisticLoad {
    private let session: MigrationSession
    private let mappings: [PlannedMapping]
    private let excuses: Bool
    private let makeStore: () throws -> DestinationStore
    private let storePath: String
    private var destination: DestinationStore?
    /// The lowest key of the run's own rows by table.
    var firstKeys: [Int64]
    /// What was rejected; nil where nothing was collected.
    private(set) var report: RejectReport?

    /// Makes the first private store, so that what makes it impossible is known before any work.
    init(
        session: MigrationSession, mappings: [PlannedMapping], excuses: Bool, storePath: String,
        makeStore: @escaping () throws -> DestinationStore
    ) throws {
        self.session = session
        self.mappings = mappings
        self.excuses = excuses
        self.storePath = storePath
        self.makeStore = makeStore
        destination = try makeStore()
        firstKeys = Array(repeating: .min, count: session.destinationSchema.tables.count)
    }

    /// Loads until a store holds valid objects only, and completes it.
    ///
    /// - Parameters:
    ///   - file: where rejected objects are listed.
    ///   - fill: fills a store and returns Z_MAX by table.
    ///   - finish: completes a valid store.
    /// - Throws: `validation.tooManyRejects` (65) above the limit; what `fill` and `finish` throw.
    func run(
        file: RejectFile?, fill: (DestinationStore) throws -> [Int64],
        finish: (DestinationStore, [Int64]) throws -> Void
    ) throws {
        guard let first = destination else { return }
        destination = nil
        let counts = session.counts
        var highest = try fill(first)
        try validate(first)
        guard let ledger = session.validation.ledger else { return try finish(first, highest) }
        guard ledger.isDirty else {
            try finish(first, highest)
            try file?.finish()
            report = RejectReport(file: file?.path)
            return
        }
        try first.closeUnfinished()
        let rounds = try RejectFixpoint(session: session, ledger: ledger, firstKeys: firstKeys)
            .run(onStoreAt: storePath)
        try checkLimit(ledger)
        let rejected = try RejectedKeys(ledger, session: session)
        unlink(storePath)
        session.restart(counts)
        session.validation.rejected = rejected
        let second = try makeStore()
        highest = try fill(second)
        try validate(second)
        guard let origins = session.validation.origins else { return }
        report = try RejectAccount(
            session: session, mappings: mappings, ledger: ledger, rejected: rejected, origins: origins, rounds: rounds
        ).run(file: file)
        try finish(second, highest)
    }

    /// Loads once and says what is invalid; the store is worthless then.
    ///
    /// - Returns: objects that a run would reject.
    func check(fill: (DestinationStore) throws -> [Int64]) throws -> Int {
        guard let first = destination, let ledger = session.validation.ledger else { return 0 }
        destination = nil
        _ = try fill(first)
        try validate(first)
        try first.closeUnfinished()
        defer { unlink(storePath) }
        guard ledger.isDirty else { return 0 }
        try ledger.forEachEntry(in: session.destinationSchema) { entry in
            guard entry.rule == .value else { return }
            session.validation.tally?.count(
                BrokenRule(
                    table: entry.table, key: entry.key, entity: entry.entity,
                    entityName: session.destinationSchema.model.entity(at: entry.entity).definition.name,
                    property: entry.property, rule: entry.rule, value: entry.value, bound: nil, isRelationship: false),
                isWarning: false)
        }
        let fixpoint = RejectFixpoint(session: session, ledger: ledger, firstKeys: firstKeys)
        if let tally = session.validation.tally { try fixpoint.countDuplicates(inStoreAt: storePath, into: tally) }
        _ = try fixpoint.run(onStoreAt: storePath)
        return ledger.count
    }

    private func validate(_ destination: DestinationStore) throws {
        session.progress.begin(.validate)
        try CountRules(session: session, mappings: mappings, isExcused: excuses).check(destination)
    }

    private func checkLimit(_ ledger: RejectLedger) throws {
        guard let limit = session.options.maximumRejects, ledger.count > limit else { return }
        var first: RejectLedger.Entry?
        var byRule: [String: Int] = [:]
        try ledger.forEachEntry(in: session.destinationSchema) { entry in
            if first == nil { first = entry }
            byRule[entry.rule.rawValue, default: 0] += 1
        }
        let rules = byRule.sorted { $0.key < $1.key }.map { "\($0.value) by \($0.key)" }.joined(separator: ", ")
        var context = MigrationError.Context()
        if let first {
            let name = session.destinationSchema.model.entity(at: first.entity).definition.name
            let origin = try session.validation.origins?.origin(
                table: first.table, key: first.key, entity: first.entity)
            context = .init(
                entity: name, objectID: "\(name)/p\(first.key)", property: first.property,
                entityMapping: origin?.mappingName)
        }
        throw MigrationError(
            "validation.tooManyRejects", .data,
            "\(ledger.count) objects would be rejected (\(rules)), and \(limit) are allowed; the first is named",
            remedy: "Look at them with stagecoach check, change the mapping model, or allow more with --max-rejects",
            context: context)
    }
}

extension MigrationSession {
    /// Forgets what was loaded, for another load.
    func restart(_ counts: MigrationCounts) {
        self.counts = counts
        rowsWritten = Array(repeating: 0, count: rowsWritten.count)
        linksWritten = Array(repeating: 0, count: linksWritten.count)
    }
}
