import CoreDataStore
import ManagedModel
import Rows

/// The source rows of a mapping without a policy that policies of mappings before it changed. Its keys were collected before
/// any policy ran, so they do not know these changes.
struct ChangedSourceRows {
    private let runtime: PolicyRuntime
    private let mapping: PlannedMapping
    private let keys: DestinationKeys
    private let changes: SourceObjectChanges
    private let filter: SourceFilter?
    private let slots: SourceColumns

    /// Returns nil if no source object was changed.
    ///
    /// - Parameters:
    ///   - keys: the mapping's keys.
    ///   - slots: the columns that the mapping reads; those of its filter are added.
    init?(
        runtime: PolicyRuntime, mapping: PlannedMapping, keys: DestinationKeys, slots: inout SourceColumns
    ) throws {
        guard let changes = runtime.sources.changes else { return nil }
        if mapping.grouping != nil { try Self.refuseChanges(changes, runtime, of: mapping) }
        self.runtime = runtime
        self.mapping = mapping
        self.keys = keys
        self.changes = changes
        filter = try mapping.filter.map { try SourceFilter($0, of: mapping, slots: &slots) }
        self.slots = slots
    }

    /// Refuses source objects that a policy changed or deleted before a mapping with a grouping makes its objects: its groups were
    /// found before.
    private static func refuseChanges(
        _ changes: SourceObjectChanges, _ runtime: PolicyRuntime, of mapping: PlannedMapping
    ) throws {
        guard let table = mapping.sourceTable else { return }
        try changes.forEachChanged(table: table) { key in
            guard try runtime.sources.entity(table: table, key: key) == mapping.source else { return }
            throw MigrationError(
                "policy.changedGroup", .configuration,
                "The groups of \"\(mapping.grouping?.keyName ?? "")\" are found before policies run, and one changed a source object",
                remedy: "Put \(mapping.name) before the mapping with the policy",
                context: mapping.context(ofSource: key))
        }
    }

    /// Tells whether a row that passed the mapping's filter still does. Counts it if it does not.
    func passes(_ batch: borrowing RowBatch, _ row: Int) throws -> Bool {
        guard let filter, try !holds(filter, batch, row) else { return true }
        runtime.modelRun.tally.counts.mappings[mapping.index].filtered += 1
        runtime.modelRun.tally.counts.mappings[mapping.index].migrated -= 1
        // The row has a key, but lookups must not find it.
        runtime.objects.hasDeletions = true
        return false
    }

    private func holds(_ filter: SourceFilter, _ batch: borrowing RowBatch, _ row: Int) throws -> Bool {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return true }
        let place = ObjectPlace(entity: entity, key: batch.key(row), table: table)
        return try filter.passes(batch, row, object: { runtime.sourceContext.object(at: place) }, variables: [:])
    }

    /// Makes objects of the rows that did not pass the filter before, and counts deleted source objects as dropped.
    /// Called once the mapping has made its rows.
    func finish() throws {
        let tally = runtime.modelRun.tally
        let line = tally.counts.mappings[mapping.index]
        let gone = line.sourceObjects - line.filtered - line.created
        tally.counts.mappings[mapping.index].droppedByPolicy += gone
        tally.counts.mappings[mapping.index].migrated -= gone
        guard let filter else { return }
        runtime.objects.creating = mapping.index
        defer { runtime.objects.creating = nil }
        try forEachCandidate(filter) { batch, row in
            guard let table = mapping.sourceTable, try keys.destinationKey(of: batch.key(row)) == nil,
                let place = try runtime.sources.place(table: table, key: batch.key(row)),
                place.entity == mapping.source, try holds(filter, batch, row)
            else { return }
            try runtime.creation.createDefault(for: runtime.sourceContext.object(at: place), in: mapping.mapping)
            tally.counts.mappings[mapping.index].filtered -= 1
            tally.counts.mappings[mapping.index].migrated += 1
        }
    }

    /// Shows the rows that may pass the filter only now: the changed ones, or all if the filter reads other rows too.
    private func forEachCandidate(
        _ filter: SourceFilter, _ body: (borrowing RowBatch, Int) throws -> Void
    ) throws {
        guard let table = mapping.sourceTable, let entity = mapping.source else { return }
        let run = runtime.modelRun.run
        if slots.areOwn, !filter.needsObjects {
            let reader = try SourceRowReader(run: run, slots: slots, table: table)
            var batch = RowBatch(slots: slots.columns.count, rowCapacity: 1, byteTarget: 4096)
            return try changes.forEachChanged(table: table) { key in
                if try reader.fetch(key, into: &batch) { try body(batch, 0) }
            }
        }
        let reader = try SourceReader(run: run, slots: slots, table: table, entities: [entity.index])
        var batch = runtime.modelRun.inputs.sourceBatch(slots: slots.columns.count)
        while try reader.next(into: &batch) {
            try runtime.modelRun.services.checkCancelled()
            for row in 0..<batch.count { try body(batch, row) }
        }
    }
}
