import CoreDataStore
import ManagedModel
import SpillStorage

/// The resolution of links over whole tables by external sorts: the winning owner, the surviving one-to-one links, and the
/// place of each member.
///
/// All records are words of fixed width; keys are encoded so that unsigned order is key order. Memory: the run's share for
/// sorting, whatever the number of links.
struct DeclaredLinkSort {
    let run: MigrationRun
    let missing: MissingReferences
    let mappings: [PlannedMapping]
    let keys: PlanKeys

    private var stream: LinkStream { LinkStream(run: run, missing: missing, keys: keys) }
    private var destination: StoreSchema { run.inputs.destinationSchema }

    /// Resolves one column task.
    ///
    /// - Returns: patches by destination table index.
    func resolve(_ task: LinkPlan.ColumnTask) throws -> [(table: Int, patches: ColumnPatches)] {
        switch task {
        case .oneToMany(let relationship, let inverse, let patched):
            return try oneToMany(relationship, inverse, patched)
        case .oneToOne(let first, let second): return try oneToOne(first, second)
        case .hidden(let relationship): return try hidden(relationship)
        }
    }

    // MARK: - One-to-many

    /// Resolves a to-one relationship with a to-many inverse, or with none.
    ///
    /// Words: member, class, rank, rank, owner, owner's Z_ENT, the two words of the member's place. Class 0 holds the links of
    /// the to-one side (the first wins), class 1 those of the to-many side (the last wins).
    private func oneToMany(
        _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?, _ patched: Set<Int>
    ) throws -> [(table: Int, patches: ColumnPatches)] {
        guard
            case .toOne(let table, let column, let entityColumn, let orderColumn) = destination.storage(
                of: relationship)
        else { return [] }
        let sorter = run.services.sorter(width: 8)
        for (mapping, planned) in LinkPlanner.owners(of: relationship, among: mappings)
        where patched.contains(mapping.index) {
            try stream.forEach(mapping, planned, countsMissing: true) { link in
                try sorter.append(
                    SortKey.encode(link.owner), 0, UInt64(link.memberMapping),
                    link.rankAmongMembers, SortKey.encode(link.member),
                    UInt64(bitPattern: link.memberEntity), 0, 0)
            }
        }
        let silent = Set(
            LinkPlanner.owners(of: relationship, among: mappings).filter { $0.planned.value == nil }.map(
                \.mapping.index)
        ).intersection(patched)
        let inverseOwners = inverse.map { LinkPlanner.lookups(of: $0, among: mappings) } ?? []
        if !silent.isEmpty {
            for (mapping, planned) in inverseOwners {
                let number = UInt64(mapping.destination.map(destination.number(of:)) ?? 0)
                try stream.forEach(mapping, planned, countsMissing: false) { link in
                    guard silent.contains(link.memberMapping) else { return }
                    try sorter.append(
                        SortKey.encode(link.member), 1, UInt64(mapping.index), SortKey.encode(link.ownerSource),
                        SortKey.encode(link.owner), number, link.order.words.kind, link.order.words.value)
                }
            }
        }
        let decided = run.services.sorter(width: ColumnPatches.width)
        let ordered = orderColumn != nil
        var counts = ReferenceCounts()
        // Ordered links are sorted by owner first, so that members can be numbered; other links are sorted by member at once.
        let further = try forEachWinner(of: sorter) { words in
            if ordered {
                try decided.append(words[4], words[0], words[5], words[6], words[7])
            } else {
                try decided.append(words[0], words[4], words[5], 0, 0)
            }
        }
        counts.add(further: further, of: CountedRelationship(relationship, among: mappings))
        run.tally.add(counts)
        guard ordered else {
            return [(table, try patches(column, entityColumn, nil, try decided.finish()))]
        }
        let given = run.services.sorter(width: 4)
        for (mapping, planned) in inverseOwners {
            try stream.forEach(mapping, planned, countsMissing: false) { link in
                guard !link.order.isNone else { return }
                try given.append(
                    SortKey.encode(link.owner), SortKey.encode(link.member), link.order.words.kind,
                    link.order.words.value)
            }
        }
        let numbered = try DeclaredLinkSort.place(try decided.finish(), given: try given.finish(), in: run)
        return [(table, try patches(column, entityColumn, orderColumn, numbered))]
    }

    /// Shows the winning record for each first word: the first of class 0, or else the last of class 1.
    ///
    /// - Returns: the number of further records of class 0.
    @discardableResult
    private func forEachWinner(
        of sorter: RecordSorter, _ body: (UnsafePointer<UInt64>) throws -> Void
    ) throws -> Int {
        let sorted = try sorter.finish()
        return try withRecords(8) { best, next in
            var has = false
            var further = 0
            while try sorted.next(into: next) {
                if has, best[0] != next[0] {
                    try body(UnsafePointer(best))
                    has = false
                }
                if has, best[1] == 0, next[1] == 0 { further += 1 }
                if !has || best[1] == 1 { best.update(from: next, count: 8) }
                has = true
            }
            if has { try body(UnsafePointer(best)) }
            return further
        }
    }

    /// Gives every member its place. A key copied from an ordered source relationship is kept. After the greatest of an owner's
    /// keys, members with a rank follow in rank order, then members without a place in ascending key order, each 1024 after the
    /// one before. If no key is given, the first place is 2048.
    ///
    /// - Parameters:
    ///   - decided: owner, member, owner's Z_ENT, and the words of a ``MemberOrder``; ascending.
    ///   - given: owner, member, and the words of a ``MemberOrder``; ascending.
    /// - Returns: records of ``ColumnPatches`` by member.
    static func place(
        _ decided: SortedRecords, given: SortedRecords, in run: MigrationRun
    ) throws -> SortedRecords {
        // Words: owner, class (copied, ranked, neither), rank or member, member, owner's Z_ENT, kind, value.
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
            var numbering = OwnerNumbering()
            while try sorted.next(into: record) {
                let order = numbering.order(owner: record[0], MemberOrder(kind: record[5], value: record[6]))
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
    ) throws -> [(table: Int, patches: ColumnPatches)] {
        let isReflexive = first == second
        // Words: object, mapping, source key, property rank, partner, partner's Z_ENT, object's Z_ENT.
        let byFirst = run.services.sorter(width: 7)
        let bySecond = run.services.sorter(width: 7)
        let firstRank: UInt64 = first.name <= second.name ? 0 : 1
        for (relationship, rank, isForward) in [(first, firstRank, true), (second, 1 - firstRank, false)] {
            if isReflexive, !isForward { continue }
            for (mapping, planned) in LinkPlanner.lookups(of: relationship, among: mappings) {
                let number = UInt64(mapping.destination.map(destination.number(of:)) ?? 0)
                try forEachFirst(mapping, planned) { link in
                    let owner = SortKey.encode(link.owner)
                    let member = SortKey.encode(link.member)
                    let entity = UInt64(bitPattern: link.memberEntity)
                    let mappingRank = UInt64(mapping.index)
                    let source = SortKey.encode(link.ownerSource)
                    let forward = isForward ? byFirst : bySecond
                    let backward = isForward ? bySecond : byFirst
                    try forward.append(owner, mappingRank, source, rank, member, entity, number)
                    if isReflexive {
                        if owner != member {
                            try byFirst.append(member, mappingRank, source, rank, owner, number, entity)
                        }
                    } else {
                        try backward.append(member, mappingRank, source, rank, owner, number, entity)
                    }
                }
            }
        }
        // The last link of each object of the first side: object, partner, partner's Z_ENT, object's Z_ENT.
        let lastOfFirst = run.services.sorter(width: 4)
        let reversed = run.services.sorter(width: 2)
        try forEachLast(of: byFirst, width: 7) { words in
            try lastOfFirst.append(words[0], words[4], words[5], words[6])
            if isReflexive { try reversed.append(words[4], words[0]) }
        }
        if !isReflexive { try forEachLast(of: bySecond, width: 7) { try reversed.append($0[4], $0[0]) } }
        let forward = run.services.sorter(width: ColumnPatches.width)
        let backward = run.services.sorter(width: ColumnPatches.width)
        let mine = try lastOfFirst.finish()
        let theirs = try reversed.finish()
        try withRecords(4) { record, partner in
            var hasPartner = try theirs.next(into: partner)
            while try mine.next(into: record) {
                while hasPartner, (partner[0], partner[1]) < (record[0], record[1]) {
                    hasPartner = try theirs.next(into: partner)
                }
                guard hasPartner, partner[0] == record[0], partner[1] == record[1] else { continue }
                try forward.append(record[0], record[1], record[2], 0, 0)
                if !isReflexive { try backward.append(record[1], record[0], record[3], 0, 0) }
            }
        }
        var result: [(table: Int, patches: ColumnPatches)] = []
        if case .toOne(let table, let column, let entityColumn, _) = destination.storage(of: first) {
            result.append((table, try patches(column, entityColumn, nil, try forward.finish())))
        }
        if !isReflexive, case .toOne(let table, let column, let entityColumn, _) = destination.storage(of: second) {
            result.append((table, try patches(column, entityColumn, nil, try backward.finish())))
        }
        return result
    }

    /// Shows the first object that a to-one lookup finds for each owner, by mapping order, then by the argument's order.
    private func forEachFirst(
        _ mapping: PlannedMapping, _ planned: PlannedRelationship, _ body: (Link) throws -> Void
    ) throws {
        let sorter = run.services.sorter(width: 6)
        try stream.forEach(mapping, planned, countsMissing: true) { link in
            try sorter.append(
                SortKey.encode(link.owner), UInt64(link.memberMapping),
                link.rankAmongMembers, SortKey.encode(link.member),
                UInt64(bitPattern: link.memberEntity), SortKey.encode(link.ownerSource))
        }
        let sorted = try sorter.finish()
        try withRecords(6) { record, previous in
            var has = false
            var surplus = 0
            while try sorted.next(into: record) {
                if has, previous[0] == record[0] {
                    surplus += 1
                    continue
                }
                previous.update(from: record, count: 6)
                has = true
                try body(
                    Link(
                        owner: SortKey.decode(record[0]), member: SortKey.decode(record[3]),
                        memberEntity: Int64(bitPattern: record[4]), memberMapping: Int(record[1]),
                        ownerSource: SortKey.decode(record[5]), memberSource: 0, order: .none))
            }
            var counts = ReferenceCounts()
            counts.add(further: surplus, of: CountedRelationship(planned.relationship, among: mappings))
            run.tally.add(counts)
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
    private func hidden(_ relationship: RelationshipDescription) throws -> [(table: Int, patches: ColumnPatches)] {
        guard case .toManyHidden(let table, let column, let orderColumn) = destination.storage(of: relationship)
        else { return [] }
        let sorter = run.services.sorter(width: 8)
        for (mapping, planned) in LinkPlanner.lookups(of: relationship, among: mappings) {
            try stream.forEach(mapping, planned, countsMissing: true) { link in
                try sorter.append(
                    SortKey.encode(link.member), 1, UInt64(mapping.index), SortKey.encode(link.ownerSource),
                    SortKey.encode(link.owner), 0, link.order.words.kind, link.order.words.value)
            }
        }
        let decided = run.services.sorter(width: ColumnPatches.width)
        try forEachWinner(of: sorter) { words in
            if orderColumn != nil {
                try decided.append(words[4], words[0], 0, words[6], words[7])
            } else {
                try decided.append(words[0], words[4], 0, 0, 0)
            }
        }
        guard orderColumn != nil else { return [(table, try patches(column, nil, nil, try decided.finish()))] }
        let none = run.services.sorter(width: 4)
        let numbered = try DeclaredLinkSort.place(try decided.finish(), given: try none.finish(), in: run)
        return [(table, try patches(column, nil, orderColumn, numbered))]
    }

    private func patches(
        _ column: Int, _ entityColumn: Int?, _ orderColumn: Int?, _ records: SortedRecords
    ) throws -> ColumnPatches {
        try ColumnPatches(column: column, entityColumn: entityColumn, orderColumn: orderColumn, .records(records))
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
