import CoreDataStore
import ManagedModel
import Rows
import SpillStorage

/// The rows of one join table: the union of the links that the mappings of both sides give, in primary key order.
struct JoinLinks {
    let modelRun: ModelRun
    let checkpoints: CheckpointScheduler?
    let mappings: [PlannedMapping]
    let keys: PlanKeys
    let joinTable: Int
    /// Called with the number of records, just before the first is written.
    var prepare: (Int) throws -> Void = { _ in }
    /// The position of a killed run. The links that it had written are skipped.
    var start: LoadPosition?

    /// The loader that needs no sort; nil if the links have to be sorted.
    var ordered: OrderedJoinLinks? {
        get throws {
            try OrderedJoinLinks(
                modelRun: modelRun, checkpoints: checkpoints, mappings: mappings, keys: keys, joinTable: joinTable)
        }
    }

    private var join: JoinTable { modelRun.inputs.destinationSchema.joinTables[joinTable] }

    /// The words of a record: key of side 0, key of side 1, the ``MemberOrder`` of side 0's object, the ``MemberOrder`` of side
    /// 1's object.
    static let width = 6

    /// Writes all rows.
    ///
    /// - Returns: the number of links written.
    /// - Complexity: O(n log n) in links, on disk above the run's share for sorting.
    func load(into writer: any TableWriter) throws -> Int {
        if let ordered = try ordered {
            return try ordered.load(into: writer, prepare: prepare, from: start)
        }
        let sorter = modelRun.services.sorter(width: JoinLinks.width)
        try collect(into: sorter)
        return try load(try sorter.finish(), into: writer)
    }

    /// Writes all rows from records in primary key order, in which a link may occur several times.
    func load(_ records: SortedRecords, into writer: any TableWriter) throws -> Int {
        try prepare(records.count)
        var sorted = records
        for side in 0...1 where join.sides[side].orderColumn != nil {
            sorted = try placed(sorted, side: side)
        }
        return try write(sorted, to: writer)
    }

    private func collect(into sorter: RecordSorter) throws {
        let stream = LinkStream(run: modelRun.run, missing: modelRun.missing, keys: keys)
        let relationships = join.sides.map { side in
            modelRun.inputs.destinationSchema.model.entity(at: side.relationship.entity)
                .relationship(named: side.relationship.name)
        }
        guard let first = relationships[0], let second = relationships[1] else { return }
        let isReflexive = first == second
        for (mapping, planned) in LinkPlanner.lookups(of: first, among: mappings) {
            try stream.forEach(mapping, planned, countsMissing: true) { link in
                let (kind, order) = link.order.words
                // The member's place belongs to the column group of the member's side.
                try sorter.append(SortKey.encode(link.owner), SortKey.encode(link.member), 0, 0, kind, order)
                if isReflexive {
                    try sorter.append(SortKey.encode(link.member), SortKey.encode(link.owner), 0, 0, 0, 0)
                }
            }
        }
        guard !isReflexive else { return }
        let isMirrored = JoinLinks.isMirror(first, second, among: mappings)
        for (mapping, planned) in LinkPlanner.lookups(of: second, among: mappings) {
            try stream.forEach(mapping, planned, countsMissing: true) { link in
                // These are the same links again, so only missing objects have to be counted.
                guard !isMirrored else { return }
                let (kind, order) = link.order.words
                try sorter.append(SortKey.encode(link.member), SortKey.encode(link.owner), kind, order, 0, 0)
            }
        }
    }

    /// Tells whether the mappings of both sides read the same source links, and the second side gives no places.
    static func isMirror(
        _ first: RelationshipDescription, _ second: RelationshipDescription, among mappings: [PlannedMapping]
    ) -> Bool {
        guard !second.isOrdered else { return false }
        let one = LinkPlanner.lookups(of: first, among: mappings)
        let other = LinkPlanner.lookups(of: second, among: mappings)
        var read: RelationshipDescription?
        for (_, planned) in one {
            guard case .lookup(.toMany(let steps, let original, _), let candidates)? = planned.value, steps.isEmpty,
                read == nil || read == original, Set(candidates) == Set(other.map { $0.mapping.index })
            else { return false }
            read = original
        }
        guard let inverse = read.flatMap(LinkPlanner.mutualInverse(of:)) else { return false }
        return other.allSatisfy { _, planned in
            guard case .lookup(.toMany(let steps, let original, _), let candidates)? = planned.value else {
                return false
            }
            return steps.isEmpty && original == inverse && Set(candidates) == Set(one.map { $0.mapping.index })
        }
    }

    /// Shows one record for each link, merged from its equal records, with the places that either side gave.
    private func forEachMerged(
        _ sorted: SortedRecords, _ body: (UnsafeMutablePointer<UInt64>) throws -> Void
    ) throws {
        try withRecords(JoinLinks.width) { link, next in
            var has = false
            while try sorted.next(into: next) {
                if has, link[0] == next[0], link[1] == next[1] {
                    for word in [2, 4] where link[word] == 0 && next[word] != 0 {
                        link[word] = next[word]
                        link[word + 1] = next[word + 1]
                    }
                    continue
                }
                if has { try body(link) }
                link.update(from: next, count: JoinLinks.width)
                has = true
            }
            if has { try body(link) }
        }
    }

    /// Gives the objects in a side's column their places among the members of the other side's object.
    private func placed(_ sorted: SortedRecords, side: Int) throws -> SortedRecords {
        let word = side == 0 ? 2 : 4
        // Words: owner, class, rank or member, member, then the words of both orders.
        let grouped = modelRun.services.sorter(width: 8)
        try forEachMerged(sorted) { link in
            let (owner, member) = side == 0 ? (link[1], link[0]) : (link[0], link[1])
            let place = PlacementClass(kind: link[word])
            try grouped.append(
                owner, place.rawValue, place == .ranked ? link[word + 1] : member, member, link[2], link[3], link[4],
                link[5])
        }
        let result = modelRun.services.sorter(width: JoinLinks.width)
        let byOwner = try grouped.finish()
        try withRecords(8) { link, _ in
            var numbering = OwnerNumbering()
            while try byOwner.next(into: link) {
                let kind = side == 0 ? 4 : 6
                let order = numbering.order(owner: link[0], MemberOrder(kind: link[kind], value: link[kind + 1]))
                let (placedKind, placedValue) = order.map { MemberOrder.key($0).words } ?? MemberOrder.null.words
                link[kind] = placedKind
                link[kind + 1] = placedValue
                let (first, second) = side == 0 ? (link[3], link[0]) : (link[0], link[3])
                try result.append(first, second, link[4], link[5], link[6], link[7])
            }
        }
        return try result.finish()
    }

    private func write(_ sorted: SortedRecords, to writer: any TableWriter) throws -> Int {
        let orderWords = (0...1).filter { join.sides[$0].orderColumn != nil }.map { 2 + 2 * $0 }
        var batch = modelRun.inputs.destinationBatch(slots: 2 + orderWords.count)
        var written = 0
        let done = start?.links ?? 0
        try forEachMerged(sorted) { link in
            written += 1
            guard written > done else { return }
            let row = batch.appendRow(key: Int64(written))
            batch[row, 0] = .integer(SortKey.decode(link[0]))
            batch[row, 1] = .integer(SortKey.decode(link[1]))
            for (slot, word) in orderWords.enumerated() where link[word] == 1 {
                batch[row, 2 + slot] = .integer(SortKey.decode(link[word + 1]))
            }
            if batch.isFull {
                try writer.append(batch)
                modelRun.services.progress.advance(rows: batch.count)
                batch.removeAll()
                try checkpoints?.tick(writer) { LoadPosition(links: written) }
                try modelRun.services.checkCancelled()
            }
        }
        if !batch.isEmpty {
            try writer.append(batch)
            modelRun.services.progress.advance(rows: batch.count)
        }
        return written
    }
}
