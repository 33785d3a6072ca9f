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
///       → by the rule of the pair: its links                 (``LinkTables``)
///       → where they are ordered, with places
///
/// Memory: that of ``LinkTables``.
final class ExpectedLinks {
    /// The next link; nil at the end.
    typealias Stream = () throws -> ExpectedLink?

    /// A wish of an entity mapping: that an object, the owner, have another one, the member, in a relationship.
    private struct LinkClaim {
        /// The index of the entity mapping that makes the owner.
        let mapping: Int
        let ownerSource: Int64
        /// The index of the entity mapping that makes the member.
        let candidate: Int
        /// The place of the member among those of the source object.
        let position: Int64
        let memberSource: Int64
        let owner: Int64
        let member: Int64
        /// The source's ordering key, or the value by which the members are ordered.
        var order: Int64?
    }

    private let context: VerificationContext
    private let pair: LinkPair
    private let tables: LinkTables
    private let insert: Statement
    private let insertPlace: Statement
    /// True if the near relationship of an object is set before the far one.
    private let isNearFirst: Bool
    /// True for each side whose members are ordered.
    private let isOrdered: [Bool]
    /// The mappings whose members carry the source's ordering keys, for each side.
    private var copiesOrder: [Set<Int>] = [[], []]
    /// The mappings whose members are ordered by an attribute, for each side.
    private var sorts: [Set<Int>] = [[], []]
    /// The mappings whose objects set the to-one side.
    private var deciding: Set<Int> = []
    /// The position of the mapping model at work.
    private var model = 0
    /// False if the ordering keys cannot be worked out.
    private(set) var knowsOrder = true

    init(_ context: VerificationContext, pair: LinkPair) throws(MigrationError) {
        self.context = context
        self.pair = pair
        tables = try context.storage.linkTables()
        isNearFirst = pair.near.name.unicodeScalars.lexicographicallyPrecedes((pair.far?.name ?? "").unicodeScalars)
        isOrdered = [pair.near.isOrdered, pair.far?.isOrdered == true && !pair.isReflexive]
        try tables.begin(isUnique: pair.kind != .manyToMany)
        insert = try tables.connection.prepare(Self.insertion(pair.kind))
        // An owner that finds a member several times gives it the first of its places.
        insertPlace = try tables.connection.prepare(
            """
            INSERT INTO place VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (side, owner, member) DO UPDATE SET place = excluded.place, source = excluded.source
            WHERE (coalesce(excluded.place, 9223372036854775807), excluded.source)
                < (coalesce(place, 9223372036854775807), source)
            """)
    }

    /// Returns the statement that adds a claim to those that hold so far.
    private static func insertion(_ kind: LinkPair.Kind) -> String {
        switch kind {
        // The claim of the latest mapping model counts, then that with the least rank, and so on.
        case .plainToOne, .oneToMany, .hidden:
            """
            INSERT INTO link (key, value, model, rank, source, position, member) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value, model = excluded.model, rank = excluded.rank,
                source = excluded.source, position = excluded.position, member = excluded.member, near = NULL, far = NULL
            WHERE (-excluded.model, excluded.rank, excluded.source, excluded.position, excluded.member, excluded.value)
                < (-model, rank, source, position, member, value)
            """
        case .manyToMany: "INSERT OR IGNORE INTO link (key, value, model) VALUES (?1, ?2, ?3)"
        // An object takes the first member of each relationship.
        case .oneToOne:
            """
            INSERT INTO claim VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (mapping, source, second) DO UPDATE SET candidate = excluded.candidate,
                position = excluded.position, member = excluded.member, near = excluded.near, far = excluded.far
            WHERE (excluded.candidate, excluded.position, excluded.member) < (candidate, position, member)
            """
        }
    }

    private var storage: VerificationStorage { context.storage }
    private var plan: VerificationPlan { context.plan }

    /// Works out the links. Returns the reason why the links cannot be worked out; nil if they have been.
    func work() throws -> String? {
        if let obstacle = pair.obstacle ?? plan.obstacle(of: pair) { return obstacle }
        for model in 0..<plan.modelCount {
            self.model = model
            context.manager.model = model
            deciding = []
            copiesOrder = [[], []]
            sorts = [[], []]
            try tables.connection.execute("DELETE FROM place")
            try noteLastPlaces()
            do {
                try claim(pair.near, side: 0)
                if let far = pair.far, !pair.isReflexive { try claim(far, side: 1) }
            } catch let error as MigrationError where error.category == .io || error.category == .internal {
                throw error
            } catch let obstacle as VerificationObstacle {
                return obstacle.reason
            } catch let error as MigrationError {
                return error.message
            }
            if isOrdered[0] { try arrange(pair.near, side: 0) }
            if let far = pair.far, isOrdered[1] { try arrange(far, side: 1) }
        }
        if pair.kind == .oneToOne { try linkOneToOne() }
        return nil
    }

    /// The links by ascending key.
    var links: Stream {
        get throws { try tables.links("SELECT key, value, near, far FROM link ORDER BY key, value") }
    }

    /// The links of a one-to-one pair by ascending value, with both ends exchanged.
    var exchanged: Stream {
        get throws { try tables.links("SELECT value, key, NULL, NULL FROM link ORDER BY value") }
    }

    // MARK: - Claims

    private func claim(_ relationship: RelationshipDescription, side: Int) throws {
        for (mapping, property, expression) in plan.expressions(of: relationship, model: model) {
            if !relationship.isToMany { deciding.insert(mapping.index) }
            if let step = plan.step(of: relationship, expression, mapping) {
                try claim(step, of: relationship, side, mapping)
            } else {
                try evaluate(expression, property, relationship, side, mapping)
            }
        }
    }

    /// Adds the links that one relationship of the source object gives, or the source object itself.
    private func claim(
        _ step: VerificationPlan.Step, of relationship: RelationshipDescription, _ side: Int, _ mapping: VerifiedMapping
    ) throws {
        let candidates = step.candidates.filter { isWanted($0, side) }.map {
            (index: $0.index, keys: storage.keys[$0.index])
        }
        let (index, keys) = (mapping.index, storage.keys[mapping.index])
        let isOrdered = (step.relationship?.isOrdered ?? false) && step.sorting == nil
        if isOrdered { copiesOrder[side].insert(index) }
        if step.sorting != nil { sorts[side].insert(index) }
        guard !candidates.isEmpty else { return }
        func add(_ ownerKey: Int64, _ memberKey: Int64, _ order: Int64?) throws {
            guard let owner = try keys?.destination(of: ownerKey) else { return }
            for candidate in candidates {
                guard let member = try candidate.keys?.found(of: memberKey) else { continue }
                try self.add(
                    LinkClaim(
                        mapping: index, ownerSource: ownerKey, candidate: candidate.index,
                        position: isOrdered ? order ?? .min : memberKey, memberSource: memberKey, owner: owner,
                        member: member, order: order), side)
            }
        }
        if mapping.merges, let keys {
            return try MergedSourceLinks(context: context, tables: tables, keys: keys, fills: mapping.fills)
                .forEach(step, filling: relationship, add)
        }
        if let old = step.relationship {
            guard let sorting = step.sorting else { return try context.forEachSourceLink(of: old, add) }
            // Members without a value come first.
            return try context.forEachSourceLink(of: old, orderedBy: sorting) { try add($0, $1, $2 ?? .min) }
        }
        let owners = keys?.pairs()
        while let owner = try owners?.next() { try add(owner.source, owner.source, nil) }
    }

    /// Tells whether claims for the objects of an entity mapping change anything: a to-one side that has a mapping decides
    /// alone, but not about the order.
    private func isWanted(_ candidate: VerifiedMapping, _ side: Int) -> Bool {
        pair.kind != .oneToMany || side == 0 || isOrdered[side] || !deciding.contains(candidate.index)
    }

    /// Adds a claim to those of the pair that hold so far.
    private func add(_ claim: LinkClaim, _ side: Int) throws(MigrationError) {
        if isOrdered[side] {
            try insertPlace.run(Int64(side), claim.owner, claim.member, claim.order, claim.memberSource)
        }
        let model = Int64(model)
        switch pair.kind {
        case .plainToOne: try addFirst(claim)
        case .hidden: try addLast(claim)
        case .oneToMany where side == 0: try addFirst(claim)
        case .oneToMany: if !deciding.contains(claim.candidate) { try addLast(claim) }
        case .manyToMany:
            if side == 0 { try insert.run(claim.owner, claim.member, model) }
            if side == 1 || pair.isReflexive { try insert.run(claim.member, claim.owner, model) }
        case .oneToOne:
            let (near, far) = side == 0 ? (claim.owner, claim.member) : (claim.member, claim.owner)
            try insert.run(
                Int64(claim.mapping), claim.ownerSource, isNearFirst == (side == 0) ? 0 : 1, Int64(claim.candidate),
                claim.position, claim.member, near, far)
        }
    }

    /// Adds the claim that an owner's first member be its value; of several at the same place that with the least key.
    private func addFirst(_ claim: LinkClaim) throws(MigrationError) {
        try insert.run(
            claim.owner, claim.member, Int64(model), Int64(claim.candidate), 0, claim.position, claim.member)
    }

    /// Adds the claim that a member's last owner be its value. It precedes those of first members; the complement turns the
    /// order round.
    private func addLast(_ claim: LinkClaim) throws(MigrationError) {
        try insert.run(
            claim.member, claim.owner, Int64(model), ~Int64(claim.mapping), ~claim.ownerSource, ~claim.position,
            ~claim.memberSource)
    }

    /// Adds the links that only the evaluator can work out.
    private func evaluate(
        _ expression: ValueExpression, _ property: PropertyMapping, _ relationship: RelationshipDescription,
        _ side: Int, _ mapping: VerifiedMapping
    ) throws {
        guard let entity = mapping.source, let table = plan.sourceTable(mapping) else { return }
        if relationship.isOrdered { knowsOrder = false }
        context.manager.enter(mapping)
        let rows = try context.rows(of: context.source, plan.source, table: table, entities: [entity.index])
        context.objects.pass = (table, rows)
        defer { context.objects.pass = nil }
        let owners = storage.keys[mapping.index]?.pairs()
        while let owner = try owners?.next() {
            _ = try rows.advance(to: owner.source)
            let others = try mapping.merges ? storage.keys[mapping.index]?.others(of: owner.source) ?? [] : []
            let objects = ([owner.source] + others).map {
                EvaluatedSource(entity: entity, table: table, key: $0, objects: context.objects)
            }
            // A to-one takes the member of the kept source object; its key paths may be filled.
            let sources: [NSObject] =
                relationship.isToMany ? objects : [mapping.fills ? FilledSource(objects) : objects[0]]
            let found = try sources.flatMap { object in
                ValueBridge.items(
                    of: try expression.evaluate(
                        with: object,
                        variables: [
                            "source": object, "manager": context.manager, "entityMapping": mapping.mapping,
                            "propertyMapping": property,
                        ]))
            }
            for (position, member) in found.enumerated() {
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

    /// Makes links of the claims that are the last ones of both their objects, over all mapping models.
    private func linkOneToOne() throws(MigrationError) {
        try tables.connection.execute(
            """
            INSERT INTO link (key, value) SELECT near, far FROM (
                SELECT near, far, time, max(time) OVER (PARTITION BY near) AS nearest,
                    max(time) OVER (PARTITION BY far) AS furthest
                FROM (SELECT near, far, row_number() OVER (ORDER BY mapping, source, second) AS time FROM claim))
            WHERE time = nearest AND time = furthest
            """)
    }

    /// The columns of the links that hold the owner, the member and the ordering key of a side.
    private func columns(ofSide side: Int) -> (owner: String, member: String, order: String) {
        let order = side == 0 ? "near" : "far"
        return pair.kind != .manyToMany || side == 1 ? ("value", "key", order) : ("key", "value", order)
    }

    /// Notes the highest ordering key that each owner has given before this model. New members come after it, even if the member
    /// that has it goes to another owner now.
    private func noteLastPlaces() throws(MigrationError) {
        try tables.connection.execute("DELETE FROM last_place")
        for side in [0, 1] where isOrdered[side] {
            let (owner, _, order) = columns(ofSide: side)
            try tables.connection.execute(
                "INSERT INTO last_place SELECT \(side), \(owner), max(\(order)) FROM link WHERE \(owner) IS NOT NULL GROUP BY \(owner)"
            )
        }
    }

    /// Gives the members of every owner their ordering keys.
    ///
    /// Owners made by this model: members with copied keys, or with values that order them, first, then the others by key.
    /// Existing owners: new members last.
    private func arrange(_ relationship: RelationshipDescription, side: Int) throws {
        let (owner, member, order) = columns(ofSide: side)
        try noteOwners(table: plan.destination.schema.tableIndex(of: relationship.entity), side: side)
        let members = try tables.connection.prepare(
            """
            SELECT l.\(owner), l.\(member), o.previous, l.model = \(model), o.copies = 1 AND p.owner IS NOT NULL, l.\(order), p.place,
                CASE WHEN o.previous THEN l.model = \(model) ELSE o.copies AND p.owner IS NULL END AS behind,
                CASE WHEN o.previous THEN l.\(order) WHEN o.copies = 1 AND p.owner IS NOT NULL
                    THEN coalesce(p.place, -9223372036854775807 - 1)
                    WHEN o.copies = 2 AND p.owner IS NOT NULL THEN p.place ELSE 0 END AS rank,
                h.place, CASE WHEN o.copies = 2 THEN p.source ELSE 0 END AS tie
            FROM link AS l JOIN owner AS o ON o.key = l.\(owner)
                LEFT JOIN last_place AS h ON h.side = \(side) AND h.owner = l.\(owner)
                LEFT JOIN place AS p ON p.side = \(side) AND p.owner = l.\(owner) AND p.member = l.\(member)
            ORDER BY l.\(owner), behind, rank, tie, l.\(member)
            """)
        let set = try tables.connection.prepare("UPDATE link SET \(order) = ?1 WHERE \(owner) = ?2 AND \(member) = ?3")
        var last: Int64?
        var highest: Int64 = 1024
        while try members.step() {
            let owner = members.integer(0)
            if owner != last {
                last = owner
                highest = max(1024, members.optionalInteger(9) ?? 1024)
            }
            var place: Int64?
            if members.integer(2) == 1, members.integer(3) == 0 {
                place = members.optionalInteger(5)
                highest = max(highest, place ?? highest)
            } else if members.integer(4) == 1, members.integer(2) == 0 {
                // Copied keys come in ascending order, so the last one is the highest.
                place = members.optionalInteger(6)
                highest = place ?? highest
            } else {
                let (next, overflows) = highest.addingReportingOverflow(1024)
                guard !overflows else { throw VerificationObstacle("an ordering key is out of range") }
                (place, highest) = (next, next)
            }
            try set.run(place, owner, members.integer(1))
        }
    }

    /// Notes the owners of a table that mappings make: whether a previous model's does, and whether it copies keys
    /// (1) or orders by an attribute, or by the places among the members of merged objects (2).
    private func noteOwners(table: Int, side: Int) throws(MigrationError) {
        try tables.connection.execute("DELETE FROM owner")
        let note = try tables.connection.prepare("INSERT INTO owner VALUES (?1, ?2, ?3)")
        var owners = try storage.rows(ofTable: table)
        while let owner = owners.current {
            var order: Int64 = sorts[side].contains(owner.mapping) ? 2 : 0
            if copiesOrder[side].contains(owner.mapping) {
                let merged =
                    plan.mappings[owner.mapping].merges
                    ? try storage.keys[owner.mapping]?.others(of: owner.source) ?? [] : []
                order = merged.isEmpty ? 1 : 2
            }
            try note.run(owner.key, plan.mappings[owner.mapping].model == model ? 0 : 1, order)
            try owners.advance()
        }
    }
}
