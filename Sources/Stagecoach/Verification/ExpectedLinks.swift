import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Works out the links of one pair of relationships, mapping model by mapping model, by the rules of declarative
/// mappings. In a one-to-many pair the to-one side decides if it has a mapping, else the last owner. A many-to-many
/// pair gets the union of both sides. In a one-to-one pair a later link removes the previous links of both its objects.
///
///     the source's columns and join tables, or an expression's results
///       → claims, with the keys of owner and member          (``LinkClaim``)
///       → sorted by the rule of the pair: its links          (``ValueClaim``, ``KeyPair``, ``SequencedClaim``)
///       → where they are ordered, with places, sorted again  (``PlacedMember``)
///
/// Memory: four sorts at most.
final class ExpectedLinks {
    /// The next link; nil at the end.
    typealias Stream = () throws -> ExpectedLink?

    private let scene: VerificationContext
    private let pair: LinkPair
    private let isReflexive: Bool
    /// True if the near relationship of an object is set before the far one.
    private let isNearFirst: Bool
    /// True for a side and mapping whose members carry the source's ordering keys.
    private var copiesOrder: [Int: Bool] = [:]
    /// The mappings whose objects set the to-one side.
    private var deciding: Set<Int> = []
    /// False if the ordering keys cannot be worked out.
    private(set) var knowsOrder = true
    /// The links by ascending key.
    private(set) var links: Stream = { nil }
    /// The links of a one-to-one pair by ascending value, with both ends exchanged.
    private(set) var exchanged: Stream = { nil }

    // The claims of the mapping model at work; only those that the pair's kind needs.
    private var values: RecordSort<ValueClaim>?
    private var pairs: RecordSort<KeyPair>?
    private var sequence: RecordSort<SequencedClaim>?
    /// The places that the source gives the members of each ordered side.
    private var places: [RecordSort<ClaimedPlace>?] = [nil, nil]

    init(_ scene: VerificationContext, pair: LinkPair) {
        self.scene = scene
        self.pair = pair
        isReflexive = pair.isReflexive
        isNearFirst = pair.near.name.unicodeScalars.lexicographicallyPrecedes((pair.far?.name ?? "").unicodeScalars)
    }

    private var storage: VerificationStorage { scene.storage }
    private var plan: VerificationPlan { scene.plan }

    /// Works out the links.
    ///
    /// - Returns: the reason why the links cannot be worked out; nil if they have been.
    func work() throws -> String? {
        if let obstacle = pair.obstacle ?? plan.obstacle(of: pair) { return obstacle }
        for turn in 0..<plan.turns {
            scene.manager.turn = turn
            deciding = []
            copiesOrder = [:]
            beginClaims()
            do {
                try claim(pair.near, side: 0, turn: turn)
                if let far = pair.far, !pair.isReflexive { try claim(far, side: 1, turn: turn) }
            } catch let error as MigrationError where error.category == .io || error.category == .internal {
                throw error
            } catch let obstacle as VerificationObstacle {
                return obstacle.reason
            } catch let error as MigrationError {
                return error.message
            }
            try resolve(turn)
            if pair.near.isOrdered { try arrange(side: 0, turn: turn) }
            if let far = pair.far, far.isOrdered, !pair.isReflexive { try arrange(side: 1, turn: turn) }
        }
        return nil
    }

    private func beginClaims() {
        switch pair.kind {
        case .plainToOne, .oneToMany, .hidden: values = storage.sort(ValueClaim.self)
        case .manyToMany: pairs = storage.sort(KeyPair.self, duplicates: .dropped)
        case .oneToOne: sequence = storage.sort(SequencedClaim.self)
        }
        let ordered = [pair.near.isOrdered, pair.far?.isOrdered == true && !pair.isReflexive]
        places = ordered.map { $0 ? storage.sort(ClaimedPlace.self) : nil }
    }

    // MARK: - Claims

    private func claim(_ relationship: RelationshipDescription, side: Int, turn: Int) throws {
        for mapping in plan.own(turn) {
            guard mapping.isDeclarative, let entity = mapping.destination, entity.isKindOf(entity: relationship.entity),
                let property = mapping.mapping.relationshipMapping(named: relationship.name),
                let expression = property.valueExpression
            else { continue }
            if !relationship.isToMany { deciding.insert(mapping.index) }
            if let step = plan.step(of: relationship, expression, mapping) {
                try claim(step, side, mapping)
            } else {
                try evaluate(expression, property, relationship, side, mapping)
            }
        }
    }

    /// Adds the links that one relationship of the source object gives, or the source object itself.
    private func claim(_ step: VerificationPlan.Step, _ side: Int, _ mapping: VerifiedMapping) throws {
        let candidates = step.candidates.filter { isWanted($0, side) }.map {
            (index: $0.index, keys: storage.keys[$0.index])
        }
        let (index, keys) = (mapping.index, storage.keys[mapping.index])
        let isOrdered = step.relationship?.isOrdered ?? false
        copiesOrder[side * 1_000_000 + index] = isOrdered
        guard !candidates.isEmpty else { return }
        func add(_ ownerKey: Int64, _ memberKey: Int64, _ order: Int64?) throws {
            guard let owner = try keys?.destination(of: ownerKey) else { return }
            for candidate in candidates {
                guard let member = try candidate.keys?.destination(of: memberKey) else { continue }
                try self.add(
                    LinkClaim(
                        mapping: index, ownerSource: ownerKey, candidate: candidate.index,
                        position: isOrdered ? order ?? .min : memberKey, memberSource: memberKey, owner: owner,
                        member: member, order: order), side)
            }
        }
        if let old = step.relationship { return try eachLink(of: old, add) }
        let owners = keys?.pairs()
        while let owner = try owners?.next() { try add(owner.source, owner.source, nil) }
    }

    /// Tells whether claims for the objects of an entity mapping change anything: a to-one side that has a mapping decides
    /// alone, but not about the order.
    private func isWanted(_ candidate: VerifiedMapping, _ side: Int) -> Bool {
        pair.kind != .oneToMany || side == 0 || places[side] != nil || !deciding.contains(candidate.index)
    }

    /// Calls a closure with the owner, the member and the ordering key of each link of a source's relationship.
    private func eachLink(
        of old: RelationshipDescription, _ body: (Int64, Int64, Int64?) throws -> Void
    ) throws {
        let found = plan.source
        switch found.schema.storage(of: old) {
        case .toOne(let table, let column, _, _):
            let rows = try scene.rows(of: scene.source, found, table: table, columns: [column])
            while try rows.advance() {
                if let member = rows.integer(0) { try body(rows.key, member, nil) }
            }
        case .toManyByInverse(let table, let column, _, let order), .toManyHidden(let table, let column, let order):
            let order = old.isOrdered ? order : nil
            let rows = try scene.rows(
                of: scene.source, found, table: table, columns: [column] + (order.map { [$0] } ?? []))
            while try rows.advance() {
                if let owner = rows.integer(0) { try body(owner, rows.key, order == nil ? nil : rows.integer(1)) }
            }
        case .join(let table, let ownerSide):
            let place = found.joinTables[table]
            let (owner, member) = (place.sides[ownerSide], place.sides[1 - ownerSide])
            let key = old.isOrdered ? member.orderColumn.map(SQLName.quoted) ?? "NULL" : "NULL"
            let rows = try scene.source.query(
                "SELECT \(SQLName.quoted(owner.column)), \(SQLName.quoted(member.column)), \(key) FROM \(SQLName.quoted(place.name))"
            )
            var count = 0
            while try rows.step() {
                count += 1
                if count % 1024 == 0 { try scene.checkCancelled() }
                guard !rows.isNull(0), !rows.isNull(1) else { continue }
                try body(rows.integer(0), rows.integer(1), rows.isNull(2) ? nil : rows.integer(2))
            }
        case .none: return
        }
    }

    /// Adds a claim to the sorts that the pair's kind needs.
    private func add(_ claim: LinkClaim, _ side: Int) throws(MigrationError) {
        try places[side]?.append(ClaimedPlace(owner: claim.owner, member: claim.member, order: claim.order))
        switch pair.kind {
        case .plainToOne: try values?.append(ValueClaim(first: claim))
        case .hidden: try values?.append(ValueClaim(last: claim))
        case .oneToMany:
            if side == 0 {
                try values?.append(ValueClaim(first: claim))
            } else if !deciding.contains(claim.candidate) {
                try values?.append(ValueClaim(last: claim))
            }
        case .manyToMany:
            if side == 0 { try pairs?.append(KeyPair(first: claim.owner, second: claim.member)) }
            if side == 1 || isReflexive { try pairs?.append(KeyPair(first: claim.member, second: claim.owner)) }
        case .oneToOne:
            try sequence?.append(
                SequencedClaim(
                    mapping: claim.mapping, ownerSource: claim.ownerSource,
                    sides: isNearFirst == (side == 0) ? side : 2 + side,
                    candidate: claim.candidate, position: claim.position, memberSource: claim.memberSource,
                    owner: claim.owner, member: claim.member))
        }
    }

    /// Adds the links that only the evaluator can work out.
    private func evaluate(
        _ expression: ValueExpression, _ property: PropertyMapping, _ relationship: RelationshipDescription,
        _ side: Int, _ mapping: VerifiedMapping
    ) throws {
        guard let entity = mapping.source, let table = plan.sourceTable(mapping) else { return }
        if relationship.isOrdered { knowsOrder = false }
        scene.manager.enter(mapping)
        let rows = try scene.rows(
            of: scene.source, plan.source, table: table, entities: [entity.index])
        scene.objects.pass = (table, rows)
        defer { scene.objects.pass = nil }
        let owners = storage.keys[mapping.index]?.pairs()
        while let owner = try owners?.next() {
            _ = try rows.advance(to: owner.source)
            let object = EvaluatedSource(entity: entity, table: table, key: owner.source, objects: scene.objects)
            let value = try expression.evaluate(
                with: object,
                variables: [
                    "source": object, "manager": scene.manager, "entityMapping": mapping.mapping,
                    "propertyMapping": property,
                ])
            let members: [Any]
            switch ValueBridge.unwrapped(value) {
            case nil: members = []
            case let array as [Any]: members = array
            case let set as NSOrderedSet: members = set.array
            case let set as NSSet: members = set.allObjects
            case let one?: members = [one]
            }
            for (position, member) in members.enumerated() {
                guard let result = member as? VerifiedResult else {
                    throw VerificationObstacle("its expression gives other objects than those of a lookup")
                }
                let candidate = plan.mappings[result.mapping]
                guard candidate.destination?.isKindOf(entity: relationship.destination) == true,
                    isWanted(candidate, side)
                else { continue }
                try add(
                    LinkClaim(
                        mapping: mapping.index, ownerSource: owner.source, candidate: result.mapping,
                        position: Int64(position), memberSource: result.sourceKey, owner: owner.destination,
                        member: result.key), side)
            }
        }
    }

    // MARK: - Links

    /// Makes the links from the claims of a mapping model and the links before it.
    private func resolve(_ turn: Int) throws {
        let before = links
        let isFirst = turn == 0
        switch pair.kind {
        case .plainToOne, .oneToMany, .hidden:
            guard let sorted = try values?.finish() else { return }
            var last: Int64?
            let fresh: Stream = {
                while let claim = try sorted.next() {
                    guard claim.key != last else { continue }
                    last = claim.key
                    return ExpectedLink(key: claim.key, value: claim.value, turn: turn)
                }
                return nil
            }
            links = try isFirst ? fresh : Self.merged(fresh, before) { $0.key < $1.key }
        case .manyToMany:
            guard let sorted = try pairs?.finish() else { return }
            let fresh: Stream = {
                try sorted.next().map { ExpectedLink(key: $0.first, value: $0.second, turn: turn) }
            }
            links = try isFirst ? fresh : Self.merged(before, fresh) { ($0.key, $0.value) < ($1.key, $1.value) }
        case .oneToOne: try resolveOneToOne(after: before, turn)
        }
        (values, pairs, sequence) = (nil, nil, nil)
    }

    /// Merges two streams. Of links that neither precedes the other, that of the first stream counts.
    private static func merged(
        _ first: @escaping Stream, _ second: @escaping Stream,
        _ precedes: @escaping (ExpectedLink, ExpectedLink) -> Bool
    ) throws -> Stream {
        var (one, other) = (try first(), try second())
        return {
            switch (one, other) {
            case (nil, nil): return nil
            case (let link?, let next?) where !precedes(next, link):
                if !precedes(link, next) { other = try second() }
                one = try first()
                return link
            case (_, let next?):
                other = try second()
                return next
            case (let link?, nil):
                one = try first()
                return link
            }
        }
    }

    /// Keeps the links that are the last ones of both their objects.
    private func resolveOneToOne(after before: Stream, _ turn: Int) throws {
        guard let claims = try sequence?.finish() else { return }
        let byNear = storage.sort(TimedLink.self)
        var time = 0
        while let link = try before() {
            try byNear.append(TimedLink(end: link.key, time: time, other: link.value))
            time += 1
        }
        var last: (isNear: Bool, owner: Int64)?
        while let claim = try claims.next() {
            if let last, last == (claim.isNear, claim.owner) { continue }
            last = (claim.isNear, claim.owner)
            let (near, far) = claim.isNear ? (claim.owner, claim.member) : (claim.member, claim.owner)
            try byNear.append(TimedLink(end: near, time: time, other: far))
            time += 1
        }
        let byFar = storage.sort(TimedLink.self)
        let nearSorted = try byNear.finish()
        while let link = try nearSorted.next() {
            let isLast = nearSorted.current?.end != link.end
            try byFar.append(TimedLink(end: link.other, time: link.time, other: link.end, last: isLast ? 1 : 0))
        }
        let (made, exchanged) = (storage.sort(KeyPair.self), storage.sort(KeyPair.self))
        let farSorted = try byFar.finish()
        while let link = try farSorted.next() {
            guard link.last == 1, farSorted.current?.end != link.end else { continue }
            try made.append(KeyPair(first: link.other, second: link.end))
            try exchanged.append(KeyPair(first: link.end, second: link.other))
        }
        let (nears, fars) = (try made.finish(), try exchanged.finish())
        links = { try nears.next().map { ExpectedLink(key: $0.first, value: $0.second, turn: turn) } }
        self.exchanged = { try fars.next().map { ExpectedLink(key: $0.first, value: $0.second, turn: turn) } }
    }

    // MARK: - Order

    /// Gives the members of every owner their ordering keys.
    ///
    /// Owners made by this model: members with copied keys first, then the others by key. Existing owners: new members last.
    private func arrange(side: Int, turn: Int) throws {
        let relationship = side == 0 ? pair.near : pair.far ?? pair.near
        // Links are put in order with the owner as their key and the member's place as the near one.
        let isTurned = pair.kind != .manyToMany || side == 1
        let owned = storage.sort(ExpectedLink.self)
        while let link = try links() { try owned.append(link.exchanged(ends: isTurned, places: side == 1)) }
        var sequence = 0
        let arranged = storage.sort(ExpectedLink.self)
        func add(_ link: ExpectedLink) throws {
            var link = link.exchanged(ends: isTurned, places: side == 1)
            link.sequence = sequence
            try arranged.append(link)
            sequence += 1
        }
        let placed = storage.sort(PlacedMember.self)
        let table = plan.destination.schema.tableIndex(of: relationship.entity)
        try joinPlaces(try owned.finish(), table: table, side: side, turn: turn, into: placed, other: add)
        var owner: Int64?
        var highest: Int64 = 1024
        let members = try placed.finish()
        while let member = try members.next() {
            if member.owner != owner {
                owner = member.owner
                highest = 1024
            }
            var place = member.place
            switch member.kind {
            case .earlier: highest = max(highest, place ?? highest)
            // Copied keys come in ascending order, so the last one is the highest.
            case .given: highest = place ?? highest
            case .next:
                let (next, overflows) = highest.addingReportingOverflow(1024)
                guard !overflows else { throw VerificationObstacle("an ordering key is out of range") }
                highest = next
                place = next
            }
            try add(member.link(at: place))
        }
        let sorted = try arranged.finish()
        links = {
            while let link = try sorted.next() {
                if let next = sorted.current, next.key == link.key, next.value == link.value { continue }
                return link
            }
            return nil
        }
    }

    /// Adds the place that decides to each link: that of the source, that of an earlier mapping model, or none.
    ///
    /// - Parameter other: receives the links whose owner no mapping makes.
    private func joinPlaces(
        _ links: RecordStream<ExpectedLink>, table: Int, side: Int, turn: Int, into placed: RecordSort<PlacedMember>,
        other: (ExpectedLink) throws -> Void
    ) throws {
        let claims = try places[side]?.finish()
        places[side] = nil
        var owners = try storage.rows(ofTable: table)
        while let link = try links.next() {
            while let claim = claims?.current, (claim.owner, claim.member) < (link.key, link.value) {
                try claims?.advance()
            }
            guard let maker = try owners.advance(to: link.key)?.mapping else {
                try other(link)
                continue
            }
            let isEarlier = plan.mappings[maker].turn != turn
            let copies = copiesOrder[side * 1_000_000 + maker] == true
            func add(_ claim: ClaimedPlace?) throws(MigrationError) {
                let member: PlacedMember
                if isEarlier {
                    let isNew = link.turn == turn
                    member = PlacedMember(
                        link, isBehind: isNew, rank: link.nearOrder, kind: isNew ? .next : .earlier,
                        place: link.nearOrder)
                } else if copies, let claim {
                    member = PlacedMember(
                        link, isBehind: false, rank: claim.order ?? .min, kind: .given, place: claim.order)
                } else {
                    member = PlacedMember(link, isBehind: copies, rank: 0, kind: .next, place: nil)
                }
                try placed.append(member)
            }
            var hasClaim = false
            while let claim = claims?.current, (claim.owner, claim.member) == (link.key, link.value) {
                hasClaim = true
                try add(claim)
                try claims?.advance()
            }
            if !hasClaim { try add(nil) }
        }
    }
}
