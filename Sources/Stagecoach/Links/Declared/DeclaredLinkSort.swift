import CoreDataStore
import ManagedModel
import SpillStorage

/// The links of one pair after their resolution: one for each row that holds a reference, ascending by row.
struct DecidedLinks {
    /// The columns of the references.
    let storage: RelationshipStorage
    /// Records in the form of ``ColumnPatches``.
    let records: SortedRecords
}

/// The resolution of links over whole tables by external sorts: the winning owner, the surviving one-to-one links, and the
/// place of each member.
///
/// All records are words of fixed width; keys are encoded so that unsigned order is key order. One word has the Z_ENTs of both
/// ends: the upper half that of the row that holds the reference. Memory: the run's share for sorting, whatever the number of
/// links.
struct DeclaredLinkSort {
    let stream: LinkStream
    let mappings: [PlannedMapping]
    /// True if references are counted here that the deciding side's lookups do not show, because nothing else reads them.
    var countsInverses = false
    /// Returns the greatest ordering key among the members that an owner had before; nil: no owner had any.
    var highestOrder: ((Int64) throws -> Int64?)?
    /// The ordering keys of members that rows of the destination had before the run, if source objects may become these rows.
    var standing: StandingOrders?
    /// Receives each link that a mapping sets in a one-to-one pair, whether or not a later one replaces it: the ends on the
    /// first and on the second side. A replaced link still takes away the links that both ends had before.
    var setsOneToOne: ((LinkEnd, LinkEnd) throws -> Void)?

    private var run: MigrationRun { stream.run }
    private var destination: StoreSchema { run.inputs.destinationSchema }

    /// Resolves one column task.
    func resolve(_ task: LinkPlan.ColumnTask) throws -> [DecidedLinks] {
        switch task {
        case .oneToMany(let relationship, let inverse, let patched):
            return try oneToMany(relationship, inverse, patched)
        case .oneToOne(let first, let second): return try oneToOne(first, second)
        case .hidden(let relationship): return try hidden(relationship)
        }
    }

    private static func entities(_ row: LinkEnd, _ other: LinkEnd) -> UInt64 {
        UInt64(row.entity) << 32 | UInt64(other.entity)
    }

    // MARK: - One-to-many

    /// Resolves a to-one relationship with a to-many inverse, or with none.
    ///
    /// Words: member, class, rank, rank, owner, both Z_ENTs, the two words of the member's place. Class 0 holds the links of
    /// the to-one side (the first wins), class 1 those of the to-many side (the last wins).
    private func oneToMany(
        _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?, _ patched: Set<Int>
    ) throws -> [DecidedLinks] {
        let storage = destination.storage(of: relationship)
        guard case .toOne(_, _, _, let orderColumn) = storage else { return [] }
        let sorter = run.services.sorter(width: 8)
        for (mapping, planned) in LinkPlanner.owners(of: relationship, among: mappings)
        where patched.contains(mapping.index) {
            try stream.forEach(mapping, planned, countsMissing: true) { link in
                try sorter.append(
                    SortKey.encode(link.owner.key), 0, link.preference.mapping, link.preference.place,
                    SortKey.encode(link.member.key), DeclaredLinkSort.entities(link.owner, link.member), 0, 0)
            }
        }
        let silent = patched.filter { mappings[$0].leavesToInverse(relationship) }
        let ordered = orderColumn != nil
        let given = run.services.sorter(width: 4)
        if let inverse, ordered || countsInverses || !silent.isEmpty {
            for (mapping, planned) in LinkPlanner.lookups(of: inverse, among: mappings) {
                let counts = countsInverses && planned.canDangle(in: run.inputs.layout.schema)
                try stream.forEach(mapping, planned, countsMissing: counts) { link in
                    let (owner, member) = (SortKey.encode(link.owner.key), SortKey.encode(link.member.key))
                    let (kind, value) = link.order.words
                    if ordered, kind != 0 { try given.append(owner, member, kind, value) }
                    if let maker = link.memberMapping, !silent.contains(maker) { return }
                    try sorter.append(
                        member, 1, link.creation.mapping, link.creation.place, owner,
                        DeclaredLinkSort.entities(link.member, link.owner), kind, value)
                }
            }
        }
        let decided = run.services.sorter(width: ColumnPatches.width)
        // Ordered links are sorted by owner first, so that members can be numbered; other links are sorted by member at once.
        let further = try forEachWinner(of: sorter) { words in
            if ordered {
                try decided.append(words[4], words[0], words[5], words[6], words[7])
            } else {
                try decided.append(words[0], words[4], words[5], 0, 0)
            }
        }
        count(further: further, of: relationship)
        guard ordered else { return [DecidedLinks(storage: storage, records: try decided.finish())] }
        let numbered = try place(try decided.finish(), given: try given.finish(), storage)
        return [DecidedLinks(storage: storage, records: numbered)]
    }

    private func count(further: Int, of relationship: RelationshipDescription) {
        guard !stream.missing.isRepeat else { return }
        var counts = ReferenceCounts()
        counts.add(further: further, of: CountedRelationship(relationship, among: mappings))
        run.tally.add(counts)
    }

    /// Shows the winning record for each first word: the first of class 0, or else the last of class 1.
    ///
    /// - Returns: the number of further objects of class 0 that lookups found.
    @discardableResult
    private func forEachWinner(
        of sorter: RecordSorter, _ body: (UnsafePointer<UInt64>) throws -> Void
    ) throws -> Int {
        let sorted = try sorter.finish()
        return try withRecords(8) { best, next in
            var has = false
            var count = 0
            var further = FurtherKeys()
            while try sorted.next(into: next) {
                if has, best[0] != next[0] {
                    try body(UnsafePointer(best))
                    has = false
                    further.removeAll()
                }
                if has, best[1] == 0, next[1] == 0, Link.Preference.isFound(best[2]),
                    further.insert(SortKey.decode(next[4]), beside: SortKey.decode(best[4]))
                {
                    count += 1
                }
                // An owner that finds a member several times gives it the first of its places.
                let isRepeated = has && best[4] == next[4] && best[2] == next[2] && best[3] == next[3]
                if !has || best[1] == 1 && !isRepeated { best.update(from: next, count: 8) }
                has = true
            }
            if has { try body(UnsafePointer(best)) }
            return count
        }
    }

    /// Gives every member its place. A key copied from an ordered source relationship is kept. After the greatest of an owner's
    /// keys, members with a rank follow in rank order, then members without a place in ascending key order, each 1024 after the
    /// one before. If no key is given, the first place is 2048.
    ///
    /// - Parameters:
    ///   - decided: owner, member, both Z_ENTs, and the words of a ``MemberOrder``; ascending.
    ///   - given: owner, member, and the words of a ``MemberOrder``; ascending.
    ///   - storage: the columns of the references.
    /// - Returns: records of ``ColumnPatches`` by member.
    private func place(
        _ decided: SortedRecords, given: SortedRecords, _ storage: RelationshipStorage
    ) throws -> SortedRecords {
        // Words: owner, class (copied, ranked, neither), rank or member, member, both Z_ENTs, kind, value.
        let grouped = run.services.sorter(width: 7)
        try withRecords(5) { record, hint in
            var hasHint = try given.next(into: hint)
            while try decided.next(into: record) {
                while hasHint, (hint[0], hint[1]) < (record[0], record[1]) { hasHint = try given.next(into: hint) }
                if hasHint, hint[0] == record[0], hint[1] == record[1] {
                    record[3] = hint[2]
                    record[4] = hint[3]
                }
                let place = PlacementClass(kind: record[3])
                try grouped.append(
                    record[0], place.rawValue, place == .ranked ? record[4] : record[1], record[1], record[2],
                    record[3],
                    record[4])
            }
        }
        let result = run.services.sorter(width: ColumnPatches.width)
        let sorted = try grouped.finish()
        try withRecords(7) { record, _ in
            var numbering = OwnerNumbering(
                after: highestOrder ?? standing.map { standing in { try standing.highest(of: $0, storage) } })
            while try sorted.next(into: record) {
                let order = try numbering.order(
                    owner: record[0], MemberOrder(kind: record[5], value: record[6]))
                try result.append(record[3], record[0], record[4], order == nil ? 0 : 1, SortKey.encode(order ?? 0))
            }
        }
        return try result.finish()
    }

    // MARK: - One-to-one

    /// Resolves a one-to-one pair. Links are sorted by creation order, then property name. A later link unlinks the earlier
    /// partners of both its objects, so a link survives only if it is the last link of both.
    private func oneToOne(
        _ first: RelationshipDescription, _ second: RelationshipDescription
    ) throws -> [DecidedLinks] {
        let isReflexive = first == second
        // Words: object, creation (two words), property rank, partner, both Z_ENTs.
        let byFirst = run.services.sorter(width: 6)
        let bySecond = run.services.sorter(width: 6)
        let firstRank: UInt64 = first.name <= second.name ? 0 : 1
        for (relationship, rank, isForward) in [(first, firstRank, true), (second, 1 - firstRank, false)] {
            if isReflexive, !isForward { continue }
            let forward = isForward ? byFirst : bySecond
            let backward = isReflexive || !isForward ? byFirst : bySecond
            for (mapping, planned) in LinkPlanner.lookups(of: relationship, among: mappings) {
                try forEachFirst(mapping, planned) { words in
                    if let setsOneToOne {
                        let (owner, member) = DeclaredLinkSort.ends(words[0], words[3], words[4])
                        try isForward ? setsOneToOne(owner, member) : setsOneToOne(member, owner)
                    }
                    try forward.append(words[0], words[5], words[6], rank, words[3], words[4])
                    if isReflexive, words[0] == words[3] { return }
                    try backward.append(
                        words[3], words[5], words[6], rank, words[0], DeclaredLinkSort.swapped(words[4]))
                }
            }
        }
        // The last link of each object of the first side: object, partner, both Z_ENTs.
        let lastOfFirst = run.services.sorter(width: 3)
        let reversed = run.services.sorter(width: 2)
        try forEachLast(of: byFirst, width: 6) { words in
            try lastOfFirst.append(words[0], words[4], words[5])
            if isReflexive { try reversed.append(words[4], words[0]) }
        }
        if !isReflexive { try forEachLast(of: bySecond, width: 6) { try reversed.append($0[4], $0[0]) } }
        let forward = run.services.sorter(width: ColumnPatches.width)
        let backward = run.services.sorter(width: ColumnPatches.width)
        let mine = try lastOfFirst.finish()
        let theirs = try reversed.finish()
        try withRecords(3) { record, partner in
            var hasPartner = try theirs.next(into: partner)
            while try mine.next(into: record) {
                while hasPartner, (partner[0], partner[1]) < (record[0], record[1]) {
                    hasPartner = try theirs.next(into: partner)
                }
                guard hasPartner, partner[0] == record[0], partner[1] == record[1] else { continue }
                try forward.append(record[0], record[1], record[2], 0, 0)
                if !isReflexive { try backward.append(record[1], record[0], DeclaredLinkSort.swapped(record[2]), 0, 0) }
            }
        }
        let decided = DecidedLinks(storage: destination.storage(of: first), records: try forward.finish())
        if isReflexive { return [decided] }
        return [decided, DecidedLinks(storage: destination.storage(of: second), records: try backward.finish())]
    }

    private static func ends(_ row: UInt64, _ other: UInt64, _ entities: UInt64) -> (LinkEnd, LinkEnd) {
        (
            LinkEnd(key: SortKey.decode(row), entity: UInt32(truncatingIfNeeded: entities >> 32)),
            LinkEnd(key: SortKey.decode(other), entity: UInt32(truncatingIfNeeded: entities))
        )
    }

    private static func swapped(_ entities: UInt64) -> UInt64 { entities << 32 | entities >> 32 }

    /// Shows the first object that a to-one lookup finds for each owner, by mapping order, then by the argument's order.
    ///
    /// - Parameter body: receives the words: owner, preference (two words), member, both Z_ENTs, creation (two words).
    private func forEachFirst(
        _ mapping: PlannedMapping, _ planned: PlannedRelationship, _ body: (UnsafePointer<UInt64>) throws -> Void
    ) throws {
        let sorter = run.services.sorter(width: 7)
        try stream.forEach(mapping, planned, countsMissing: true) { link in
            try sorter.append(
                SortKey.encode(link.owner.key), link.preference.mapping, link.preference.place,
                SortKey.encode(link.member.key), DeclaredLinkSort.entities(link.owner, link.member),
                link.creation.mapping, link.creation.place)
        }
        let sorted = try sorter.finish()
        try withRecords(7) { record, previous in
            var has = false
            var surplus = 0
            var further = FurtherKeys()
            while try sorted.next(into: record) {
                if has, previous[0] == record[0] {
                    if Link.Preference.isFound(previous[1]),
                        further.insert(SortKey.decode(record[3]), beside: SortKey.decode(previous[3]))
                    {
                        surplus += 1
                    }
                    continue
                }
                further.removeAll()
                previous.update(from: record, count: 7)
                has = true
                try body(UnsafePointer(record))
            }
            count(further: surplus, of: planned.relationship)
        }
    }

    /// Shows the last record for each first word.
    private func forEachLast(
        of sorter: RecordSorter, width: Int, _ body: (UnsafePointer<UInt64>) throws -> Void
    ) throws {
        let sorted = try sorter.finish()
        try withRecords(width) { last, next in
            var has = false
            while try sorted.next(into: next) {
                if has, last[0] != next[0] { try body(UnsafePointer(last)) }
                last.update(from: next, count: width)
                has = true
            }
            if has { try body(UnsafePointer(last)) }
        }
    }

    // MARK: - To-many without inverse

    /// Resolves a to-many without an inverse. Only one owner of a member can be stored: the last in creation order wins.
    private func hidden(_ relationship: RelationshipDescription) throws -> [DecidedLinks] {
        let storage = destination.storage(of: relationship)
        guard case .toManyHidden(_, _, let orderColumn) = storage else { return [] }
        let sorter = run.services.sorter(width: 8)
        for (mapping, planned) in LinkPlanner.lookups(of: relationship, among: mappings) {
            try stream.forEach(mapping, planned, countsMissing: true) { link in
                try sorter.append(
                    SortKey.encode(link.member.key), 1, link.creation.mapping, link.creation.place,
                    SortKey.encode(link.owner.key), DeclaredLinkSort.entities(link.member, link.owner),
                    link.order.words.kind, link.order.words.value)
            }
        }
        let decided = run.services.sorter(width: ColumnPatches.width)
        try forEachWinner(of: sorter) { words in
            if orderColumn != nil {
                try decided.append(words[4], words[0], words[5], words[6], words[7])
            } else {
                try decided.append(words[0], words[4], words[5], 0, 0)
            }
        }
        guard orderColumn != nil else { return [DecidedLinks(storage: storage, records: try decided.finish())] }
        let none = run.services.sorter(width: 4)
        let numbered = try place(try decided.finish(), given: try none.finish(), storage)
        return [DecidedLinks(storage: storage, records: numbered)]
    }
}

/// Calls `body` with two record buffers, for loops that compare neighbours.
func withRecords<Result>(
    _ width: Int, _ body: (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt64>) throws -> Result
) throws -> Result {
    let storage = UnsafeMutablePointer<UInt64>.allocate(capacity: width * 2)
    storage.initialize(repeating: 0, count: width * 2)
    defer { storage.deallocate() }
    return try body(storage, storage + width)
}
