import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import SpillStorage

/// Lays the links of mappings without a policy on the policy path. They follow the rules for inverse pairs, not the order of
/// calls: they are sorted as on the row path, and laid under the changes of policies.
final class DeclaredLinkMaker {
    private let lookups: MemberLookups

    private var modelRun: ModelRun { lookups.modelRun }
    private var mappings: [PlannedMapping] { lookups.mappings }
    private var associations: [MappingAssociations] { lookups.associations }
    private var objects: DestinationObjects { lookups.objects }

    init(_ lookups: MemberLookups) { self.lookups = lookups }

    /// Lays the declared links of a store, which has none yet. Members of ordered relationships get their places.
    ///
    /// - Complexity: one scan of the source for each relationship; O(n log n) in links, on disk above the run's share for
    ///   sorting.
    func layLinks(of store: LinkStore) throws {
        guard mappings.contains(where: \.hasDeclaredLinks) else { return }
        try modelRun.services.checkCancelled()
        let own = associations.compactMap { table in table.keys.map { (table.mapping.index, $0) } }
        var stream = modelRun.links(
            by: PlanKeys(
                byMapping: Dictionary(uniqueKeysWithValues: own), byTable: modelRun.sourceKeys?.byTable ?? [:]),
            and: self)
        stream.missing.isRepeat = modelRun.validation.rejected != nil
        let schema = modelRun.inputs.destinationSchema
        if case .join(let table, let side) = schema.storage(of: store.first) {
            try lay(stream, joinTable: table, store, side == 0 ? .first : .second)
        } else {
            let planner = LinkPlanner(
                mappings: mappings, source: modelRun.inputs.layout.schema, destination: schema)
            guard let task = planner.wholeTask(of: store.first) else { return }
            try lay(stream, task, store)
        }
    }

    private func lay(_ stream: LinkStream, _ task: LinkPlan.ColumnTask, _ store: LinkStore) throws {
        // The side of the rows that hold the references.
        let side: LinkStore.Side =
            switch task {
            case .oneToMany(let relationship, _, _), .oneToOne(let relationship, _):
                relationship == store.first ? .first : .second
            case .hidden: .second
            }
        var sort = DeclaredLinkSort(
            stream: stream, mappings: mappings, countsInverses: true,
            highestOrder: store.existing.map { existing in { try existing.highestOrder(of: $0, side: side.other) } })
        if store.existing != nil { sort.setsOneToOne = { try self.takePlace(of: $0, $1, store, side) } }
        guard let decided = try sort.resolve(task).first else { return }
        try withRecords(ColumnPatches.width) { words, _ in
            while try decided.records.next(into: words) {
                var place = MemberOrder.none
                if store.isOrdered(side.other) {
                    place = words[3] == 1 ? .key(SortKey.decode(words[4])) : .null
                }
                let link = LinkView(
                    object: LinkEnd(key: SortKey.decode(words[0]), entity: UInt32(truncatingIfNeeded: words[2] >> 32)),
                    partner: LinkEnd(key: SortKey.decode(words[1]), entity: UInt32(truncatingIfNeeded: words[2])),
                    orderOfPartner: .none, orderOfObject: place)
                try lay(link, store, side)
            }
        }
    }

    private func lay(_ stream: LinkStream, joinTable: Int, _ store: LinkStore, _ side: LinkStore.Side) throws {
        let sort = JoinLinkSort(
            stream: stream, mappings: mappings, joinTable: joinTable,
            highestOrder: store.existing.map { existing in
                { try existing.highestOrder(of: $1, side: $0 == 0 ? side : side.other) }
            })
        try sort.forEachMerged(try sort.placed(try sort.collect())) { words in
            var link = LinkView(
                object: LinkEnd(key: SortKey.decode(words[0]), entity: UInt32(truncatingIfNeeded: words[2] >> 32)),
                partner: LinkEnd(key: SortKey.decode(words[1]), entity: UInt32(truncatingIfNeeded: words[4] >> 32)),
                orderOfPartner: .none, orderOfObject: .none)
            if store.isOrdered(side.other) { link.orderOfObject = MemberOrder(kind: words[2], value: words[3]) }
            // A relationship that is its own inverse shows each link from both ends. Each gives its own place.
            if !store.isReflexive {
                if store.isOrdered(side) { link.orderOfPartner = MemberOrder(kind: words[4], value: words[5]) }
            } else if !store.isOrdered(side), link.object.key > link.partner.key {
                return
            }
            try lay(link, store, side)
        }
    }

    private func lay(_ link: LinkView, _ store: LinkStore, _ side: LinkStore.Side) throws(MigrationError) {
        try takePlace(of: link.object, link.partner, store, side)
        try store.lay(link, side: side)
    }

    /// Takes away the links of rows that were there before and that a new link of the two objects replaces.
    ///
    /// - Parameter side: the side of `object`.
    private func takePlace(
        of object: LinkEnd, _ partner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side
    ) throws(MigrationError) {
        guard let existing = store.existing else { return }
        for (end, side, other) in [(object, side, partner), (partner, side.other, object)]
        where existing.isExisting(end.key, side: side) {
            try objects.links.unlinkExclusive(store, end, from: side, but: other)
        }
    }
}

extension DeclaredLinkMaker: FurtherLinks {
    var hasDeletions: Bool { objects.hasDeletions }

    func exists(_ end: LinkEnd) throws -> Bool { try objects.exists(end) }

    func hasObjects(of mapping: Int) -> Bool { associations[mapping].hasPairs }

    func forEachObject(
        of source: Int64, table: Int, _ mapping: Int, for relationship: PlannedRelationship,
        _ body: (LinkEnd) throws -> Void
    ) throws {
        let schema = modelRun.inputs.destinationSchema
        try associations[mapping].forEachPair(ofKey: source, table: table) { reference in
            let entity = schema.model.entity(at: Int(reference.entity))
            guard entity.isKindOf(entity: relationship.relationship.destination) else { return }
            try body(LinkEnd(key: reference.key, entity: UInt32(schema.number(of: entity))))
        }
    }

    func forEachLink(
        _ mapping: PlannedMapping, _ planned: PlannedRelationship, counts: Bool, _ body: (Link) throws -> Void
    ) throws {
        guard mapping.hasDeclaredLinks else { return }
        let own = associations[mapping.index]
        if case .dynamic(let expression)? = planned.value, let keys = own.keys, let entity = mapping.destination {
            let number = UInt32(modelRun.inputs.destinationSchema.number(of: entity))
            try forEachOwner(mapping, keys) { source, key in
                let owner = LinkEnd(key: key, entity: number)
                if hasDeletions, try !exists(owner) { return }
                try show(
                    members(of: owner, expression, planned, source: source, in: mapping), of: owner, planned,
                    .init(mapping.index, source: source), .init(replacing: 0), body)
            }
        }
        guard own.hasPairs else { return }
        let lookup: LinkLookup? =
            if case .lookup(let argument, let candidates)? = planned.value {
                lookups.lookup(argument, candidates, for: planned)
            } else { nil }
        let cursor = try own.pairs.destinationsInOrderOfFirstAssociation()
        var count = 0
        while let pair = try cursor.next() {
            count += 1
            let entity = modelRun.inputs.destinationSchema.model.entity(at: Int(pair.destination.entity))
            let owner = LinkEnd(
                key: pair.destination.key, entity: UInt32(modelRun.inputs.destinationSchema.number(of: entity)))
            if hasDeletions, try !exists(owner) { continue }
            let creation = Link.CreationPlace(mapping.index, associated: count)
            let preference = Link.Preference(replacing: count)
            if case .dynamic(let expression)? = planned.value {
                let found = try members(of: owner, expression, planned, source: pair.source.key, in: mapping)
                try show(found, of: owner, planned, creation, preference, body)
            } else if let lookup {
                try lookups.forEachMember(lookup, for: owner, of: pair.source.key, in: mapping, counts: counts) {
                    member, order, maker in
                    try body(
                        Link(
                            owner: owner, member: member, memberMapping: maker, creation: creation,
                            preference: preference, order: order))
                }
            }
        }
    }

    /// Shows the links of an owner to the objects that an expression gives.
    private func show(
        _ members: [LinkMember], of owner: LinkEnd, _ planned: PlannedRelationship, _ creation: Link.CreationPlace,
        _ preference: Link.Preference, _ body: (Link) throws -> Void
    ) throws {
        for (rank, member) in members.enumerated() {
            try body(
                Link(
                    owner: owner, member: member.end, memberMapping: try maker(of: member.end), creation: creation,
                    preference: preference, order: planned.relationship.isOrdered ? .rank(Int64(rank)) : .none))
        }
    }

    /// Returns the index of the mapping without a policy that made an object. Returns nil if a policy made it.
    private func maker(of end: LinkEnd) throws(MigrationError) -> Int? {
        for table in associations {
            guard table.isCreated, let keys = table.keys, let entity = table.mapping.destination,
                modelRun.inputs.destinationSchema.number(of: entity) == Int(end.entity),
                try keys.sourceKey(of: end.key) != nil
            else { continue }
            return table.mapping.index
        }
        return nil
    }

    /// Shows the source and destination keys of a mapping's own rows, ascending by source key. If the mapping has expressions
    /// over objects, its source rows are read in batches at the same time.
    private func forEachOwner(
        _ mapping: PlannedMapping, _ keys: DestinationKeys, _ body: (Int64, Int64) throws -> Void
    ) throws {
        guard mapping.needsObjects, modelRun.validation.rejected == nil, let dynamicValues = lookups.dynamicValues
        else {
            return try keys.forEachPair(body)
        }
        try dynamicValues.forEachSource(of: mapping) { source in
            guard let key = try keys.destinationKey(of: source) else { return }
            try body(source, key)
        }
    }

    /// Returns the objects that an expression gives for an object: if links are made again, those of the first time that are
    /// left.
    private func members(
        of owner: LinkEnd, _ expression: ValueExpression, _ planned: PlannedRelationship, source: Int64,
        in mapping: PlannedMapping
    ) throws -> [LinkMember] {
        let place = mapping.relationships.firstIndex { $0.name == planned.name } ?? 0
        let prefix = [UInt64(mapping.index) << 32 | UInt64(place), SortKey.encode(owner.key)]
        guard let log = objects.links.dynamicMembers else {
            return try lookups.dynamicMembers(of: owner, expression, planned, source: source, in: mapping)
        }
        var found: [LinkMember] = []
        if modelRun.validation.rejected != nil {
            try log.forEach(prefix: prefix, words: 2) {
                let end = LinkEnd(key: SortKey.decode($0[3]), entity: UInt32(truncatingIfNeeded: $0[4]))
                found.append(LinkMember(end: end))
            }
            return try found.filter { try objects.exists($0.end) }
        }
        found = try lookups.dynamicMembers(of: owner, expression, planned, source: source, in: mapping)
        for (rank, member) in found.enumerated() {
            try log.append(
                prefix[0], prefix[1], UInt64(rank), SortKey.encode(member.end.key), UInt64(member.end.entity))
        }
        return found
    }
}
