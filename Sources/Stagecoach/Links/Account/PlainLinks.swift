import CoreDataStore
import ManagedModel

/// The sets of links of which nothing can be missing in the destination but references that the lookups count themselves.
///
/// Each object at one end was migrated by a mapping whose lookup reads the set and finds an object for each at the other end. The
/// lookups fill one pair of relationships that nothing else fills and that has room for all links; and no user code came near. The
/// load then writes a link for each reference that finds its object, and the lookups count the others.
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
        let forward = isReadWhole(set.relationship.entity, forward: true, finding: set.relationship.destination)
        let backward = isReadWhole(set.relationship.destination, forward: false, finding: set.relationship.entity)
        // The two columns of a one-to-one pair may disagree, and then hold more links than the pair has room for.
        if set.isOneToOne {
            return forward && backward && CopiedPair(naming, among: mappings)?.isKept == true
        }
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
    func isOnePair(_ naming: RelationshipDescription) -> Bool {
        let inverse = LinkPlanner.mutualInverse(of: naming)
        guard naming != inverse, readings.set.opposite.first != readings.set.relationship else { return false }
        let pair = [naming] + [inverse].compactMap(\.self)
        guard readings.readings.allSatisfy({ pair.contains($0.planned.relationship) }) else { return false }
        let lookups = pair.reduce(0) { $0 + LinkPlanner.lookups(of: $1, among: mappings).count }
        return lookups == readings.readings.count
    }

    /// Tells whether each object of an entity and its subentities has a lookup that reads its links and finds all objects at the
    /// other end.
    private func isReadWhole(_ entity: EntityDescription, forward: Bool, finding other: EntityDescription) -> Bool {
        entity.withDescendants.allSatisfy { entity in
            guard census.count(of: entity) > 0 else { return true }
            let own = readings.readings.filter { $0.isForward == forward && $0.mapping.reads(entity) }
            return !own.isEmpty && own.allSatisfy { isWhole($0.mapping) && findsAll(of: other, $0) }
        }
    }

    private func findsAll(of entity: EntityDescription, _ reading: LinkReadings.Reading) -> Bool {
        entity.withDescendants.allSatisfy { entity in
            census.count(of: entity) == 0
                || mappings.contains { mapping in
                    reading.candidates.contains(mapping.index) && mapping.reads(entity) && isWhole(mapping)
                        && mapping.destination?.isKindOf(entity: reading.planned.relationship.destination) == true
                }
        }
    }

    /// Tells whether a mapping made one object of each of its source objects, and no user code gave it others.
    private func isWhole(_ mapping: PlannedMapping) -> Bool {
        guard !mapping.mayShareObjects || mapping.isRelatedByKeys, counts.mappings.indices.contains(mapping.index)
        else { return false }
        let line = counts.mappings[mapping.index]
        return line.migrated == line.sourceObjects
    }
}
