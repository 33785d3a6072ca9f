import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows

/// The search for the first source row of which an entity mapping makes an object, before anything runs. A filter is
/// evaluated until a row passes it.
struct FirstSourceRow {
    enum Answer {
        case none
        /// The key of the row; nil if the rows do not exist yet.
        case row(key: Int64?)
        /// Only the run shows it.
        case unknown
    }

    private static let batchBytes = 64 << 10

    let source: SourceStore
    let layout: StoreLayout
    let census: SourceCensus
    /// True for a later run of a chain: its source does not exist yet, only the number of its rows is expected.
    let isExpected: Bool

    /// Returns the first row of a mapping.
    ///
    /// - Complexity: O(rows before it); a batch of rows is held.
    func first(of mapping: PlannedMapping) -> Answer {
        if mapping.mayShareObjects { return .unknown }
        guard mapping.isDeclarative, let entity = mapping.source, let table = mapping.sourceTable,
            census.count(of: entity) > 0
        else { return .none }
        if isExpected { return mapping.filter == nil ? .row(key: nil) : .unknown }
        guard !mapping.filterNeedsObjects else { return .unknown }
        // An error is that of the run.
        return (try? scan(mapping, entity, table)) ?? .unknown
    }

    private func scan(_ mapping: PlannedMapping, _ entity: EntityDescription, _ table: Int) throws -> Answer {
        var slots = SourceColumns(entity: entity, schema: layout.schema)
        let filter = try mapping.filter.map { try SourceFilter($0, of: mapping, slots: &slots) }
        guard slots.folds.isEmpty, filter?.needsObjects != true else { return .unknown }
        let rows = try source.rows(
            RowSelection(table: table, columns: slots.columns, entities: [entity.index]), in: layout)
        var batch = RowBatch(slots: slots.columns.count, rowCapacity: 256, byteTarget: Self.batchBytes)
        while try rows.next(into: &batch) {
            for row in 0..<batch.count {
                if try filter?.passes(batch, row, object: { nil }, variables: [:]) ?? true {
                    return .row(key: batch.key(row))
                }
            }
        }
        return .none
    }
}
