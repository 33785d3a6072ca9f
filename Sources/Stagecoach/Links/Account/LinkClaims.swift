import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The claims of the links of one set, link by link.
///
/// Take a source link from a to b. The associations say which objects x became of a, and which objects y of b. Each pair (x, y)
/// that a lookup relates is a claim.
///
/// Memory: the claims of one link.
final class LinkClaims {
    /// A pair of destination objects that a lookup relates for a link of the source.
    struct Claim: Equatable {
        /// The place in ``places`` where the link would be.
        let place: Int
        /// The key of the row that holds the link, or of side 0 of a join table; and the other key.
        let holder: Int64
        let other: Int64
    }

    /// The place where the destination stores the links of a relationship.
    enum Place: Hashable {
        case column(table: Int, Int)
        case join(Int)
    }

    /// A reading, and the way its links are stored. A class, so that going over the forms for each link copies nothing.
    private final class Form {
        let relationship: RelationshipDescription
        let isForward: Bool
        let place: Int
        let isHeldByOwner: Bool
        let owners: MappingAssociations
        let members: [MappingAssociations]
        /// By destination entity: true if it has the relationship, and if it is one that the relationship can have.
        let hasRelationship: [Bool]
        let fits: [Bool]

        init(
            _ reading: LinkReadings.Reading, place: Int, isHeldByOwner: Bool, _ archive: AssociationArchive,
            _ model: ManagedObjectModel
        ) {
            relationship = reading.planned.relationship
            isForward = reading.isForward
            self.place = place
            self.isHeldByOwner = isHeldByOwner
            owners = archive.tables[reading.mapping.index]
            members = reading.candidates.map { archive.tables[$0] }
            hasRelationship = model.entities.map { $0.isKindOf(entity: reading.planned.relationship.entity) }
            fits = model.entities.map { $0.isKindOf(entity: reading.planned.relationship.destination) }
        }
    }

    private let links: CountedLinks
    private let forms: [Form]
    /// The places of the links.
    let places: [Place]
    /// The claims of the last link.
    @exclusivity(unchecked) private(set) var claims: [Claim] = []
    @exclusivity(unchecked) private var near: [ObjectReference] = []
    @exclusivity(unchecked) private var far: [ObjectReference] = []

    /// - Parameters:
    ///   - readings: the lookups that read the set.
    ///   - isWanted: tells which relationships of the destination to look at.
    init(
        _ readings: LinkReadings, _ archive: AssociationArchive, in schema: StoreSchema,
        where isWanted: (RelationshipDescription) -> Bool = { _ in true }
    ) {
        links = readings.set.links
        var (forms, places): ([Form], [Place]) = ([], [])
        for reading in readings.readings where isWanted(reading.planned.relationship) {
            let held: Place
            var isHeldByOwner = true
            switch schema.storage(of: reading.planned.relationship) {
            case .none: continue
            case .toOne(let table, let column, _, _): held = .column(table: table, column)
            case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
                (held, isHeldByOwner) = (.column(table: table, column), false)
            case .join(let table, let side): (held, isHeldByOwner) = (.join(table), side == 0)
            }
            let place = places.firstIndex(of: held) ?? places.count
            if place == places.count { places.append(held) }
            forms.append(Form(reading, place: place, isHeldByOwner: isHeldByOwner, archive, schema.model))
        }
        (self.forms, self.places) = (forms, places)
    }

    /// Collects the claims of a link: the pairs of objects of its ends that a lookup relates.
    func collect(_ owner: Int64, _ member: Int64) throws(MigrationError) {
        claims.removeAll(keepingCapacity: true)
        for form in forms {
            let (own, other) = form.isForward ? (owner, member) : (member, owner)
            let (ownTable, otherTable) =
                form.isForward ? (links.owners, links.members) : (links.members, links.owners)
            near.removeAll(keepingCapacity: true)
            try form.owners.destinations(ofKey: own, table: ownTable, into: &near)
            guard !near.isEmpty else { continue }
            far.removeAll(keepingCapacity: true)
            for candidate in form.members { try candidate.destinations(ofKey: other, table: otherTable, into: &far) }
            for one in near where form.hasRelationship[Int(one.entity)] {
                for object in far where form.fits[Int(object.entity)] {
                    let claim = Claim(
                        place: form.place, holder: form.isHeldByOwner ? one.key : object.key,
                        other: form.isHeldByOwner ? object.key : one.key)
                    if !claims.contains(claim) { claims.append(claim) }
                }
            }
        }
    }

    /// Returns the relationship of a claim, with the keys of the objects that it relates.
    func ends(of claim: Claim) -> (relationship: RelationshipDescription, owner: Int64, member: Int64)? {
        forms.first { $0.place == claim.place }.map { form in
            form.isHeldByOwner
                ? (form.relationship, claim.holder, claim.other) : (form.relationship, claim.other, claim.holder)
        }
    }
}
