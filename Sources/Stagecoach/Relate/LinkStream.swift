import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import Rows

/// A link that a declarative mapping makes: between two destination objects.
struct Link {
    /// Key of the object whose mapping looked the other up.
    var owner: Int64
    /// Key of the object that was found.
    var member: Int64
    /// Z_ENT of the found object.
    var memberEntity: Int64
    /// Index of the mapping that made the found object.
    var memberMapping: Int
    /// Source key of the owner: creation order within its mapping.
    var ownerSource: Int64
    /// Source key of the member.
    var memberSource: Int64
    /// The ordering key, where the source relationship is ordered.
    var order: Int64?
}

/// All links of one mapping's relationship, from the source's rows, in no particular order.
struct LinkStream {
    let session: MigrationSession
    let keys: SourceKeys

    /// Calls `body` for each pair of an owner and an object found for it.
    ///
    /// - Parameters:
    ///   - countsMissing: whether references without an object are counted here; false where the other side of the
    ///     pair counts the same ones.
    /// - Complexity: one scan of the table that holds the links; memory is one batch.
    func forEach(
        _ mapping: PlannedMapping, _ planned: PlannedRelationship, countsMissing: Bool,
        _ body: (Link) throws -> Void
    ) throws {
        guard case .lookup(let argument, let indices)? = planned.value, let own = keys.byMapping[mapping.index] else {
            return
        }
        let candidates = keys.candidates(indices, in: session.destinationSchema)
        let existing = keys.byTable[argument.table]
        var counts = ReferenceCounts()
        try forEachSourcePair(mapping, own, argument) { ownerSource, memberSource, order in
            guard let owner = try own.destinationKey(of: ownerSource) else { return }
            var found = false
            for candidate in candidates {
                guard let member = try candidate.keys.destinationKey(of: memberSource) else { continue }
                found = true
                try body(
                    Link(
                        owner: owner, member: member, memberEntity: candidate.entityNumber,
                        memberMapping: candidate.keys.mapping.index, ownerSource: ownerSource,
                        memberSource: memberSource, order: order))
            }
            guard !found, countsMissing else { return }
            if let existing, try !existing.contains(memberSource) { counts.dangling += 1 } else { counts.unmigrated += 1 }
        }
        session.add(counts)
    }

    /// Calls `body` with (owner's source key, member's source key, ordering key).
    private func forEachSourcePair(
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
