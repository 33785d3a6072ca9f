import CoreDataStore
import ManagedModel

/// The links of one relationship of the source and its inverse, which are one set: each link is stored once.
struct SourceLinkSet {
    /// The side that names the set: a to-one, a to-many without inverse, or the first side of a join table.
    let relationship: RelationshipDescription
    /// The relationships that hold the same links from the other end: mostly the inverse, none if there is none.
    let opposite: [RelationshipDescription]
    /// The place where the links are stored, with owners and members as ``relationship`` has them.
    let links: CountedLinks

    /// True if both columns of a one-to-one pair have the links. They may disagree.
    var isOneToOne: Bool { !relationship.isToMany && opposite.first?.isToMany == false }

    /// Returns all sets of links that a model stores, by entity and name.
    static func all(in schema: StoreSchema) -> [SourceLinkSet] {
        schema.model.entities.flatMap { entity in
            entity.definition.relationships.sorted(by: { $0.name < $1.name }).compactMap { definition in
                entity.relationship(named: definition.name).flatMap { SourceLinkSet($0, in: schema) }
            }
        }
    }

    /// Returns nil for a side that names no set: a transient relationship, or one whose inverse names it.
    private init?(_ relationship: RelationshipDescription, in schema: StoreSchema) {
        let model = schema.model
        func stored(_ reference: PropertyReference, inJoin table: Int) -> RelationshipDescription? {
            guard let found = model.entity(at: reference.entity).relationship(named: reference.name),
                case .join(table, _) = schema.storage(of: found)
            else { return nil }
            return found
        }
        let place: CountedLinks.Place
        switch schema.storage(of: relationship) {
        case .none, .toManyByInverse: return nil
        case .toOne(let table, let column, _, _):
            if let inverse = LinkPlanner.mutualInverse(of: relationship), !inverse.isToMany {
                // Both columns of a one-to-one pair hold the same links.
                guard relationship == inverse || relationship.isNamedBefore(inverse) else { return nil }
                opposite = [inverse]
            } else {
                opposite = relationship.destination.root.withDescendants.flatMap(\.ownRelationships).filter {
                    guard case .toManyByInverse(table, column, _, _) = schema.storage(of: $0) else { return false }
                    return true
                }
            }
            place = .owners(table: table, column: column)
        case .toManyHidden(let table, let column, _):
            opposite = []
            place = .members(table: table, column: column)
        case .join(let table, let side):
            let sides = schema.joinTables[table].sides.map(\.relationship)
            guard side == 0 || stored(sides[0], inJoin: table) == nil || sides[0] == sides[1] else { return nil }
            opposite = [stored(sides[1 - side], inJoin: table)].compactMap(\.self)
            place = .join(table, ownerSide: side)
        }
        self.relationship = relationship
        links = CountedLinks(
            place: place, owners: schema.tableIndex(of: relationship.entity),
            members: schema.tableIndex(of: relationship.destination))
    }
}

/// A set of links and the place where it is stored.
struct CountedLinks {
    enum Place {
        /// In a column of the owners' table.
        case owners(table: Int, column: Int)
        /// In a column of the members' table.
        case members(table: Int, column: Int)
        /// In a join table.
        case join(Int, ownerSide: Int)
    }

    /// The entities of a link's two ends; nil for an object that does not exist.
    struct Ends: Hashable {
        let owner: Int?
        let member: Int?
    }

    let place: Place
    /// The tables of both ends.
    let owners: Int
    let members: Int

    /// True if the links are in a column of their owners' table, so that the owner of each link exists.
    var hasOwner: Bool { if case .owners = place { true } else { false } }
    /// True if the member of each link exists, because its row holds the link.
    var hasMember: Bool { if case .members = place { true } else { false } }
}

extension EntityDescription {
    /// The relationships that the entity itself declares.
    fileprivate var ownRelationships: [RelationshipDescription] {
        definition.relationships.compactMap { relationship(named: $0.name) }
    }
}
