import CoreDataStore
import ManagedModel
import Rows

/// The save of the changes that a mapping model made to existing rows: foreign keys, ordering keys, join rows, and Z_OPT of
/// changed objects, raised by one. Attributes were changed at once.
struct ExistingRowChanges {
    let modelRun: ModelRun
    let destination: DestinationStore
    let links: LinkStores
    let touched: TouchedRows

    private var schema: StoreSchema { modelRun.inputs.destinationSchema }

    /// Writes the changes.
    ///
    /// - Complexity: O(changed links); each is an update by key.
    func write() throws {
        try touched.compareCells()
        try finalizeExternalValues()
        for store in links.all {
            guard let existing = store.existing else { continue }
            try noteEnds(store, existing)
            try writeColumns(store, .first, store.first, existing)
            if let second = store.second, !store.isReflexive { try writeColumns(store, .second, second, existing) }
            if case .toManyHidden(let table, let column, let orderColumn) = schema.storage(of: store.first) {
                try writeColumn(
                    store, .second, existing,
                    Place(table: table, column: column, entity: nil, order: orderColumn))
            }
            if case .join(let table, let side) = schema.storage(of: store.first) {
                try writeJoin(store, table: table, ownerSide: side, existing)
            }
        }
        for table in schema.tables.indices where modelRun.keysBefore.hasRows[table] {
            try ExistingRows(destination, table: table).raiseLocks(of: touched)
        }
    }

    /// Moves large values that policies set in existing rows to files, as in new rows.
    private func finalizeExternalValues() throws {
        let external = modelRun.external
        guard external.isUsed else { return }
        for (table, columns) in schema.externalColumns.enumerated()
        where !columns.isEmpty && modelRun.keysBefore.hasRows[table] {
            let rows = ExistingRows(destination, table: table)
            let slots = schema.tables[table].columns.count
            var batch = RowBatch(slots: slots, rowCapacity: 1, byteTarget: 4096)
            try touched.forEachKey(table: table) { key in
                batch.removeAll()
                guard try touched.isChanged(key, table: table), try rows.fetch(key, into: &batch) else { return }
                let large = columns.map(\.column).filter { external.becomesFile(batch[0, $0], in: batch) }
                guard !large.isEmpty else { return }
                // The other values stay: their references name files of the destination itself.
                for slot in 0..<slots where !large.contains(slot) { batch[0, slot] = .absent }
                try modelRun.finalizeExternalValues(&batch, table: table)
                try rows.update(key, from: batch, row: 0)
            }
        }
    }

    /// Marks objects whose links changed, so that they are validated again. Links that were changed but are the same in the end
    /// do not count.
    private func noteEnds(_ store: LinkStore, _ existing: ExistingLinks) throws {
        let tables = [store.first.entity, store.second?.entity ?? store.first.destination].map(schema.tableIndex(of:))
        for (side, table) in zip([LinkStore.Side.first, .second], tables) where !(store.isReflexive && side == .second)
        {
            let change: TouchedRows.Change = store.relationship(of: side) == nil ? .row : .links
            let changes = try store.changes(side: side)
            var object: Int64?
            var isNoted = false
            var isMoved = false
            func finish() throws {
                guard let object, isMoved, !isNoted, try isReordered(object, store, side, existing) else { return }
                try touched.note(object, table: table, change)
            }
            while let link = try changes.next() {
                let key = link.object.key
                if key != object {
                    try finish()
                    (object, isNoted, isMoved) = (key, false, false)
                }
                guard !isNoted, existing.isExisting(key, side: side) else { continue }
                let before = try existing.view(of: key, to: link.partner.key, side: side)
                let isLive = changes.isLive
                if isLive != (before != nil) {
                    isNoted = true
                    try touched.note(key, table: table, change)
                } else if isLive, !link.orderOfPartner.isNone, link.orderOfPartner != before?.orderOfPartner {
                    isMoved = true
                }
            }
            try finish()
        }
    }

    /// Tells whether an object's members are in another order than before. The members themselves are the same.
    private func isReordered(
        _ object: Int64, _ store: LinkStore, _ side: LinkStore.Side, _ existing: ExistingLinks
    ) throws -> Bool {
        let before = try existing.views(of: object, side: side).sorted { $0.partner.key < $1.partner.key }
        return try LinkView.inOrder(before).map(\.partner.key)
            != LinkView.inOrder(store.partners(of: object, side: side)).map(\.partner.key)
    }

    /// The columns that hold the partner of one side.
    private struct Place {
        let table: Int
        let column: Int
        let entity: Int?
        let order: Int?
    }

    private func writeColumns(
        _ store: LinkStore, _ side: LinkStore.Side, _ relationship: RelationshipDescription, _ existing: ExistingLinks
    ) throws {
        guard case .toOne(let table, let column, let entityColumn, let orderColumn) = schema.storage(of: relationship)
        else { return }
        let order = store.isOrdered(side.other) ? orderColumn : nil
        try writeColumn(store, side, existing, Place(table: table, column: column, entity: entityColumn, order: order))
    }

    private func writeColumn(
        _ store: LinkStore, _ side: LinkStore.Side, _ existing: ExistingLinks, _ place: Place
    ) throws {
        let rows = ExistingRows(destination, table: place.table)
        let columns = schema.tables[place.table].columns.count
        var batch = RowBatch(slots: columns, rowCapacity: 1, byteTarget: 4096)
        let changes = try store.changes(side: side)
        var last: Int64?
        while let change = try changes.next() {
            let key = change.object.key
            guard key != last, existing.isExisting(key, side: side) else { continue }
            last = key
            try modelRun.services.checkCancelled()
            let partner = try store.partners(of: key, side: side).first
            batch.removeAll()
            let row = batch.appendRow(key: key)
            for slot in 0..<columns { batch[row, slot] = .absent }
            batch[row, place.column] = partner.map { .integer($0.partner.key) } ?? .null
            if let entity = place.entity {
                batch[row, entity] = partner.map { .integer(Int64($0.partner.entity)) } ?? .null
            }
            if let order = place.order {
                if case .key(let key)? = partner?.orderOfObject {
                    batch[row, order] = .integer(key)
                } else {
                    batch[row, order] = .null
                }
            }
            try rows.update(key, from: batch, row: row)
        }
    }

    /// Writes the join rows between two existing rows. Join rows of new rows are loaded with them.
    private func writeJoin(_ store: LinkStore, table: Int, ownerSide: Int, _ existing: ExistingLinks) throws {
        let rows = try StoredJoinRows(destination, joinTable: table)
        let changes = try store.changes(side: .first)
        var present: (owner: Int64, members: Set<Int64>)?
        while let change = try changes.next() {
            let (owner, member) = (change.object.key, change.partner.key)
            guard existing.isExisting(owner, side: .first), existing.isExisting(member, side: .second) else { continue }
            try modelRun.services.checkCancelled()
            if present?.owner != owner {
                present = (owner, Set(try existing.views(of: owner, side: .first).map(\.partner.key)))
            }
            let isThere = present?.members.contains(member) ?? false
            let keys = ownerSide == 0 ? (owner, member) : (member, owner)
            guard changes.isLive else {
                if isThere {
                    try rows.remove(keys.0, keys.1)
                    modelRun.tally.linksWritten[table] -= 1
                }
                continue
            }
            // The order column of a side gives the place of that column's object among the other object's members.
            let places = [ExistingRowChanges.key(change.orderOfObject), ExistingRowChanges.key(change.orderOfPartner)]
            try rows.set(keys.0, keys.1, orders: ownerSide == 0 ? places : places.reversed())
            if !isThere { modelRun.tally.linksWritten[table] += 1 }
        }
    }

    private static func key(_ order: MemberOrder) -> Int64? {
        if case .key(let key) = order { return key }
        return nil
    }
}
