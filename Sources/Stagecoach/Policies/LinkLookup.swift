import CoreDataStore
import ManagedModel

/// A lookup, with the facts that are needed for every object.
final class LinkLookup {
    let argument: SourceArgument
    /// The path of to-one steps to the argument's object, or to the owner of its to-many relationship.
    let path: [ToOneStep]
    let candidates: [Int]
    let relationship: RelationshipDescription
    var isToMany: Bool { relationship.isToMany }
    let makers: Makers
    /// The attribute that orders the argument's members; nil: they come in their own order.
    let sort: MemberSort?
    /// The index of the path's column in the mapping's ``SourceStream``.
    var column: Int?
    /// The number of the argument's members in the ``SourceStream``.
    var members: Int?

    init(
        _ argument: SourceArgument, _ candidates: [Int], _ planned: PlannedRelationship, _ makers: Makers
    ) {
        self.argument = argument
        self.candidates = candidates
        relationship = planned.relationship
        sort = planned.sort
        self.makers = makers
        switch argument {
        case .object: path = []
        case .toOne(let steps, let column, let target, _):
            path = steps + [ToOneStep(column: column, destinationTable: target)]
        case .toMany(let steps, _, _): path = steps
        case .members: path = []
        }
    }

    /// The mappings that may have made the objects that lookups find. Lookups of many mappings share one instance: with
    /// hundreds of mappings into one root, each would otherwise hold hundreds of entries.
    final class Makers {
        /// The Z_ENT of each entity whose objects fit the relationship, by entity index; nil for all other entities.
        let numbers: [UInt32?]
        let all: [Maker]
        /// The maker if there is only one, which is the common case. Iterating over ``all`` would retain and release each.
        let only: Maker?

        init(numbers: [UInt32?], all: [Maker]) {
            self.numbers = numbers
            self.all = all
            only = all.count == 1 ? all[0] : nil
        }
    }

    /// A mapping that may have made the objects that a lookup finds.
    final class Maker {
        let index: Int
        let associations: MappingAssociations
        /// The Z_ENT of the objects that the mapping makes itself; nil if they do not fit the relationship.
        let number: UInt32?

        init(_ index: Int, _ associations: MappingAssociations, _ number: UInt32?) {
            self.index = index
            self.associations = associations
            self.number = number
        }
    }
}
