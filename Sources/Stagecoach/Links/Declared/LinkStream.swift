import SpillStorage

/// A link between two destination objects, made by a declarative mapping.
struct Link {
    /// The key of the object whose mapping looked up the other.
    var owner: Int64
    /// The key of the object that was found.
    var member: Int64
    /// The Z_ENT of the found object.
    var memberEntity: Int64
    /// The index of the mapping that made the found object.
    var memberMapping: Int
    /// The source key of the owner, which gives the creation order within its mapping.
    var ownerSource: Int64
    /// The source key of the member.
    var memberSource: Int64
    /// The member's place among the owner's members, as the argument gives it.
    var order: MemberOrder

    /// A word that sorts the members of one owner in the argument's order: by place if it is ordered, otherwise by key.
    var rankAmongMembers: UInt64 { order.rank(orKey: memberSource) }
}

/// The links of one mapping's relationship, read from the source's rows in no particular order.
struct LinkStream {
    let run: MigrationRun
    let missing: MissingReferences
    let keys: PlanKeys

    /// Calls `body` for each pair of an owner and an object found for it.
    ///
    /// - Parameters:
    ///   - countsMissing: true to count references that find no object; false if the other side of the pair counts them.
    /// - Complexity: one scan of the table that holds the links; memory is one batch.
    func forEach(
        _ mapping: PlannedMapping, _ planned: PlannedRelationship, countsMissing: Bool,
        _ body: (Link) throws -> Void
    ) throws {
        guard case .lookup(let argument, let indices)? = planned.value, let own = keys.byMapping[mapping.index] else {
            return
        }
        let candidates = keys.candidates(indices, for: planned.relationship, in: run.inputs.destinationSchema)
        // Iterating over the candidates would retain and release each of them. Mostly there is only one.
        let only = candidates.count == 1 ? KeyLookup(candidates[0].keys) : nil
        let owners = KeyLookup(own)
        let (onlyEntity, onlyMapping) = (candidates.first?.entityNumber ?? 0, candidates.first?.keys.mapping.index ?? 0)
        let existing = keys.byTable[argument.table]
        var counts = ReferenceCounts()
        let missing = missing
        let number = missing.unmigrated?.number(of: planned.relationship, sourceTable: argument.table)
        let counted = CountedRelationship(planned.relationship)
        try SourcePairs(run: run).forEach(mapping, own.index, argument) { ownerSource, memberSource, order in
            guard let owner = try owners.destinationKey(of: ownerSource) else { return }
            var found = false
            if let only {
                if let member = try only.destinationKey(of: memberSource) {
                    found = true
                    try body(
                        Link(
                            owner: owner, member: member, memberEntity: onlyEntity, memberMapping: onlyMapping,
                            ownerSource: ownerSource, memberSource: memberSource, order: order))
                }
            } else {
                for candidate in candidates {
                    guard let member = try candidate.keys.destinationKey(of: memberSource) else { continue }
                    found = true
                    try body(
                        Link(
                            owner: owner, member: member, memberEntity: candidate.entityNumber,
                            memberMapping: candidate.keys.mapping.index, ownerSource: ownerSource,
                            memberSource: memberSource, order: order))
                }
            }
            guard !found, countsMissing else { return }
            if let existing, try !existing.contains(memberSource) {
                counts.add(counted, .dangling, owner: owner)
            } else {
                try missing.note(
                    memberSource, inTable: argument.table, number: number, of: counted, owner: owner, &counts)
            }
        }
        run.tally.add(counts)
    }
}
