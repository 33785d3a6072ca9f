import CoreDataStore
import Diagnostics
import ManagedModel

/// The relationships of the destination into which lookups carry the links of one set of the source.
///
/// A lookup reads the set if its argument is the set's relationship, or the inverse, of the source object itself. Longer paths and
/// conditions make links of their own and are no part of this.
struct LinkReadings {
    /// A lookup of one entity mapping that reads the set.
    struct Reading {
        let mapping: PlannedMapping
        let planned: PlannedRelationship
        /// The mappings whose objects the lookup may find.
        let candidates: [Int]
        /// True if the lookup reads the side that names the set, so that its owners are the owners of the links.
        let isForward: Bool
    }

    let set: SourceLinkSet
    private(set) var readings: [Reading] = []

    init(_ set: SourceLinkSet, among mappings: [PlannedMapping]) {
        self.set = set
        for mapping in mappings where mapping.source != nil && mapping.destination != nil {
            for planned in mapping.relationships {
                guard case .lookup(let argument, let candidates)? = planned.value,
                    let read = argument.singleRelationship
                else { continue }
                // A relationship that is its own inverse is read from both ends at once.
                if read == set.relationship {
                    readings.append(
                        Reading(mapping: mapping, planned: planned, candidates: candidates, isForward: true))
                } else if set.opposite.contains(read) {
                    readings.append(
                        Reading(mapping: mapping, planned: planned, candidates: candidates, isForward: false))
                }
            }
        }
    }

    /// The destination's relationship that names the links in the account: a to-one side if there is one, because it is the side
    /// that has no room; else the relationship of the first reading.
    var naming: RelationshipDescription? {
        guard let first = readings.first(where: \.isForward) ?? readings.first else { return nil }
        let relationship = first.planned.relationship
        guard relationship.isToMany, let inverse = LinkPlanner.mutualInverse(of: relationship), !inverse.isToMany else {
            return relationship
        }
        return inverse
    }

    /// Tells whether the name belongs to the owners of the links, and not to their members.
    var isNamedByOwners: Bool {
        guard let first = readings.first(where: \.isForward) ?? readings.first, let naming else { return true }
        return (naming == first.planned.relationship) == first.isForward
    }

    /// Tells whether some lookup reads the links of objects of an entity, as owners or as members.
    func reads(_ entity: EntityDescription, asOwner: Bool) -> Bool {
        readings.contains { $0.isForward == asOwner && $0.mapping.reads(entity) }
    }

    /// True if source objects of a lookup that reads the set share objects: one of them decides then.
    var hasSharedObjects: Bool { readings.contains { $0.mapping.grouping != nil } }

    /// True if the links may have been decided by user code.
    var hasUserCode: Bool {
        readings.contains { reading in
            reading.mapping.mayBeAssociatedByHand || reading.mapping.hasDynamicRelationships
        }
    }

    /// Returns whether an owner of the set may have many members in a reading's relationship, and a member many owners.
    func room(of reading: Reading) -> (manyMembers: Bool, manyOwners: Bool) {
        let relationship = reading.planned.relationship
        return reading.isForward
            ? (relationship.isToMany, relationship.sharesMembers) : (relationship.sharesMembers, relationship.isToMany)
    }

    /// True if a relationship of the destination has room for fewer links than the source: where an object could have many
    /// partners it can have one.
    var losesLinks: Bool {
        readings.contains { reading in
            let room = room(of: reading)
            return (set.relationship.isToMany && !room.manyMembers)
                || (set.relationship.sharesMembers && !room.manyOwners)
        }
    }
}

/// The links of one set that were not made, by cause.
struct CauseCounts {
    private let naming: String
    private let source: String
    private var lines: [LinksNotMade.Cause: LinksNotMade] = [:]

    init(_ readings: LinkReadings, naming: RelationshipDescription) {
        self.naming = naming.label
        source = readings.set.relationship.label
    }

    /// Counts a link.
    ///
    /// - Parameter object: returns the id of the object that lacks it.
    mutating func add(
        _ cause: LinksNotMade.Cause, _ object: () throws(MigrationError) -> String
    ) throws(MigrationError) {
        let known = lines[cause]?.objects ?? []
        var line =
            lines.removeValue(forKey: cause)
            ?? LinksNotMade(
                relationship: naming, source: source, cause: cause, links: 0, objects: [])
        line.links += 1
        if known.count < LinksNotMade.mostObjects {
            let object = try object()
            if !known.contains(object) { line.objects.append(object) }
        }
        lines[cause] = line
    }

    /// Returns the lines.
    ///
    /// - Parameter total: the number of links in the set.
    func lines(ofLinks total: Int) -> [LinksNotMade] {
        lines.values.map { line in
            var line = line
            line.ofLinks = total
            return line
        }
    }
}
