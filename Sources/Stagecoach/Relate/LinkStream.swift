import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import Rows
import SpillStorage

/// A link that a declarative mapping makes: between two destination objects.
struct Link {
    /// Key of the object whose mapping looked the other up.
    var owner: Int64
    /// Key of the object that was found.
    var member: Int64
    /// Z_ENT of the found object.
    var memberEntity: Int64
    /// Index of the mapping that made the found object.
    var memberMapping: Int
    /// Source key of the owner: creation order within its mapping.
    var ownerSource: Int64
    /// Source key of the member.
    var memberSource: Int64
    /// What the argument says about the member's place among the owner's members.
    var order: MemberOrder

    /// A word that sorts the members of one owner as the argument has them: by place where it is ordered, else by key.
    var rankAmongMembers: UInt64 { order.rank(orKey: memberSource) }
}

/// All links of one mapping's relationship, from the source's rows, in no particular order.
struct LinkStream {
    let session: MigrationSession
    let keys: SourceKeys

    /// Calls `body` for each pair of an owner and an object found for it.
    ///
    /// - Parameters:
    ///   - countsMissing: whether references without an object are counted here; false where the other side of the
    ///     pair counts the same ones.
    /// - Complexity: one scan of the table that holds the links; memory is one batch.
    func forEach(
        _ mapping: PlannedMapping, _ planned: PlannedRelationship, countsMissing: Bool,
        _ body: (Link) throws -> Void
    ) throws {
        guard case .lookup(let argument, let indices)? = planned.value, let own = keys.byMapping[mapping.index] else {
            return
        }
        let candidates = keys.candidates(indices, for: planned.relationship, in: session.destinationSchema)
        // Going through the candidates counts each of them; mostly there is one only.
        let only = candidates.count == 1 ? OneMappingsKeys(candidates[0].keys) : nil
        let owners = OneMappingsKeys(own)
        let (onlyEntity, onlyMapping) = (candidates.first?.entityNumber ?? 0, candidates.first?.keys.mapping.index ?? 0)
        let existing = keys.byTable[argument.table]
        var counts = ReferenceCounts()
        let unmigrated = session.unmigrated
        let number = unmigrated?.number(of: planned.relationship, sourceTable: argument.table)
        let counted = CountedRelationship(planned.relationship)
        try SourcePairs(session: session).forEach(mapping, own, argument) { ownerSource, memberSource, order in
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
            } else if let unmigrated, let number {
                try unmigrated.note(number, owner: owner, source: memberSource)
            } else if let fates = session.fates {
                counts.add(
                    counted, try fates.fate(of: memberSource, table: argument.table, for: planned.relationship),
                    owner: owner)
            }
        }
        session.add(counts)
    }
}
