import ManagedModel

/// The links that a lookup gives the objects of a mapping with `mergeBy`: the kept source object has the members of all that were
/// merged into it.
///
/// A to-one relationship gets the member of the kept source object; with `fill` that of the first one that has any. Ordered members
/// come in order of the kept one, then of the others by ascending key.
///
/// Memory: that of ``LinkTables``, whose database sorts them.
struct MergedSourceLinks {
    let context: VerificationContext
    let tables: LinkTables
    let keys: ExpectedKeys
    /// True if a reference that the kept source object lacks is that of another one.
    let fills: Bool

    /// Receives the key of the source object that makes the owner, that of the member's source object, and the ordering key.
    typealias Body = (_ maker: Int64, _ member: Int64, _ order: Int64?) throws -> Void

    /// Calls a closure with the links. The order of an owner with which others were merged is a rank.
    func forEach(
        _ step: VerificationPlan.Step, filling relationship: RelationshipDescription, _ body: Body
    ) throws {
        guard let old = step.relationship else { return try forEachOwn(relationship, body) }
        let fillsOwner = fills && !old.isToMany
        guard relationship.isToMany ? relationship.isOrdered && old.isOrdered : fillsOwner else {
            return try context.forEachSourceLink(of: old) { owner, member, order in
                let maker = try keys.shared?.maker(of: owner)
                if maker == nil || relationship.isToMany { try body(maker ?? owner, member, order) }
            }
        }
        try tables.connection.execute("DELETE FROM merged")
        let insert = try tables.connection.prepare("INSERT INTO merged VALUES (?1, ?2, ?3, ?4, ?5)")
        try context.forEachSourceLink(of: old) { owner, member, order in
            let maker = try keys.shared?.maker(of: owner)
            if maker == nil, try keys.others(of: owner).isEmpty { return try body(owner, member, order) }
            try insert.run(maker ?? owner, maker == nil ? 0 : 1, owner, order, member)
        }
        let sorted = try tables.connection.prepare(
            "SELECT maker, member FROM merged ORDER BY maker, other, owner, place, member")
        var (last, rank): (Int64?, Int64) = (nil, 0)
        while try sorted.step() {
            let maker = sorted.integer(0)
            rank = maker == last ? rank + 1 : 0
            last = maker
            if relationship.isToMany || rank == 0 { try body(maker, sorted.integer(1), rank) }
        }
    }

    /// Calls a closure with the links to objects of the source objects themselves.
    private func forEachOwn(_ relationship: RelationshipDescription, _ body: Body) throws {
        let makers = keys.pairs()
        while let maker = try makers.next()?.source {
            try body(maker, maker, nil)
            guard relationship.isToMany else { continue }
            for other in try keys.others(of: maker) { try body(maker, other, nil) }
        }
    }
}
