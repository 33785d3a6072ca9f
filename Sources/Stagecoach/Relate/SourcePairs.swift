import Diagnostics
import ManagedModel
import PersistentStore
import Rows

/// The pairs of source keys that a lookup's argument gives, for all objects of a mapping at once: one scan of the table
/// that holds them, never a query an object.
struct SourcePairs {
    let session: MigrationSession

    /// Calls `body` with (owner's source key, member's source key, ordering key).
    ///
    /// Owners that the mapping does not migrate are shown too.
    func forEach(
        _ mapping: PlannedMapping, _ own: MappingKeys, _ argument: SourceArgument,
        _ body: (Int64, Int64, Int64?) throws -> Void
    ) throws {
        switch argument {
        case .object:
            try own.index.forEach { try body($0, $0, nil) }
        case .toOne(let steps, let column, _, _):
            guard let entity = mapping.source, let table = mapping.sourceTable else { return }
            let selected: SelectedColumn = steps.isEmpty ? .own(column) : .related(path: steps, column: column)
            try forEachRow(RowSelection(table: table, columns: [selected], entities: [entity.index])) { batch, row in
                guard batch[row, 0].kind == .integer else { return }
                try body(batch.key(row), batch[row, 0].integerValue, nil)
            }
        case .toMany(let relationship, _):
            try forEachMember(relationship, body)
        }
    }

    private func forEachMember(
        _ relationship: RelationshipDescription, _ body: (Int64, Int64, Int64?) throws -> Void
    ) throws {
        switch session.layout.schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, let orderColumn), .toManyHidden(let table, let column, let orderColumn):
            let order = relationship.isOrdered ? orderColumn : nil
            let columns = [SelectedColumn.own(column)] + (order.map { [.own($0)] } ?? [])
            try forEachRow(RowSelection(table: table, columns: columns)) { batch, row in
                guard batch[row, 0].kind == .integer else { return }
                let place = order != nil && batch[row, 1].kind == .integer ? batch[row, 1].integerValue : nil
                try body(batch[row, 0].integerValue, batch.key(row), place)
            }
        case .join(let table, let ownerSide):
            let reader = try session.source.links(joinTable: table, in: session.layout, orderedBySide: ownerSide)
            var batch = session.sourceBatch(slots: 4)
            let memberSide = 1 - ownerSide
            while try reader.next(into: &batch) {
                try session.checkCancelled()
                for row in 0..<batch.count {
                    let place = batch[row, 2 + memberSide]
                    let order = relationship.isOrdered && place.kind == .integer ? place.integerValue : nil
                    try body(batch[row, ownerSide].integerValue, batch[row, memberSide].integerValue, order)
                }
            }
        case .toOne, .none: break
        }
    }

    private func forEachRow(_ selection: RowSelection, _ body: (borrowing RowBatch, Int) throws -> Void) throws {
        let reader = try session.source.rows(selection, in: session.layout)
        var batch = session.sourceBatch(slots: selection.columns.count)
        while try reader.next(into: &batch) {
            try session.checkCancelled()
            for row in 0..<batch.count { try body(batch, row) }
        }
    }
}
