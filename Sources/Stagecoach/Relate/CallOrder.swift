import ManagedModel
import Mapping

/// Whether the order in which default methods set a model's relationships can be seen in the result.
///
/// Policies set relationship after relationship, object after object, and each set keeps the inverse: where two sides
/// say different things the later one wins. Where only one side says anything, or both read the two sides of one
/// relationship of the source, or both are made of one source object and refer to each other, every order gives the same
/// links, and they may be found table by table instead.
struct CallOrder {
    let mappings: [PlannedMapping]
    let planner: LinkPlanner

    /// Whether no relationship depends on it.
    var isInvisible: Bool {
        planner.declaredRelationships().allSatisfy { relationship in
            isInvisible(relationship, LinkPlanner.mutualInverse(of: relationship))
        }
    }

    private func isInvisible(_ relationship: RelationshipDescription, _ inverse: RelationshipDescription?) -> Bool {
        let own = LinkPlanner.owners(of: relationship, among: mappings)
        let other = inverse.map { LinkPlanner.owners(of: $0, among: mappings) } ?? []
        let lookups = LinkPlanner.lookups(of: relationship, among: mappings)
        let otherLookups = inverse.map { LinkPlanner.lookups(of: $0, among: mappings) } ?? []
        guard !lookups.isEmpty || !otherLookups.isEmpty else { return true }
        for (_, planned) in own + other {
            switch planned.value {
            case nil, .lookup: break
            // A nil takes links away that others set; what objects evaluate needs them.
            case .some(.none), .dynamic: return false
            }
        }
        if let inverse, !lookups.isEmpty, !otherLookups.isEmpty {
            guard relationship.isToMany || inverse.isToMany else {
                // Both sides are objects of one source object; else a nil of one side would take the other's link away.
                // Columns that are copied as they stand take nothing away.
                return planner.isMirroredSplit(relationship, inverse) || planner.keepsBothColumns(relationship)
            }
            return isMirror(lookups, otherLookups)
        }
        guard !lookups.isEmpty else { return true }
        return isOwnersOnly(relationship, inverse, lookups)
    }

    /// Whether a side that alone says anything gives no link that another owner's takes away.
    private func isOwnersOnly(
        _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?,
        _ lookups: [(mapping: PlannedMapping, planned: PlannedRelationship)]
    ) -> Bool {
        if let inverse, inverse.isOrdered { return false }
        let isExclusive = inverse.map { !$0.isToMany } ?? relationship.isToMany
        guard isExclusive else { return true }
        guard relationship.isToMany, lookups.count == 1 else { return false }
        // Each member has one owner in the source, so it is given to one.
        guard let read = CallOrder.read(by: lookups[0].planned), let back = LinkPlanner.mutualInverse(of: read) else {
            return false
        }
        return !back.isToMany
    }

    /// Whether the lookups of both sides read the two sides of one source relationship, and each finds what the
    /// other's mappings make.
    private func isMirror(
        _ lookups: [(mapping: PlannedMapping, planned: PlannedRelationship)],
        _ otherLookups: [(mapping: PlannedMapping, planned: PlannedRelationship)]
    ) -> Bool {
        guard let read = CallOrder.read(by: lookups[0].planned), let back = LinkPlanner.mutualInverse(of: read) else {
            return false
        }
        func agrees(
            _ side: [(mapping: PlannedMapping, planned: PlannedRelationship)],
            reading relationship: RelationshipDescription,
            finding found: [(mapping: PlannedMapping, planned: PlannedRelationship)]
        ) -> Bool {
            let makers = Set(found.map(\.mapping.index))
            let sources = side.compactMap { $0.mapping.source?.index }
            return Set(sources).count == side.count
                && side.allSatisfy { _, planned in
                    guard case .lookup(_, let candidates)? = planned.value else { return false }
                    // What a policy's mapping associates might fit any relationship; what it made fits or does not.
                    let fitting = candidates.filter {
                        mappings[$0].destination?.isKindOf(entity: planned.relationship.destination) ?? false
                    }
                    return CallOrder.read(by: planned) == relationship && Set(fitting) == makers
                }
        }
        return agrees(lookups, reading: read, finding: otherLookups)
            && agrees(otherLookups, reading: back, finding: lookups)
    }

    /// The relationship of the source object itself that a lookup reads; nil where it reads more.
    private static func read(by planned: PlannedRelationship) -> RelationshipDescription? {
        switch planned.value {
        case .lookup(.toOne(let steps, _, _, let relationship), _): steps.isEmpty ? relationship : nil
        case .lookup(.toMany(let steps, let relationship, _), _): steps.isEmpty ? relationship : nil
        default: nil
        }
    }
}
