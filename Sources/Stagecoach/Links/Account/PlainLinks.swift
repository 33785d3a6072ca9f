import CoreDataStore
import ManagedModel

/// The sets of links of which nothing can be missing in the destination but references that the lookups count themselves.
///
/// Each object at both ends became one object, by a mapping whose lookup reads the set into one pair of relationships that nothing
/// else fills, that finds all those objects and has room for all links; and no user code came near. The load then writes a link
/// for each reference that finds its object, and the lookups count the others.
struct PlainLinks {
    let readings: LinkReadings
    let mappings: [PlannedMapping]
    let census: SourceCensus
    let counts: MigrationCounts
    let schema: StoreSchema

    var arePlain: Bool {
        guard let naming = readings.naming, !mappings.contains(where: \.belongsToPreviousModel), !readings.losesLinks,
            isOnePair(naming)
        else { return false }
        let set = readings.set
        // The two columns of a one-to-one pair may disagree, and then hold more links than the pair has room for.
        if !set.relationship.isToMany, set.opposite.first?.isToMany == false {
            return CopiedPair(naming, among: mappings)?.isKept ?? false
        }
        guard let owners = makers(of: set.relationship.entity), let members = makers(of: set.relationship.destination)
        else { return false }
        let forward = owners.allSatisfy { reads($0, forward: true, finding: members) }
        let backward = members.allSatisfy { reads($0, forward: false, finding: owners) }
        // References to rows that do not exist are seen by lookups of the other end only.
        switch set.links.place {
        case .owners where !forward, .members: return false
        case .join where !forward || !backward: return false
        case .owners, .join: break
        }
        switch schema.storage(of: naming) {
        case .none, .toManyByInverse: return false
        case .join: return true
        case .toManyHidden: return readings.isNamedByOwners
        case .toOne:
            guard let inverse = LinkPlanner.mutualInverse(of: naming) else { return readings.isNamedByOwners }
            return inverse.isToMany && (readings.isNamedByOwners || backward)
        }
    }

    /// Tells whether all readings and nothing else fill one pair of relationships that are not one and the same.
    private func isOnePair(_ naming: RelationshipDescription) -> Bool {
        let inverse = LinkPlanner.mutualInverse(of: naming)
        guard naming != inverse, readings.set.opposite.first != readings.set.relationship else { return false }
        let pair = [naming] + [inverse].compactMap(\.self)
        guard readings.readings.allSatisfy({ pair.contains($0.planned.relationship) }) else { return false }
        let lookups = pair.reduce(0) { $0 + LinkPlanner.lookups(of: $1, among: mappings).count }
        return lookups == readings.readings.count
    }

    /// Returns the mappings of an entity's objects and those of its subentities, if each object became one by one mapping; else nil.
    private func makers(of entity: EntityDescription) -> [PlannedMapping]? {
        var makers: [PlannedMapping] = []
        for entity in entity.withDescendants where census.count(of: entity) > 0 {
            let reading = mappings.filter { $0.reads(entity) && $0.destination != nil }
            guard reading.count == 1, !reading[0].mayBeAssociatedByHand || reading[0].isRelatedByKeys,
                counts.mappings.indices.contains(reading[0].index)
            else { return nil }
            let line = counts.mappings[reading[0].index]
            guard line.migrated == line.sourceObjects else { return nil }
            makers.append(reading[0])
        }
        return makers
    }

    private func reads(_ mapping: PlannedMapping, forward: Bool, finding others: [PlannedMapping]) -> Bool {
        readings.readings.contains { reading in
            guard reading.mapping === mapping, reading.isForward == forward else { return false }
            return others.allSatisfy { other in
                reading.candidates.contains(other.index)
                    && other.destination?.isKindOf(entity: reading.planned.relationship.destination) == true
            }
        }
    }
}
