import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows

/// The count of source objects that pass no filter of their entity mappings: see ``PassesNoFilter``.
///
/// Only entities that several entity mappings read, all of them with a filter, can have such objects; nothing is read for others.
/// The filters are evaluated on the source's rows, so the count is the same whatever a policy associates, and in resumed runs.
///
/// Memory: one batch of rows and five keys an entity.
struct FilterGapCount {
    let source: SourceStore
    let layout: StoreLayout
    /// The mappings of all mapping models.
    let mappings: [PlannedMapping]
    let meant: MeantLosses
    /// The size of a batch of rows.
    let batchBytes: Int
    /// The largest number of objects that are named.
    private static let samples = 5

    /// The entities that may have such objects, each with the mappings that read it.
    private var candidates: [(entity: EntityDescription, mappings: [PlannedMapping])] {
        layout.schema.model.entities.compactMap { entity in
            let reading = mappings.filter { $0.reads(entity) }
            guard reading.count > 1, reading.allSatisfy({ $0.filter != nil && $0.sourceExpression == nil }),
                reading.contains(where: { $0.destination != nil || $0.mapping.hasPolicy })
            else { return nil }
            return (entity, reading)
        }
    }

    /// Counts the objects, entity by entity.
    ///
    /// - Parameters:
    ///   - run: evaluates filters that look at the members of relationships; nil before a run: such entities are not counted.
    ///   - checkCancelled: called once a batch.
    /// - Returns: nil if every object passes a filter.
    /// - Complexity: one pass over the rows of the entities in question, for all filters together.
    func count(_ run: MigrationRun?, checkCancelled: () throws -> Void) throws -> [PassesNoFilter]? {
        var found: [PassesNoFilter] = []
        for (entity, reading) in candidates {
            var line = PassesNoFilter(
                entity: entity.definition.name, objects: nil, samples: [],
                isMeant: meant.names(objectsOf: entity) ? true : nil)
            var slots = SourceColumns(entity: entity, schema: layout.schema)
            let filters = try reading.compactMap { mapping throws(MigrationError) in
                try mapping.filter.map { filter throws(MigrationError) in
                    try SourceFilter(filter, of: mapping, slots: &slots)
                }
            }
            guard !filters.contains(where: \.needsObjects), run != nil || slots.folds.isEmpty else {
                found.append(line)
                continue
            }
            let keys = try keys(of: entity, slots, filters, run, checkCancelled)
            guard keys.count > 0 else { continue }
            line.objects = keys.count
            line.samples = keys.first.map { "\(entity.definition.name)/p\($0)" }
            found.append(line)
        }
        return found.isEmpty ? nil : found
    }

    /// Returns the number of rows that pass none of some filters, and the first keys.
    private func keys(
        of entity: EntityDescription, _ slots: SourceColumns, _ filters: [SourceFilter], _ run: MigrationRun?,
        _ checkCancelled: () throws -> Void
    ) throws -> (count: Int, first: [Int64]) {
        let table = layout.schema.tableIndex(of: entity)
        var (count, first): (Int, [Int64]) = (0, [])
        var batch = RowBatch(slots: slots.columns.count, rowCapacity: 500, byteTarget: batchBytes)
        let selection = RowSelection(table: table, columns: slots.columns, entities: [entity.index])
        let rows = try run == nil ? source.rows(selection, in: layout) : nil
        let reader = try run.map { run throws(MigrationError) in
            try SourceReader(run: run, slots: slots, table: table, entities: [entity.index])
        }
        while try rows?.next(into: &batch) ?? reader?.next(into: &batch) ?? false {
            try checkCancelled()
            for row in 0..<batch.count {
                var passes = false
                for filter in filters where try filter.passes(batch, row, object: { nil }, variables: [:]) {
                    passes = true
                    break
                }
                if passes { continue }
                count += 1
                if first.count < Self.samples { first.append(batch.key(row)) }
            }
        }
        return (count, first)
    }
}
