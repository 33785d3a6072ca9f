import Diagnostics
import ManagedModel
import PersistentStore
import Rows
import SpillStorage

/// The pairs of source keys that a lookup's argument gives, for all objects of a mapping at once: one scan of the table
/// that holds them, never a query an object.
struct SourcePairs {
    let session: MigrationSession

    /// Calls `body` with (owner's source key, member's source key, ordering key).
    ///
    /// Owners that the mapping does not migrate are shown too.
    func forEach(
        _ mapping: PlannedMapping, _ own: MappingKeys, _ argument: SourceArgument,
        _ body: (Int64, Int64, MemberOrder) throws -> Void
    ) throws {
        switch argument {
        case .object:
            try own.index.forEachKey { try body($0, $0, .none) }
        case .toOne(let steps, let column, _, _):
            guard let entity = mapping.source, let table = mapping.sourceTable else { return }
            let selected: SelectedColumn = steps.isEmpty ? .own(column) : .related(path: steps, column: column)
            try forEachRow(RowSelection(table: table, columns: [selected], entities: [entity.index])) { batch, row in
                guard batch[row, 0].kind == .integer else { return }
                try body(batch.key(row), batch[row, 0].integerValue, .none)
            }
        case .toMany(let steps, let relationship, _):
            guard !steps.isEmpty else { return try forEachMember(relationship, body) }
            try forEachMember(mapping, steps, relationship, body)
        }
    }

    /// The members of a to-many relationship at the end of to-one steps.
    ///
    /// Memory: 8 bytes for each source object that shares the last step's object with others; the rest is sorted on disk.
    private func forEachMember(
        _ mapping: PlannedMapping, _ steps: [ToOneStep], _ relationship: RelationshipDescription,
        _ body: (Int64, Int64, MemberOrder) throws -> Void
    ) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        let starts = session.sorter(width: 2)
        try forEachRow(RowSelection(table: table, columns: [.relatedKey(path: steps)], entities: [entity.index])) {
            batch, row in
            guard batch[row, 0].kind == .integer else { return }
            try starts.append(SortKey.encode(batch[row, 0].integerValue), SortKey.encode(batch.key(row)))
        }
        let members = session.sorter(width: 4)
        try forEachMember(relationship) { owner, member, order in
            let rank = order.words
            // NULL places come first, as in an ordered fetch.
            try members.append(
                SortKey.encode(owner), relationship.isOrdered ? rank.value : 0, SortKey.encode(member), rank.kind)
        }
        let (first, second) = (try starts.finish(), try members.finish())
        try withRecords(4) { start, member in
            var hasStart = try first.next(into: start)
            var hasMember = try second.next(into: member)
            while hasStart, hasMember {
                if start[0] < member[0] {
                    hasStart = try first.next(into: start)
                } else if member[0] < start[0] {
                    hasMember = try second.next(into: member)
                } else {
                    let shared = start[0]
                    var owners: [Int64] = []
                    while hasStart, start[0] == shared {
                        owners.append(SortKey.decode(start[1]))
                        hasStart = try first.next(into: start)
                    }
                    var rank: Int64 = 0
                    while hasMember, member[0] == shared {
                        let order: MemberOrder = relationship.isOrdered ? .rank(rank) : .none
                        for owner in owners { try body(owner, SortKey.decode(member[2]), order) }
                        rank += 1
                        hasMember = try second.next(into: member)
                    }
                }
            }
        }
    }

    private func forEachMember(
        _ relationship: RelationshipDescription, _ body: (Int64, Int64, MemberOrder) throws -> Void
    ) throws {
        switch session.layout.schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, let orderColumn),
            .toManyHidden(let table, let column, let orderColumn):
            let order = relationship.isOrdered ? orderColumn : nil
            let columns = [SelectedColumn.own(column)] + (order.map { [.own($0)] } ?? [])
            try forEachRow(RowSelection(table: table, columns: columns)) { batch, row in
                guard batch[row, 0].kind == .integer else { return }
                let place = order == nil ? MemberOrder.none : SourcePairs.place(batch[row, 1])
                try body(batch[row, 0].integerValue, batch.key(row), place)
            }
        case .join(let table, let ownerSide):
            let reader = try session.source.links(joinTable: table, in: session.layout, orderedBySide: ownerSide)
            var batch = session.sourceBatch(slots: 4)
            let memberSide = 1 - ownerSide
            while try reader.next(into: &batch) {
                try session.checkCancelled()
                for row in 0..<batch.count {
                    let order = relationship.isOrdered ? SourcePairs.place(batch[row, 2 + memberSide]) : .none
                    try body(batch[row, ownerSide].integerValue, batch[row, memberSide].integerValue, order)
                }
            }
        case .toOne, .none: break
        }
    }

    private static func place(_ cell: Cell) -> MemberOrder {
        cell.kind == .integer ? .key(cell.integerValue) : .null
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
