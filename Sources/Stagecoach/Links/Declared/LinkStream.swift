import Diagnostics
import SpillStorage

/// A link between two destination objects, made by a mapping without a policy.
struct Link {
    /// The object whose mapping looked up the other.
    var owner: LinkEnd
    /// The object that was found.
    var member: LinkEnd
    /// The index of the mapping that made the found object; nil if a policy made it.
    var memberMapping: Int?
    /// The owner's place in the order of creation. Of several claims to one member the last wins.
    var creation: CreationPlace
    /// The member's rank among the objects that a to-one relationship may refer to. The least wins.
    var preference: Preference
    /// The member's place among the owner's members, as the argument gives it.
    var order: MemberOrder

    /// The place of an object in the order in which objects are created, as two words that sort.
    struct CreationPlace {
        let mapping: UInt64
        let place: UInt64

        /// The place of a row that a mapping made of a source row.
        init(_ mapping: Int, source: Int64) {
            self.mapping = UInt64(mapping) << 1
            place = SortKey.encode(source)
        }

        /// The place of an object that policies associated with a mapping. These follow the mapping's own rows.
        init(_ mapping: Int, associated count: Int) {
            self.mapping = UInt64(mapping) << 1 | 1
            place = UInt64(count)
        }
    }

    /// The rank of a found object, as two words that sort.
    struct Preference {
        let mapping: UInt64
        let place: UInt64

        /// The rank of an object that a lookup found: by the mapping that made it, then by the argument's order.
        ///
        /// - Parameter number: the number of the object among those that the mapping has for one source object, without deleted
        ///   ones.
        init(_ mapping: Int, number: Int, source: Int64, order: MemberOrder) {
            self.mapping = 1 << 63 | UInt64(mapping) << 32 | UInt64(UInt32(clamping: number))
            place = order.rank(orKey: source)
        }

        /// The rank of a link that replaces those of the owner's own lookup; of several the last counts.
        init(replacing count: Int) {
            mapping = 1 << 62 - UInt64(count)
            place = 0
        }

        /// Tells whether the first word of a rank is that of a link that a lookup found for a mapping's own row.
        static func isFound(_ word: UInt64) -> Bool { word >> 63 == 1 }
    }
}

/// The links and objects beside a mapping's own rows, on the policy path.
protocol FurtherLinks: AnyObject {
    /// True if objects were deleted, so that found objects may not exist.
    var hasDeletions: Bool { get }

    /// Tells whether an object still exists.
    func exists(_ end: LinkEnd) throws -> Bool

    /// Tells whether policies associated objects with a mapping.
    func hasObjects(of mapping: Int) -> Bool

    /// Shows the objects that policies associated with a source object for a mapping, if they fit a relationship.
    ///
    /// - Parameter mapping: the index of the mapping, with which objects are associated: see ``hasObjects(of:)``.
    func forEachObject(
        of source: Int64, table: Int, _ mapping: Int, for relationship: PlannedRelationship,
        _ body: (LinkEnd) throws -> Void
    ) throws

    /// Shows the links that no lookup of a mapping's own rows finds: those that expressions over objects give, and those of
    /// objects that policies associated with the mapping.
    ///
    /// - Parameter counts: true to count references that find no object.
    func forEachLink(
        _ mapping: PlannedMapping, _ planned: PlannedRelationship, counts: Bool, _ body: (Link) throws -> Void
    ) throws
}

/// The links of one mapping's relationship, read from the source's rows in no particular order.
struct LinkStream {
    let run: MigrationRun
    var missing: MissingReferences
    let keys: PlanKeys
    /// The links beside those of the mappings' own rows; nil where there are none.
    var further: (any FurtherLinks)?

    /// Calls `body` for each pair of an owner and an object found for it.
    ///
    /// - Parameters:
    ///   - countsMissing: true to count references that find no object; false if the other side of the pair counts them.
    /// - Complexity: one scan of the table that holds the links; memory is one batch.
    func forEach(
        _ mapping: PlannedMapping, _ planned: PlannedRelationship, countsMissing: Bool,
        _ body: (Link) throws -> Void
    ) throws {
        if case .lookup(let argument, let indices)? = planned.value, let own = keys.byMapping[mapping.index] {
            try forEach(mapping, own, planned, argument, indices, countsMissing: countsMissing, body)
        }
        try further?.forEachLink(mapping, planned, counts: countsMissing, body)
    }

    /// Counts the links of a relationship that is its own inverse, in the source too, whose owner finds no object: ``forEach``
    /// shows links from the owners that have one, and no other relationship shows them from the other end.
    ///
    /// - Complexity: one scan of the join table.
    func countMissingOwners(_ mapping: PlannedMapping, _ planned: PlannedRelationship) throws {
        guard case .lookup(let argument, let indices)? = planned.value, let own = keys.byMapping[mapping.index],
            case .toMany(let steps, let links, _) = argument, steps.isEmpty, links.inverseRelationship == links
        else { return }
        let schema = run.inputs.destinationSchema
        let candidates = keys.candidates(indices, table: argument.table, for: planned.relationship, in: schema)
        let existing = keys.byTable[argument.table]
        let lookup = missing.unmigrated?.number(of: planned.relationship, sourceTable: argument.table)
        let counted = CountedRelationship(planned.relationship)
        var counts = ReferenceCounts()
        let members = KeyLookup(own)
        let merges = mapping.merges
        try SourcePairs(run: run).forEach(mapping, own.index, argument) { ownerSource, memberSource, _ in
            guard
                let member = try merges ? members.foundKey(of: memberSource) : members.destinationKey(of: memberSource)
            else { return }
            for candidate in candidates where try candidate.keys.foundKey(of: ownerSource) != nil { return }
            try note(ownerSource, existing, argument.table, lookup, counted, owner: member, &counts)
        }
        run.tally.add(counts)
    }

    /// Notes a source object that a lookup found nothing for: a row that does not exist is counted at once.
    ///
    /// - Parameters:
    ///   - existing: the keys of the table; nil if they are not known.
    ///   - number: the lookup's number among those whose references are kept; nil if they are counted.
    private func note(
        _ source: Int64, _ existing: KeyIndex?, _ table: Int, _ number: UInt64?, _ counted: CountedRelationship,
        owner: Int64, _ counts: inout ReferenceCounts
    ) throws(MigrationError) {
        if let existing, try !existing.contains(source) {
            if !missing.isRepeat { counts.add(counted, .dangling, owner: owner) }
        } else {
            try missing.note(source, inTable: table, number: number, of: counted, owner: owner, &counts)
        }
    }

    /// Shows the pairs that a lookup's argument gives: each with the source object that makes the owner.
    private func forEachPair(
        _ mapping: PlannedMapping, _ own: DestinationKeys, _ planned: PlannedRelationship, _ argument: SourceArgument,
        _ body: SourcePairs.Body
    ) throws {
        let pairs = SourcePairs(run: run)
        guard let shared = own.shared, mapping.merges else {
            // An object that became a row of the destination makes none, but owns the members that come under the row.
            if case .object = argument, planned.relationship.isToMany, let matched = own.matched?.walk() {
                while let one = try matched.next() { try body(one.key, one.key, .none) }
            }
            return try pairs.forEach(mapping, own.index, argument, sortedBy: planned.sort, body)
        }
        try MergedPairs(pairs: pairs, shared: shared, fills: mapping.fillsNil)
            .forEach(mapping, own.index, argument, filling: planned.relationship, body)
    }

    /// Returns the mappings with which policies associated objects, each with the candidate of its own rows.
    private func makers(
        _ indices: [Int], _ candidates: [PlanKeys.Candidate]
    ) -> [(index: Int, own: PlanKeys.Candidate?)] {
        guard let further else { return [] }
        return indices.filter(further.hasObjects).map { maker in
            (maker, candidates.first { $0.keys.mapping.index == maker })
        }
    }

    private func forEach(
        _ mapping: PlannedMapping, _ own: DestinationKeys, _ planned: PlannedRelationship, _ argument: SourceArgument,
        _ indices: [Int], countsMissing: Bool, _ body: (Link) throws -> Void
    ) throws {
        let schema = run.inputs.destinationSchema
        let candidates = keys.candidates(indices, table: argument.table, for: planned.relationship, in: schema)
        // Iterating over the candidates would retain and release each of them. Mostly there is only one.
        let only = candidates.count == 1 ? KeyLookup(candidates[0].keys) : nil
        let owners = KeyLookup(own)
        let number = UInt32(mapping.destination.map(schema.number(of:)) ?? 0)
        let standing = StandingEnds(planned, owners: own, members: candidates.map(\.keys))
        let (onlyEntity, onlyMapping) = (
            UInt32(clamping: candidates.first?.entityNumber ?? 0), candidates.first?.keys.mapping.index ?? 0
        )
        let existing = keys.byTable[argument.table]
        var counts = ReferenceCounts()
        let missing = missing
        let further = further
        let makers = makers(indices, candidates)
        let hasDeletions = further?.hasDeletions ?? false
        let lookup = missing.unmigrated?.number(of: planned.relationship, sourceTable: argument.table)
        let counted = CountedRelationship(planned.relationship)
        try forEachPair(mapping, own, planned, argument) { ownerSource, memberSource, order in
            let made = try owners.destinationKey(of: ownerSource)
            guard let key = try made ?? standing?.owner(of: ownerSource) else { return }
            let entity = try standing?.entity(ofOwner: key, unlessOfSubentity: number) ?? number
            let owner = LinkEnd(key: key, entity: entity)
            let order = standing?.order(order, ofOwner: key) ?? order
            if hasDeletions, try further?.exists(owner) == false { return }
            var found = false
            /// Returns false if the member was deleted.
            func show(_ member: LinkEnd, _ maker: Int, number: Int) throws -> Bool {
                if hasDeletions, try further?.exists(member) == false { return false }
                found = true
                if let standing, !standing.mayLink(key, member.key, of: maker) { return true }
                try body(
                    Link(
                        owner: owner, member: member, memberMapping: maker,
                        creation: .init(mapping.index, source: ownerSource),
                        preference: .init(maker, number: number, source: memberSource, order: order), order: order))
                return true
            }
            if let only {
                if let member = try only.foundKey(of: memberSource) {
                    let entity = try standing?.entity(of: member, by: onlyMapping, unlessOfSubentity: onlyEntity)
                    _ = try show(LinkEnd(key: member, entity: entity ?? onlyEntity), onlyMapping, number: 0)
                }
            } else {
                for candidate in candidates {
                    guard let member = try candidate.keys.foundKey(of: memberSource) else { continue }
                    var entity = UInt32(clamping: candidate.entityNumber)
                    let maker = candidate.keys.mapping.index
                    entity = try standing?.entity(of: member, by: maker, unlessOfSubentity: entity) ?? entity
                    _ = try show(LinkEnd(key: member, entity: entity), candidate.keys.mapping.index, number: 0)
                }
            }
            for maker in makers {
                // Of several source objects the first that has an object left counts, whoever made it.
                var number = 0
                if let own = maker.own, let key = try own.keys.foundKey(of: memberSource) {
                    let end = LinkEnd(key: key, entity: UInt32(clamping: own.entityNumber))
                    if try !hasDeletions || further?.exists(end) != false { number = 1 }
                }
                try further?.forEachObject(of: memberSource, table: argument.table, maker.index, for: planned) {
                    if try show($0, maker.index, number: number) { number += 1 }
                }
            }
            guard !found, countsMissing else { return }
            try note(memberSource, existing, argument.table, lookup, counted, owner: key, &counts)
        }
        run.tally.add(counts)
    }
}
