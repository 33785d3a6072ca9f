import CoreDataStore
import ManagedModel
import SpillStorage

/// The links of one join table, which the mappings of both sides give, sorted by primary key.
struct JoinLinkSort {
    let stream: LinkStream
    let mappings: [PlannedMapping]
    let joinTable: Int
    /// Returns the greatest ordering key among the members that an object of a side had before; nil: none had any.
    var highestOrder: ((Int, Int64) throws -> Int64?)?

    /// The ordering keys of members that rows of the destination had before the run, if source objects may become these rows.
    var standing: StandingOrders?

    private var run: MigrationRun { stream.run }
    private var join: JoinTable { run.inputs.destinationSchema.joinTables[joinTable] }

    /// The words of a record: key of side 0, key of side 1, the ``MemberOrder`` of side 0's object, the ``MemberOrder`` of side
    /// 1's object. The upper half of an order's first word is the object's Z_ENT.
    static let width = 6

    /// Returns the records of all links, in which a link may occur several times.
    ///
    /// - Complexity: O(n log n) in links, on disk above the run's share for sorting.
    func collect() throws -> SortedRecords {
        let sorter = run.services.sorter(width: JoinLinkSort.width)
        let relationships = join.sides.map { side in
            run.inputs.destinationSchema.model.entity(at: side.relationship.entity)
                .relationship(named: side.relationship.name)
        }
        guard let first = relationships[0], let second = relationships[1] else { return try sorter.finish() }
        let isReflexive = first == second
        for (mapping, planned) in LinkPlanner.lookups(of: first, among: mappings) {
            try stream.forEach(mapping, planned, countsMissing: true) { link in
                let (owner, member) = (UInt64(link.owner.entity) << 32, UInt64(link.member.entity) << 32)
                let (kind, order) = link.order.words
                // The member's place belongs to the column group of the member's side.
                try sorter.append(
                    SortKey.encode(link.owner.key), SortKey.encode(link.member.key), owner, 0, member | kind, order)
                if isReflexive {
                    try sorter.append(
                        SortKey.encode(link.member.key), SortKey.encode(link.owner.key), member, 0, owner, 0)
                }
            }
        }
        guard !isReflexive else {
            for (mapping, planned) in LinkPlanner.lookups(of: first, among: mappings) {
                try stream.countMissingOwners(mapping, planned)
            }
            return try sorter.finish()
        }
        let isMirrored = JoinLinkSort.isMirror(first, second, among: mappings)
        for (mapping, planned) in LinkPlanner.lookups(of: second, among: mappings) {
            try stream.forEach(mapping, planned, countsMissing: true) { link in
                // These are the same links again, so only missing objects have to be counted.
                guard !isMirrored else { return }
                let (owner, member) = (UInt64(link.owner.entity) << 32, UInt64(link.member.entity) << 32)
                let (kind, order) = link.order.words
                try sorter.append(
                    SortKey.encode(link.member.key), SortKey.encode(link.owner.key), member | kind, order, owner, 0)
            }
        }
        return try sorter.finish()
    }

    /// Tells whether the mappings of both sides read the same source links, and the second side gives no places.
    static func isMirror(
        _ first: RelationshipDescription, _ second: RelationshipDescription, among mappings: [PlannedMapping]
    ) -> Bool {
        guard !second.isOrdered, !LinkPlanner.sharesObjects(mappings) else { return false }
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
    func forEachMerged(_ sorted: SortedRecords, _ body: (UnsafeMutablePointer<UInt64>) throws -> Void) throws {
        try withRecords(JoinLinkSort.width) { link, next in
            var has = false
            while try sorted.next(into: next) {
                if has, link[0] == next[0], link[1] == next[1] {
                    for word in [2, 4]
                    where link[word] & MemberOrder.kindBits == 0 && next[word] & MemberOrder.kindBits != 0 {
                        link[word] = next[word]
                        link[word + 1] = next[word + 1]
                    }
                    continue
                }
                if has { try body(link) }
                link.update(from: next, count: JoinLinkSort.width)
                has = true
            }
            if has { try body(link) }
        }
    }

    /// Gives the objects of each ordered side their places among the members of the other side's object.
    func placed(_ records: SortedRecords) throws -> SortedRecords {
        var sorted = records
        for side in 0...1 where join.sides[side].orderColumn != nil { sorted = try placed(sorted, side: side) }
        return sorted
    }

    private func placed(_ sorted: SortedRecords, side: Int) throws -> SortedRecords {
        let word = side == 0 ? 2 : 4
        // Words: owner, class, rank or member, member, then the words of both orders.
        let grouped = run.services.sorter(width: 8)
        try forEachMerged(sorted) { link in
            let (owner, member) = side == 0 ? (link[1], link[0]) : (link[0], link[1])
            let place = PlacementClass(kind: link[word])
            try grouped.append(
                owner, place.rawValue, place == .ranked ? link[word + 1] : member, member, link[2], link[3], link[4],
                link[5])
        }
        let result = run.services.sorter(width: JoinLinkSort.width)
        let byOwner = try grouped.finish()
        try withRecords(8) { link, _ in
            let before = standing.map { standing in
                { try standing.highest(of: $0, side: 1 - side, joinTable: joinTable) }
            }
            var numbering = OwnerNumbering(
                after: highestOrder.map { highest in { try highest(1 - side, $0) } } ?? before)
            while try byOwner.next(into: link) {
                let kind = side == 0 ? 4 : 6
                let order = try numbering.order(owner: link[0], MemberOrder(kind: link[kind], value: link[kind + 1]))
                let (placedKind, placedValue) = order.map { MemberOrder.key($0).words } ?? MemberOrder.null.words
                link[kind] = link[kind] & ~MemberOrder.kindBits | placedKind
                link[kind + 1] = placedValue
                let (first, second) = side == 0 ? (link[3], link[0]) : (link[0], link[3])
                try result.append(first, second, link[4], link[5], link[6], link[7])
            }
        }
        return try result.finish()
    }
}
