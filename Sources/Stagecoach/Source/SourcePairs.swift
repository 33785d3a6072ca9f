import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import SpillStorage

/// The pairs of source keys that a lookup's argument gives for all objects of a mapping: one scan of the table that holds them,
/// not one query per object.
struct SourcePairs {
    /// Receives the owner's source key, the member's source key and the member's place.
    typealias Body = (Int64, Int64, MemberOrder) throws -> Void

    let run: MigrationRun

    /// Shows all pairs, with the places that an attribute of the members gives them.
    ///
    ///     (member, owner)                        sorted, read along with the members' rows
    ///     (owner, value of the row, member)      sorted: a member's place is its rank
    ///
    /// - Parameter sort: the attribute; nil: the places are those of the argument.
    /// - Complexity: O(n log n) in the pairs for two sorts, and a scan of the members' table.
    func forEach(
        _ mapping: PlannedMapping, _ own: KeyIndex, _ argument: SourceArgument, sortedBy sort: MemberSort?, _ body: Body
    ) throws {
        guard let sort else { return try forEach(mapping, own, argument, body) }
        let pairs = run.services.sorter(width: 2)
        try forEach(mapping, own, argument) { owner, member, _ in
            try pairs.append(SortKey.encode(member), SortKey.encode(owner))
        }
        let byMember = try pairs.finish()
        let placed = run.services.sorter(width: 4)
        let reader = try SourceReader(
            run: run, slots: sort.slots, table: sort.table, entities: sort.entity.withDescendants.map(\.index))
        var batch = run.inputs.sourceBatch(slots: sort.slots.columns.count)
        var (row, isAtEnd) = (0, false)
        try withRecords(2) { pair, _ in
            while try byMember.next(into: pair) {
                let member = SortKey.decode(pair[0])
                while !isAtEnd, row == batch.count || batch.key(row) < member {
                    row += 1
                    guard row >= batch.count else { continue }
                    try run.services.checkCancelled()
                    (row, isAtEnd) = (0, !(try reader.next(into: &batch)))
                }
                let isFound = !isAtEnd && batch.key(row) == member
                let value = isFound ? sort.words(batch[row, sort.slot]) : MemberSort.null
                try placed.append(pair[1], value.kind, value.value, pair[0])
            }
        }
        try forEachSorted(try placed.finish(), width: 4, isOrdered: true, body)
    }

    /// Shows all pairs. Owners that the mapping does not migrate are included.
    func forEach(_ mapping: PlannedMapping, _ own: KeyIndex, _ argument: SourceArgument, _ body: Body) throws {
        switch argument {
        case .object:
            try own.forEachKey { try body($0, $0, .none) }
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
        case .members(let argument): try forEachMember(mapping, argument, body)
        }
    }

    /// Shows the members at the end of a longer path, or the members that a condition admits. They are read in parallel with a
    /// scan of the owners, and sorted by owner.
    ///
    /// Memory: two batches and the run's share for sorting.
    private func forEachMember(_ mapping: PlannedMapping, _ argument: MemberArgument, _ body: Body) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        var slots = try argument.slots(entity, schema: run.inputs.layout.schema)
        let place = argument.ordered.flatMap { slots.addPlace(in: $0) }
        let rows = try run.inputs.source.rows(
            RowSelection(table: table, columns: slots.columns, entities: [entity.index]), in: run.inputs.layout)
        let members = try SourceFolds(run: run, slots: slots, isScan: true)
        var batch = run.inputs.sourceBatch(slots: slots.columns.count)
        // Words: owner, the member's place (two words, NULL first), member.
        let sorter = run.services.sorter(width: 4)
        while try rows.next(into: &batch) {
            try run.services.checkCancelled()
            let keys = (0..<batch.count).map { batch.key($0) }
            try members.forEachMember(&batch) { row, found, member throws(MigrationError) in
                let order = place.map { found[member, $0] } ?? .null
                try sorter.append(
                    SortKey.encode(keys[row]), order.kind == .integer ? 1 : 0,
                    order.kind == .integer ? SortKey.encode(order.integerValue) : 0, SortKey.encode(found.key(member)))
            }
        }
        try forEachSorted(try sorter.finish(), width: 4, isOrdered: place != nil, body)
    }

    /// Shows sorted records. The first word is the owner, the last the member. Ranks start at 0 for each owner.
    private func forEachSorted(_ sorted: SortedRecords, width: Int, isOrdered: Bool, _ body: Body) throws {
        try withRecords(width) { record, _ in
            var owner: UInt64?
            var rank: Int64 = 0
            while try sorted.next(into: record) {
                if owner != record[0] { rank = 0 }
                owner = record[0]
                try body(SortKey.decode(record[0]), SortKey.decode(record[width - 1]), isOrdered ? .rank(rank) : .none)
                rank += 1
            }
        }
    }

    /// Shows the members of a to-many relationship at the end of to-one steps.
    ///
    /// Memory: at most 4,096 source objects that share the last step's object; the rest is sorted on disk, by owner.
    private func forEachMember(
        _ mapping: PlannedMapping, _ steps: [ToOneStep], _ relationship: RelationshipDescription, _ body: Body
    ) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        let starts = run.services.sorter(width: 2)
        try forEachRow(RowSelection(table: table, columns: [.relatedKey(path: steps)], entities: [entity.index])) {
            batch, row in
            guard batch[row, 0].kind == .integer else { return }
            try starts.append(SortKey.encode(batch[row, 0].integerValue), SortKey.encode(batch.key(row)))
        }
        let members = run.services.sorter(width: 4)
        try forEachMember(relationship) { owner, member, order in
            let rank = order.words
            // NULL places come first, as in an ordered fetch.
            try members.append(
                SortKey.encode(owner), relationship.isOrdered ? rank.value : 0, SortKey.encode(member), rank.kind)
        }
        let (first, second) = (try starts.finish(), try members.finish())
        let pairs = run.services.sorter(width: 3)
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
                    var owners: [UInt64] = []
                    func nextOwners() throws {
                        owners.removeAll(keepingCapacity: true)
                        while hasStart, start[0] == shared, owners.count < SourcePairs.ownersAtOnce {
                            owners.append(start[1])
                            hasStart = try first.next(into: start)
                        }
                    }
                    try nextOwners()
                    var rank: UInt64 = 0
                    while hasMember, member[0] == shared {
                        for owner in owners { try pairs.append(owner, rank, member[2]) }
                        if relationship.isOrdered { rank += 1 }
                        hasMember = try second.next(into: member)
                    }
                    // More owners share the object than are held at a time. Its members are read again for the others.
                    while hasStart, start[0] == shared {
                        try nextOwners()
                        rank = 0
                        try forEachMember(of: SortKey.decode(shared), relationship) { key in
                            for owner in owners { try pairs.append(owner, rank, SortKey.encode(key)) }
                            if relationship.isOrdered { rank += 1 }
                        }
                    }
                }
            }
        }
        try forEachSorted(try pairs.finish(), width: 3, isOrdered: relationship.isOrdered, body)
    }

    /// The maximum number of owners of one object that are held at a time.
    private static let ownersAtOnce = 4096

    /// Shows the members of one object, in their order.
    private func forEachMember(
        of owner: Int64, _ relationship: RelationshipDescription, _ body: (Int64) throws -> Void
    ) throws {
        let cursor = try run.inputs.source.members(of: relationship, owners: owner...owner, in: run.inputs.layout)
        while let member = try cursor?.next() { try body(member.key) }
    }

    private func forEachMember(_ relationship: RelationshipDescription, _ body: Body) throws {
        switch run.inputs.layout.schema.storage(of: relationship) {
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
            let reader = try run.inputs.source.links(joinTable: table, in: run.inputs.layout, orderedBySide: ownerSide)
            var batch = run.inputs.sourceBatch(slots: 4)
            let memberSide = 1 - ownerSide
            while try reader.next(into: &batch) {
                try run.services.checkCancelled()
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
        let reader = try run.inputs.source.rows(selection, in: run.inputs.layout)
        var batch = run.inputs.sourceBatch(slots: selection.columns.count)
        while try reader.next(into: &batch) {
            try run.services.checkCancelled()
            for row in 0..<batch.count { try body(batch, row) }
        }
    }
}
