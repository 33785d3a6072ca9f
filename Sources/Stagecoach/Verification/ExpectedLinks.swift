import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Works out the links of one pair of relationships, mapping model by mapping model, by the rules of declarative
/// mappings. In a one-to-many pair the to-one side decides if it has a mapping, else the last owner. A many-to-many
/// pair gets the union of both sides. In a one-to-one pair a later link removes the previous links of both its objects.
///
/// Memory: that of the ledger; claims and sorts are on disk.
final class ExpectedLinks {
    private let scene: VerificationContext
    private(set) var pair: LinkPair
    /// True for a side and mapping whose members carry the source's ordering keys.
    private var copiesOrder: [Int: Bool] = [:]
    /// The mappings whose objects set the to-one side.
    private var deciding: Set<Int> = []
    /// False if the ordering keys cannot be worked out.
    private(set) var knowsOrder = true

    init(_ scene: VerificationContext, pair: LinkPair) {
        self.scene = scene
        self.pair = pair
    }

    /// The columns of a table of claims, all of type INTEGER: without a type SQLite would not use their index when it
    /// compares them with integers.
    private static let claimColumns =
        "m INTEGER, s INTEGER, cand INTEGER, pos INTEGER, ms INTEGER, owner INTEGER, member INTEGER, ord INTEGER"

    private var ledger: VerificationLedger { scene.ledger }
    private var plan: VerificationPlan { scene.plan }

    /// Fills the pair's table.
    ///
    /// - Returns: the reason why the links cannot be worked out; nil if they have been.
    func work() throws -> String? {
        if let obstacle = pair.obstacle ?? obstacleOfTables() { return obstacle }
        let columns = "oa INTEGER, ob INTEGER, n INTEGER"
        switch pair.kind {
        case .plainToOne, .oneToMany, .oneToOne:
            try ledger.execute("CREATE TABLE \(pair.table)(a INTEGER PRIMARY KEY, b INTEGER, \(columns))")
            if pair.kind == .oneToOne { try ledger.execute("CREATE INDEX i\(pair.index) ON \(pair.table)(b)") }
        case .hidden:
            try ledger.execute("CREATE TABLE \(pair.table)(b INTEGER PRIMARY KEY, a INTEGER, \(columns))")
        case .manyToMany:
            try ledger.execute(
                "CREATE TABLE \(pair.table)(a INTEGER, b INTEGER, \(columns), PRIMARY KEY(a, b)) WITHOUT ROWID")
        }
        for turn in 0..<plan.turns {
            scene.manager.turn = turn
            try ledger.execute(
                "CREATE TABLE c0(\(Self.claimColumns)); CREATE TABLE c1(\(Self.claimColumns))"
            )
            deciding = []
            copiesOrder = [:]
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
            try takeClaims(turn)
            if pair.near.isOrdered { try arrange(owner: "a", member: "b", key: "oa", side: 0, turn: turn) }
            if let far = pair.far, far.isOrdered, !pair.isReflexive {
                try arrange(owner: "b", member: "a", key: "ob", side: 1, turn: turn)
            }
            ledger.releaseStatements()
            try ledger.execute("DROP TABLE c0; DROP TABLE c1")
        }
        return nil
    }

    private func obstacleOfTables() -> String? {
        let schema = plan.destination.schema
        for end in [pair.near.entity, pair.near.destination] {
            if let obstacle = plan.obstacles[schema.tableIndex(of: end)] { return obstacle }
        }
        return nil
    }

    // MARK: - Claims

    private func claim(_ relationship: RelationshipDescription, side: Int, turn: Int) throws {
        for mapping in plan.own(turn) {
            guard mapping.isDeclarative, let entity = mapping.destination, entity.isKindOf(entity: relationship.entity),
                let property = mapping.mapping.relationshipMapping(named: relationship.name),
                let expression = property.valueExpression
            else { continue }
            if !relationship.isToMany { deciding.insert(mapping.index) }
            switch try? RelationshipExpression(expression) {
            case .constantNil: continue
            case .lookup(let name, let path)
            where path.components.count <= 1 && path.condition == nil && isOneStep(path, of: mapping):
                try claim(relationship, side, mapping, path.components.first, plan.named(name, turn: turn))
            case .lookupByRelationship(_, let path)
            where path.components.count <= 1 && path.condition == nil && isOneStep(path, of: mapping):
                try claim(relationship, side, mapping, path.components.first, plan.answering(turn: turn))
            default: try evaluate(expression, property, relationship, side, mapping)
            }
        }
    }

    private func isOneStep(_ path: SourcePath, of mapping: VerifiedMapping) -> Bool {
        guard let name = path.components.first else { return true }
        return mapping.source?.relationship(named: name) != nil
    }

    private func candidates(
        _ all: [VerifiedMapping], _ relationship: RelationshipDescription, table: Int
    ) -> [VerifiedMapping] {
        all.filter { candidate in
            candidate.isDeclarative && plan.sourceTable(candidate) == table
                && candidate.destination?.isKindOf(entity: relationship.destination) == true
        }
    }

    /// Adds the links that one relationship of the source object gives, or the source object itself.
    private func claim(
        _ relationship: RelationshipDescription, _ side: Int, _ mapping: VerifiedMapping, _ name: String?,
        _ answering: [VerifiedMapping]
    ) throws {
        guard let source = mapping.source, let ownTable = plan.sourceTable(mapping) else { return }
        let found = plan.source
        let insert = "INSERT INTO c\(side) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)"
        let own = Int64(mapping.index)
        let owners = "SELECT d FROM m\(mapping.index) WHERE s=?1"
        guard let name, let old = source.relationship(named: name) else {
            for candidate in candidates(answering, relationship, table: ownTable) {
                let both = try ledger.connection.prepare(
                    "SELECT o.s, o.d, m.d FROM m\(mapping.index) o JOIN m\(candidate.index) m ON m.s = o.s ORDER BY o.s"
                )
                while try both.step() {
                    let key = both.integer(0)
                    try ledger.run(
                        insert, own, key, Int64(candidate.index), key, key, both.integer(1), both.integer(2), nil)
                }
            }
            return
        }
        let candidates = candidates(answering, relationship, table: found.schema.tableIndex(of: old.destination))
        copiesOrder[side * 1_000_000 + mapping.index] = old.isOrdered
        guard !candidates.isEmpty else { return }
        let sql: String
        switch found.schema.storage(of: old) {
        case .toOne(let table, let column, _, _):
            let place = found.tables[table]
            sql =
                "SELECT Z_PK, \(SQLName.quoted(place.columns[column])), NULL FROM \(SQLName.quoted(place.name)) ORDER BY Z_PK"
        case .toManyByInverse(let table, let column, _, let order), .toManyHidden(let table, let column, let order):
            let place = found.tables[table]
            let key = old.isOrdered ? order.map { SQLName.quoted(place.columns[$0]) } ?? "NULL" : "NULL"
            sql =
                "SELECT \(SQLName.quoted(place.columns[column])), Z_PK, \(key) FROM \(SQLName.quoted(place.name)) ORDER BY Z_PK"
        case .join(let table, let ownerSide):
            let place = found.joinTables[table]
            let (owner, member) = (place.sides[ownerSide], place.sides[1 - ownerSide])
            let key = old.isOrdered ? member.orderColumn.map(SQLName.quoted) ?? "NULL" : "NULL"
            sql =
                "SELECT \(SQLName.quoted(owner.column)), \(SQLName.quoted(member.column)), \(key) FROM \(SQLName.quoted(place.name))"
        case .none: return
        }
        let rows = try scene.source.query(sql)
        // A to-one copied from a to-one has one claim only, so write it directly: no later claim can replace it.
        let isDirect = !relationship.isToMany && !old.isToMany && pair.kind != .oneToOne
        var count = 0
        while try rows.step() {
            count += 1
            if count % 1024 == 0 { try scene.checkCancelled() }
            guard !rows.isNull(0), !rows.isNull(1) else { continue }
            let (ownerKey, memberKey) = (rows.integer(0), rows.integer(1))
            guard let owner = try ledger.integer(owners, ownerKey) else { continue }
            let order = rows.isNull(2) ? nil : rows.integer(2)
            for candidate in candidates {
                guard let member = try ledger.integer("SELECT d FROM m\(candidate.index) WHERE s=?1", memberKey) else {
                    continue
                }
                if isDirect {
                    try ledger.run(
                        "INSERT OR REPLACE INTO \(pair.table)(a, b, n) VALUES(?1,?2,?3)", owner, member,
                        Int64(mapping.turn))
                    break
                }
                try ledger.run(
                    insert, own, ownerKey, Int64(candidate.index), old.isOrdered ? order ?? .min : memberKey, memberKey,
                    owner, member, order)
            }
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
        let objects = try ledger.connection.prepare("SELECT s, d FROM m\(mapping.index) ORDER BY s")
        while try objects.step() {
            try scene.checkCancelled()
            let key = objects.integer(0)
            let object = EvaluatedSource(entity: entity, table: table, key: key, objects: scene.objects)
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
                guard plan.mappings[result.mapping].destination?.isKindOf(entity: relationship.destination) == true
                else { continue }
                try ledger.run(
                    "INSERT INTO c\(side) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)", Int64(mapping.index), key,
                    Int64(result.mapping), Int64(position), result.sourceKey, objects.integer(1), result.key, nil)
            }
        }
    }

    // MARK: - Links

    /// Makes the links of a mapping model from the claims of both sides.
    private func takeClaims(_ turn: Int) throws {
        let number = Int64(turn)
        switch pair.kind {
        case .manyToMany:
            try ledger.execute(
                "INSERT OR IGNORE INTO \(pair.table)(a, b, n) SELECT owner, member, \(turn) FROM c0; "
                    + "INSERT OR IGNORE INTO \(pair.table)(a, b, n) SELECT member, owner, \(turn) FROM c1")
            if pair.isReflexive {
                try ledger.execute(
                    "INSERT OR IGNORE INTO \(pair.table)(a, b, n) SELECT member, owner, \(turn) FROM c0")
            }
        case .plainToOne: try takeFirstMembers(number)
        case .hidden:
            // The last owner counts.
            let claims = try ledger.connection.prepare("SELECT owner, member FROM c0 ORDER BY m, s, pos, ms")
            while try claims.step() {
                try ledger.run(
                    "INSERT OR REPLACE INTO \(pair.table)(b, a, n) VALUES(?1,?2,?3)", claims.integer(1),
                    claims.integer(0), number)
            }
        case .oneToMany:
            try takeFirstMembers(number)
            let table = plan.destination.schema.tableIndex(of: pair.near.entity)
            let claims = try ledger.connection.prepare("SELECT owner, member FROM c1 ORDER BY m, s, pos, ms")
            while try claims.step() {
                let member = claims.integer(1)
                let maker = try ledger.integer("SELECT m FROM t\(table) WHERE d=?1", member)
                if let maker, deciding.contains(Int(maker)) { continue }
                try ledger.run(
                    "INSERT OR REPLACE INTO \(pair.table)(a, b, n) VALUES(?1,?2,?3)", member, claims.integer(0), number)
            }
        case .oneToOne:
            let isNearFirst = pair.near.name.unicodeScalars.lexicographicallyPrecedes(
                (pair.far?.name ?? "").unicodeScalars)
            let claims = try ledger.connection.prepare(
                """
                SELECT 0 AS side, m, s, owner, cand, pos, ms, member FROM c0
                UNION ALL SELECT 1, m, s, owner, cand, pos, ms, member FROM c1
                ORDER BY m, s, \(isNearFirst ? "side" : "side DESC"), cand, pos, ms
                """)
            var last: (side: Int64, owner: Int64)?
            while try claims.step() {
                let (side, owner, member) = (claims.integer(0), claims.integer(3), claims.integer(7))
                if let last, last == (side, owner) { continue }
                last = (side, owner)
                let (a, b) = side == 0 ? (owner, member) : (member, owner)
                try ledger.run("DELETE FROM \(pair.table) WHERE b=?1", b)
                try ledger.run("INSERT OR REPLACE INTO \(pair.table)(a, b, n) VALUES(?1,?2,?3)", a, b, number)
            }
        }
    }

    /// Sets each object's first member, in mapping order.
    private func takeFirstMembers(_ number: Int64) throws {
        let claims = try ledger.connection.prepare(
            "SELECT owner, member FROM c0 ORDER BY owner, cand, pos, ms")
        var last: Int64?
        while try claims.step() {
            let owner = claims.integer(0)
            guard owner != last else { continue }
            last = owner
            try ledger.run(
                "INSERT OR REPLACE INTO \(pair.table)(a, b, n) VALUES(?1,?2,?3)", owner, claims.integer(1), number)
        }
    }

    // MARK: - Order

    /// Gives the members of every owner their ordering keys.
    private func arrange(owner: String, member: String, key: String, side: Int, turn: Int) throws {
        let relationship = side == 0 ? pair.near : pair.far ?? pair.near
        let table = plan.destination.schema.tableIndex(of: relationship.entity)
        try ledger.execute("CREATE TABLE k(m INTEGER PRIMARY KEY, copied INTEGER)")
        for mapping in plan.own(turn) {
            let copied = copiesOrder[side * 1_000_000 + mapping.index] == true
            try ledger.run("INSERT INTO k VALUES(?1,?2)", Int64(mapping.index), copied ? 1 : 0)
        }
        try ledger.execute("CREATE INDEX ci\(side) ON c\(side)(owner, member)")
        // Owners made by this model: members with copied keys first, then the others by key. Existing owners: new
        // members last.
        let rows = try ledger.connection.prepare(
            """
            SELECT l.\(owner), l.\(member), c.ord, c.owner IS NOT NULL, k.copied, l.\(key), l.n
            FROM \(pair.table) l JOIN t\(table) t ON t.d = l.\(owner) LEFT JOIN k ON k.m = t.m
            LEFT JOIN c\(side) c ON c.owner = l.\(owner) AND c.member = l.\(member)
            ORDER BY l.\(owner),
            CASE WHEN k.m IS NULL THEN l.n = \(turn) WHEN k.copied THEN c.owner IS NULL ELSE 0 END,
            CASE WHEN k.m IS NULL THEN l.\(key) WHEN k.copied AND c.owner IS NOT NULL
            THEN ifnull(c.ord, -9223372036854775807 - 1) ELSE 0 END, l.\(member)
            """)
        var current: Int64?
        var highest: Int64 = 1024
        while try rows.step() {
            let (one, other) = (rows.integer(0), rows.integer(1))
            if one != current {
                current = one
                highest = 1024
            }
            let isOlder = rows.isNull(4)
            let place: Int64?
            if isOlder, rows.integer(6) != Int64(turn) {
                place = rows.isNull(5) ? nil : rows.integer(5)
                highest = max(highest, place ?? highest)
            } else if !isOlder, rows.integer(4) == 1, rows.integer(3) == 1 {
                place = rows.isNull(2) ? nil : rows.integer(2)
                // Copied keys come in ascending order, so the last one is the highest.
                if let place { highest = place }
            } else {
                let (next, overflows) = highest.addingReportingOverflow(1024)
                guard !overflows else { throw VerificationObstacle("an ordering key is out of range") }
                highest = next
                place = next
            }
            try ledger.run(
                "UPDATE \(pair.table) SET \(key)=?3 WHERE \(owner)=?1 AND \(member)=?2", one, other, place)
        }
        try ledger.execute("DROP TABLE k")
    }
}
