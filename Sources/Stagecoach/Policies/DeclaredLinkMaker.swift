import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import SpillStorage

/// Makes the links of mappings without a policy on the policy path. They follow the rules for inverse pairs, not the order of
/// calls.
final class DeclaredLinkMaker {
    private let modelRun: ModelRun
    private let mappings: [PlannedMapping]
    private let associations: [MappingAssociations]
    private unowned let objects: DestinationObjects
    private let lookups: MemberLookups
    /// True if an object may have links from a mapping that did not make it.
    private let isShared: Bool
    /// Tells whether the links of a store are made now.
    private let makes: (LinkStore) -> Bool

    init(
        modelRun: ModelRun, mappings: [PlannedMapping], associations: [MappingAssociations],
        objects: DestinationObjects, lookups: MemberLookups, makes: @escaping (LinkStore) -> Bool
    ) {
        self.modelRun = modelRun
        self.mappings = mappings
        self.associations = associations
        self.objects = objects
        self.lookups = lookups
        self.makes = makes
        isShared = associations.contains { $0.keys != nil && $0.hasPairs }
    }

    /// Makes the links of all such mappings, and gives the members of ordered relationships their places.
    func run() throws {
        for mapping in mappings where mapping.isDeclarative {
            try modelRun.services.checkCancelled()
            let own = associations[mapping.index]
            if let keys = own.keys { try relateAll(mapping, keys: keys) }
            let cursor = try own.pairs.destinationsInOrderOfFirstAssociation()
            while let pair = try cursor.next() {
                let entity = modelRun.inputs.destinationSchema.model.entity(at: Int(pair.destination.entity))
                let end = LinkEnd(
                    key: pair.destination.key, entity: UInt32(modelRun.inputs.destinationSchema.number(of: entity)))
                try relate(end, source: pair.source.key, in: mapping)
            }
        }
        let placement = LinkPlacement(run: modelRun.run)
        for store in objects.links.all where makes(store) { try placement.place(store) }
    }

    /// The relationships of a mapping whose links are made now.
    private func relationships(of mapping: PlannedMapping) -> [PlannedRelationship] {
        if let last, last.mapping === mapping { return last.relationships }
        let made = mapping.relationships.filter { planned in
            objects.links.store(of: planned.relationship).map { makes($0.store) } ?? false
        }
        last = (mapping, made)
        return made
    }
    private var last: (mapping: PlannedMapping, relationships: [PlannedRelationship])?

    /// Evaluates the relationship mappings of one destination object of a mapping without a policy.
    ///
    /// - Parameters:
    ///   - owner: the destination object.
    ///   - source: the key of the source object that `$source` stands for.
    private func relate(_ owner: LinkEnd, source: Int64, in mapping: PlannedMapping) throws {
        if objects.hasDeletions, try !objects.exists(owner) { return }
        for planned in relationships(of: mapping) {
            switch planned.value {
            case nil: break
            case .some(.none): try clear(owner, planned.relationship)
            case .dynamic(let expression): try link(owner, expression, planned, source: source, in: mapping)
            case .lookup(let argument, let candidates):
                try lookups.forEachMember(
                    lookups.lookup(argument, candidates, for: planned.relationship), for: owner, of: source,
                    in: mapping
                ) { member, order, candidate in
                    try link(owner, member, planned.relationship, order: order, memberMapping: candidate)
                }
            }
        }
    }

    /// Evaluates the relationship mappings of all rows that a mapping without a policy made.
    ///
    /// Works relationship by relationship, each in one scan. It works object by object only if both sides of a one-to-one pair
    /// are in the mapping, because the order of those links is the order of the objects.
    private func relateAll(_ mapping: PlannedMapping, keys: DestinationKeys) throws {
        guard let entity = mapping.destination else { return }
        let number = UInt32(modelRun.inputs.destinationSchema.number(of: entity))
        if hasInnerPair(mapping, entity) {
            try forEachOwner(mapping, keys) { source, key in
                try relate(LinkEnd(key: key, entity: number), source: source, in: mapping)
            }
            return
        }
        for planned in relationships(of: mapping) {
            switch planned.value {
            case nil: break
            case .some(.none):
                try keys.forEachPair { _, key in try clear(LinkEnd(key: key, entity: number), planned.relationship) }
            case .dynamic(let expression):
                try forEachOwner(mapping, keys) { source, key in
                    try link(
                        LinkEnd(key: key, entity: number), expression, planned, source: source, in: mapping)
                }
            case .lookup(let argument, let candidates):
                try relateAll(mapping, keys, number, planned.relationship, argument, candidates)
            }
        }
    }

    private func relateAll(
        _ mapping: PlannedMapping, _ keys: DestinationKeys, _ number: UInt32, _ relationship: RelationshipDescription,
        _ argument: SourceArgument, _ candidates: [Int]
    ) throws {
        // A to-one takes the first object that is found. If policies merged several sources into one object, the links of a
        // to-many must come in the order of their owners, because the last owner wins. Words: owner, candidate's rank, place,
        // sequence, member, its Z_ENT and candidate, the two words of its place.
        let lookup = lookups.lookup(argument, candidates, for: relationship)
        let isSorted = !relationship.isToMany || candidates.contains { associations[$0].hasPairs }
        let sorter = isSorted ? modelRun.services.sorter(width: 8) : nil
        var sequence: UInt64 = 0
        try SourcePairs(run: modelRun.run).forEach(mapping, keys.index, argument) { source, key, order in
            guard let owner = try keys.destinationKey(of: source) else { return }
            var isFound = false
            for (rank, maker) in lookup.makers.all.enumerated() {
                let candidate = maker.index
                try lookups.forEachCandidate(of: key, table: argument.table, maker, lookup) { member in
                    if objects.hasDeletions, try !objects.exists(member) { return }
                    isFound = true
                    guard let sorter else {
                        return try link(
                            LinkEnd(key: owner, entity: number), member, relationship, order: order,
                            memberMapping: candidate)
                    }
                    sequence += 1
                    try sorter.append(
                        SortKey.encode(owner), relationship.isToMany ? 0 : UInt64(rank), order.rank(orKey: key),
                        sequence, SortKey.encode(member.key), UInt64(member.entity) << 32 | UInt64(candidate),
                        order.words.kind, order.words.value)
                }
            }
            if !isFound { try lookups.countMissing(argument, key, relationship, of: owner) }
        }
        if let sorter {
            lookups.countFurther(try link(try sorter.finish(), number, relationship), of: relationship)
        }
    }

    /// Links each owner to the objects found for it, owner by owner; in a to-one relationship to the first object.
    ///
    /// - Returns: the number of further objects found for a to-one relationship.
    private func link(_ sorted: SortedRecords, _ number: UInt32, _ relationship: RelationshipDescription) throws -> Int
    {
        var surplus = 0
        try withRecords(8) { record, _ in
            var previous: (owner: UInt64, member: UInt64)?
            var others = FurtherKeys()
            while try sorted.next(into: record) {
                if !relationship.isToMany, let previous, previous.owner == record[0] {
                    let (first, member) = (SortKey.decode(previous.member), SortKey.decode(record[4]))
                    if others.insert(member, beside: first) { surplus += 1 }
                    continue
                }
                previous = (record[0], record[4])
                others.removeAll()
                let owner = LinkEnd(key: SortKey.decode(record[0]), entity: number)
                let member = LinkEnd(
                    key: SortKey.decode(record[4]), entity: UInt32(truncatingIfNeeded: record[5] >> 32))
                let order = MemberOrder(kind: record[6], value: record[7])
                if relationship.isOrdered, try hasPlace(member, in: owner, relationship) { continue }
                try link(
                    owner, member, relationship, order: relationship.isToMany ? order : .none,
                    memberMapping: Int(UInt32(truncatingIfNeeded: record[5])))
            }
        }
        return surplus
    }

    /// Tells whether the owner already has a link with a place to the member. An object that is found twice keeps its first
    /// place.
    private func hasPlace(
        _ member: LinkEnd, in owner: LinkEnd, _ relationship: RelationshipDescription
    ) throws(MigrationError) -> Bool {
        guard let (store, side) = objects.links.store(of: relationship) else { return false }
        return try store.partners(of: member.key, side: side.other).contains {
            $0.partner.key == owner.key && !$0.orderOfObject.isNone
        }
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

    /// Links an owner to the objects that an expression gives, by the rules for mappings without a policy.
    private func link(
        _ owner: LinkEnd, _ expression: ValueExpression, _ planned: PlannedRelationship, source: Int64,
        in mapping: PlannedMapping
    ) throws {
        let found = try members(of: owner, expression, planned, source: source, in: mapping)
        if found.isEmpty { return try clear(owner, planned.relationship) }
        for (rank, member) in found.enumerated() {
            try link(
                owner, member.end, planned.relationship,
                order: planned.relationship.isOrdered ? .rank(Int64(rank)) : .none,
                memberMapping: try maker(of: member.end) ?? -1)
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

    private func hasInnerPair(_ mapping: PlannedMapping, _ entity: EntityDescription) -> Bool {
        relationships(of: mapping).contains { planned in
            guard !planned.relationship.isToMany, planned.findsMembers,
                let inverse = LinkPlanner.mutualInverse(of: planned.relationship), !inverse.isToMany,
                inverse != planned.relationship
            else { return false }
            return mapping.relationship(named: inverse.name)?.relationship == inverse
        }
    }

    /// Applies a constant nil: clears the relationship of an object.
    private func clear(_ owner: LinkEnd, _ relationship: RelationshipDescription) throws(MigrationError) {
        guard let (store, side) = objects.links.store(of: relationship), !relationship.isToMany,
            LinkPlanner.mutualInverse(of: relationship)?.isToMany ?? true
        else { return }
        if store.isPlain { return try store.reset(owner, side: side) }
        for view in try store.partners(of: owner.key, side: side) { try store.remove(owner, view.partner, side: side) }
    }

    /// Makes one link by the rules for its inverse pair.
    private func link(
        _ owner: LinkEnd, _ member: LinkEnd, _ relationship: RelationshipDescription, order: MemberOrder,
        memberMapping: Int
    ) throws {
        guard let (store, side) = objects.links.store(of: relationship) else { return }
        if objects.hasDeletions {
            guard try objects.exists(owner) else { return }
        }
        let inverse = store.isReflexive ? store.first : store.relationship(of: side.other)
        let isOneToManySide = relationship.isToMany && inverse.map { !$0.isToMany } ?? false
        if isOneToManySide, let inverse, decides(memberMapping, inverse) {
            // The mapping of the to-one side decides. This side gives only the place.
            if !order.isNone {
                try store.givenOrders.append(
                    SortKey.encode(owner.key), SortKey.encode(member.key), order.words.kind, order.words.value, 0)
            }
            return
        }
        if store.isPlain { return try store.add(owner, member, side: side) }
        // An object whose mapping sets a to-one relationship has no link of it yet, unless objects are shared.
        if !relationship.isToMany, isShared || !(inverse?.isToMany ?? true) {
            for view in try store.partners(of: owner.key, side: side) where view.partner.key != member.key {
                try store.remove(owner, view.partner, side: side)
            }
        }
        try objects.links.unlinkExclusive(store, member, from: side.other, but: owner)
        try store.add(owner, member, side: side, orderOfPartner: order)
    }

    /// Tells whether the mapping that made a member sets the member's owner itself.
    private func decides(_ mapping: Int, _ toOne: RelationshipDescription) -> Bool {
        guard mappings.indices.contains(mapping), mappings[mapping].isDeclarative,
            let planned = mappings[mapping].relationship(named: toOne.name),
            planned.relationship == toOne
        else { return false }
        return planned.value != nil
    }
}
