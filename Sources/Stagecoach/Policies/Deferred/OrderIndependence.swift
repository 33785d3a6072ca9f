import ManagedModel

/// An analysis of whether the order in which default methods set a model's relationships affects the result.
///
/// Policies set one relationship after the other, object by object, and each call updates the inverse. If two sides contradict
/// each other, the later call wins. Every order gives the same links if only one side has lookups, if both sides read the two
/// ends of one source relationship, or if both objects are made of one source object and refer to each other. Then the links
/// can be found table by table instead.
struct OrderIndependence {
    let mappings: [PlannedMapping]
    let planner: LinkPlanner

    /// Tells whether no link of a store depends on the order of calls.
    func isIndependent(_ store: LinkStore) -> Bool {
        !LinkPlanner.sharesObjects(mappings) && isIndependent(store.first, store.second)
            && (store.second.map { isIndependent($0, store.first) } ?? true)
    }

    private func isIndependent(_ relationship: RelationshipDescription, _ inverse: RelationshipDescription?) -> Bool {
        let own = LinkPlanner.owners(of: relationship, among: mappings)
        let other = inverse.map { LinkPlanner.owners(of: $0, among: mappings) } ?? []
        let lookups = LinkPlanner.lookups(of: relationship, among: mappings)
        let otherLookups = inverse.map { LinkPlanner.lookups(of: $0, among: mappings) } ?? []
        guard !lookups.isEmpty || !otherLookups.isEmpty else { return true }
        for (_, planned) in own + other {
            switch planned.value {
            case nil, .lookup: break
            // A nil removes links that other mappings set, and expressions over objects need to see those links.
            case .some(.none), .dynamic: return false
            }
        }
        if let inverse, !lookups.isEmpty, !otherLookups.isEmpty {
            guard relationship.isToMany || inverse.isToMany else {
                // Both sides are objects of one source object; else a nil of one side would take the other's link away.
                // Columns that are copied unchanged take nothing away.
                return planner.isMirroredSplit(relationship, inverse) || planner.keepsBothColumns(relationship)
            }
            return isMirror(lookups, otherLookups)
        }
        guard !lookups.isEmpty else { return true }
        return isOwnersOnly(relationship, inverse, lookups)
    }

    /// Tells whether links from one side alone never displace the link of another owner.
    private func isOwnersOnly(
        _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?,
        _ lookups: [(mapping: PlannedMapping, planned: PlannedRelationship)]
    ) -> Bool {
        if let inverse, inverse.isOrdered { return false }
        let isExclusive = inverse.map { !$0.isToMany } ?? relationship.isToMany
        guard isExclusive else { return true }
        guard relationship.isToMany, lookups.count == 1 else { return false }
        // Each member has one owner in the source, so only one owner claims it.
        guard let read = OrderIndependence.read(by: lookups[0].planned), let back = LinkPlanner.mutualInverse(of: read)
        else {
            return false
        }
        return !back.isToMany
    }

    /// Tells whether the lookups of both sides read the two ends of one source relationship, each side finds the objects that
    /// the mappings of the other side make, and no to-one reads a to-many, of which it would take the first member only.
    private func isMirror(
        _ lookups: [(mapping: PlannedMapping, planned: PlannedRelationship)],
        _ otherLookups: [(mapping: PlannedMapping, planned: PlannedRelationship)]
    ) -> Bool {
        guard let read = OrderIndependence.read(by: lookups[0].planned), let back = LinkPlanner.mutualInverse(of: read)
        else {
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
                    // A policy's mapping may be associated with objects of any entity. Only mappings whose own objects fit the
                    // relationship count.
                    let fitting = candidates.filter {
                        mappings[$0].destination?.isKindOf(entity: planned.relationship.destination) ?? false
                    }
                    return OrderIndependence.read(by: planned) == relationship && Set(fitting) == makers
                        && (planned.relationship.isToMany || !relationship.isToMany)
                }
        }
        return agrees(lookups, reading: read, finding: otherLookups)
            && agrees(otherLookups, reading: back, finding: lookups)
    }

    /// Returns the relationship of the source object itself that a lookup reads. Returns nil if the lookup reads a longer path.
    private static func read(by planned: PlannedRelationship) -> RelationshipDescription? {
        switch planned.value {
        case .lookup(.toOne(let steps, _, _, let relationship), _): steps.isEmpty ? relationship : nil
        case .lookup(.toMany(let steps, let relationship, _), _): steps.isEmpty ? relationship : nil
        default: nil
        }
    }
}
