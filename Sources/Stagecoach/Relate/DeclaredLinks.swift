import Diagnostics
import ManagedModel
import PersistentStore
import Rows
import SpillStorage

/// Stage 2 of what mapping models say, on the staged path: links of relationship mappings, by the rules for inverse
/// pairs, never over what a policy set.
final class DeclaredLinks {
    private let session: MigrationSession
    private let mappings: [PlannedMapping]
    private let associations: [MappingAssociations]
    private unowned let objects: DestinationObjects
    private unowned let sources: SourceObjects

    init(
        session: MigrationSession, mappings: [PlannedMapping], associations: [MappingAssociations],
        objects: DestinationObjects, sources: SourceObjects
    ) {
        self.session = session
        self.mappings = mappings
        self.associations = associations
        self.objects = objects
        self.sources = sources
    }

    /// Evaluates the relationship mappings of one destination object.
    ///
    /// - Parameters:
    ///   - owner: the destination object.
    ///   - source: key of the source object that `$source` stands for.
    func relate(_ owner: LinkEnd, source: Int64, in mapping: PlannedMapping) throws {
        for planned in mapping.relationships {
            guard case .lookup(let argument, let candidates)? = planned.value else {
                if case .some(.none) = planned.value { try clear(owner, planned.relationship) }
                continue
            }
            var first: (candidate: Int, link: () throws -> Void)?
            try forEachArgument(argument, of: source, in: mapping) { key, order in
                try countMissing(argument.table, key)
                for (rank, candidate) in candidates.enumerated() {
                    for member in try members(of: key, table: argument.table, candidate, planned.relationship) {
                        let link = { [self] in
                            try self.link(owner, member, planned.relationship, order: order, memberMapping: candidate)
                        }
                        if planned.relationship.isToMany {
                            try link()
                        } else if let known = first {
                            session.counts.surplusToOne += 1
                            if rank < known.candidate { first = (rank, link) }
                        } else {
                            first = (rank, link)
                        }
                    }
                }
            }
            try first?.link()
        }
    }

    /// Evaluates the relationship mappings of all rows that a mapping without policy made.
    ///
    /// Relationship by relationship, each in one scan; object by object only where a one-to-one pair has both its sides in
    /// the mapping, because then the order of the links is that of the objects.
    func relateAll(_ mapping: PlannedMapping, keys: MappingKeys) throws {
        guard let entity = mapping.destination else { return }
        let number = UInt32(session.destinationSchema.number(of: entity))
        if hasInnerPair(mapping, entity) {
            try keys.forEachPair { source, key in
                try relate(LinkEnd(key: key, entity: number), source: source, in: mapping)
            }
            return
        }
        for planned in mapping.relationships {
            switch planned.value {
            case nil: break
            case .some(.none):
                try keys.forEachPair { _, key in try clear(LinkEnd(key: key, entity: number), planned.relationship) }
            case .lookup(let argument, let candidates):
                try relateAll(mapping, keys, number, planned.relationship, argument, candidates)
            }
        }
    }

    private func relateAll(
        _ mapping: PlannedMapping, _ keys: MappingKeys, _ number: UInt32, _ relationship: RelationshipDescription,
        _ argument: SourceArgument, _ candidates: [Int]
    ) throws {
        // Words: owner, candidate's rank, place, member, its Z_ENT, candidate.
        let firsts = relationship.isToMany ? nil : session.sorter(width: 6)
        var counts = ReferenceCounts()
        try SourcePairs(session: session).forEach(mapping, keys, argument) { source, key, order in
            guard let owner = try keys.destinationKey(of: source) else { return }
            var isFound = false
            for (rank, candidate) in candidates.enumerated() {
                for member in try members(of: key, table: argument.table, candidate, relationship) {
                    isFound = true
                    if let firsts {
                        try firsts.append(
                            SortKey.encode(owner), UInt64(rank), order.rank(orKey: key), SortKey.encode(member.key),
                            UInt64(member.entity), UInt64(candidate))
                    } else {
                        try link(
                            LinkEnd(key: owner, entity: number), member, relationship, order: order,
                            memberMapping: candidate)
                    }
                }
            }
            guard !isFound else { return }
            if try session.sourceKeys?.byTable[argument.table]?.contains(key) ?? true {
                counts.unmigrated += 1
            } else {
                counts.dangling += 1
            }
        }
        if let firsts { counts.surplus = try linkFirsts(try firsts.finish(), number, relationship) }
        session.add(counts)
    }

    /// Links every owner of a to-one to the first object found for it.
    ///
    /// - Returns: how many further ones there were.
    private func linkFirsts(
        _ sorted: SortedRecords, _ number: UInt32, _ relationship: RelationshipDescription
    ) throws -> Int {
        var surplus = 0
        try withRecords(6) { record, _ in
            var previous: UInt64?
            while try sorted.next(into: record) {
                guard previous != record[0] else {
                    surplus += 1
                    continue
                }
                previous = record[0]
                try link(
                    LinkEnd(key: SortKey.decode(record[0]), entity: number),
                    LinkEnd(key: SortKey.decode(record[3]), entity: UInt32(truncatingIfNeeded: record[4])),
                    relationship,
                    order: .none, memberMapping: Int(record[5]))
            }
        }
        return surplus
    }

    private func hasInnerPair(_ mapping: PlannedMapping, _ entity: EntityDescription) -> Bool {
        mapping.relationships.contains { planned in
            guard !planned.relationship.isToMany, case .lookup? = planned.value,
                let inverse = LinkPlanner.mutualInverse(of: planned.relationship), !inverse.isToMany,
                inverse != planned.relationship
            else { return false }
            return mapping.relationship(named: inverse.name)?.relationship == inverse
        }
    }

    /// The destination objects that a candidate made of a source object, where they fit the relationship.
    private func members(
        of key: Int64, table: Int, _ candidate: Int, _ relationship: RelationshipDescription
    ) throws(MigrationError) -> [LinkEnd] {
        var found: [ObjectReference] = []
        try associations[candidate].destinations(ofKey: key, table: table, into: &found)
        let schema = session.destinationSchema
        return found.compactMap { reference in
            let entity = schema.model.entity(at: Int(reference.entity))
            guard entity.isKindOf(entity: relationship.destination) else { return nil }
            return LinkEnd(key: reference.key, entity: UInt32(schema.number(of: entity)))
        }
    }

    /// The source objects of a lookup's argument: key, and place in an ordered relationship.
    private func forEachArgument(
        _ argument: SourceArgument, of source: Int64, in mapping: PlannedMapping,
        _ body: (Int64, MemberOrder) throws -> Void
    ) throws {
        guard let table = mapping.sourceTable else { return }
        switch argument {
        case .object: try body(source, .none)
        case .toOne(let steps, let column, let target, _):
            let path = steps + [ToOneStep(column: column, destinationTable: target)]
            if let end = try follow(path, from: (table, source)) { try body(end.key, .none) }
        case .toMany(let steps, let relationship, _):
            guard let end = try follow(steps, from: (table, source)) else { return }
            var rank: Int64 = 0
            try sources.forEachMember(of: end.key, relationship) { key, order, _ in
                let place: MemberOrder
                if !relationship.isOrdered {
                    place = .none
                } else if steps.isEmpty {
                    place = order.map(MemberOrder.key) ?? .null
                } else {
                    place = .rank(rank)
                }
                rank += 1
                try body(key, place)
            }
        }
    }

    /// The row that to-one steps lead to; nil where one is nil.
    private func follow(
        _ steps: [ToOneStep], from start: (table: Int, key: Int64)
    ) throws(MigrationError) -> (table: Int, key: Int64)? {
        var current = start
        for step in steps {
            let cell = try sources.read(table: current.table, key: current.key) { batch, row throws(MigrationError) in
                batch[row, step.column]
            }
            guard let cell, cell.kind == .integer else { return nil }
            current = (step.destinationTable, cell.integerValue)
        }
        return current
    }

    private func countMissing(_ table: Int, _ key: Int64) throws(MigrationError) {
        guard let existing = session.sourceKeys?.byTable[table], try !existing.contains(key) else { return }
        session.counts.danglingReferences += 1
    }

    /// A constant nil sets nil.
    private func clear(_ owner: LinkEnd, _ relationship: RelationshipDescription) throws(MigrationError) {
        guard let (store, side) = objects.links.store(of: relationship), try !store.isTouched(owner.key, side: side)
        else {
            return
        }
        guard !relationship.isToMany, LinkPlanner.mutualInverse(of: relationship)?.isToMany ?? true else { return }
        for view in try store.partners(of: owner.key, side: side) { try store.remove(owner, view.partner, side: side) }
    }

    /// Makes one link by the rules for its pair.
    private func link(
        _ owner: LinkEnd, _ member: LinkEnd, _ relationship: RelationshipDescription, order: MemberOrder,
        memberMapping: Int
    ) throws {
        guard let (store, side) = objects.links.store(of: relationship) else { return }
        if objects.hasDeletions {
            guard try objects.exists(owner), try objects.exists(member) else { return }
        }
        let inverse = LinkPlanner.mutualInverse(of: relationship)
        let isOneToManySide = relationship.isToMany && inverse.map { !$0.isToMany } ?? false
        if isOneToManySide, let inverse, decides(memberMapping, inverse) {
            // The to-one side's mapping decides; this side gives only the place.
            if !order.isNone {
                try store.givenOrders.append(
                    SortKey.encode(owner.key), SortKey.encode(member.key), order.words.kind, order.words.value, 0)
            }
            return
        }
        guard try !store.isTouched(owner.key, side: side), try !store.isTouched(member.key, side: side.other) else {
            return
        }
        if !relationship.isToMany {
            for view in try store.partners(of: owner.key, side: side) where view.partner.key != member.key {
                try store.remove(owner, view.partner, side: side)
            }
        }
        try objects.links.unlinkExclusive(store, member, from: side.other, but: owner)
        try store.add(owner, member, side: side, orderOfPartner: order)
    }

    /// Whether the mapping that made a member says itself which owner it has.
    private func decides(_ mapping: Int, _ toOne: RelationshipDescription) -> Bool {
        guard let planned = mappings[mapping].relationship(named: toOne.name), planned.relationship == toOne else {
            return false
        }
        return planned.value != nil
    }
}
