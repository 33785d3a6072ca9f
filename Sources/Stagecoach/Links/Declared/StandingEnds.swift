import Diagnostics
import ManagedModel

/// The ends of a relationship's links that are rows which the destination had before, because source objects became them.
///
/// Such a row stays as it is. A link is made if a new row holds it: in its own column, or as one end of a join table's row. A pair
/// of to-one relationships is held by both its rows.
struct StandingEnds {
    private let planned: PlannedRelationship
    private let owners: MatchedObjects?
    private let members: [Int: MatchedObjects]
    /// True if the other side is a to-one relationship too.
    private let isOneToOne: Bool

    /// Returns nil if neither end can be such a row.
    init?(_ planned: PlannedRelationship, owners: DestinationKeys, members: [DestinationKeys]) {
        self.planned = planned
        self.owners = owners.matched
        self.members = Dictionary(
            members.compactMap { keys in keys.matched.map { (keys.mapping.index, $0) } },
            uniquingKeysWith: { first, _ in first })
        guard self.owners != nil || !self.members.isEmpty else { return nil }
        let inverse = LinkPlanner.mutualInverse(of: planned.relationship)
        isOneToOne = !planned.relationship.isToMany && inverse.map { !$0.isToMany } ?? false
    }

    /// Returns the key of the row that a source object became, if its new members come under it.
    func owner(of source: Int64) throws(MigrationError) -> Int64? {
        planned.relationship.isToMany ? try owners?.row(of: source) : nil
    }

    func entity(ofOwner key: Int64, unlessOfSubentity number: UInt32) throws(MigrationError) -> UInt32 {
        try entity(of: key, owners, number)
    }

    /// Returns the Z_ENT of an object that a lookup found.
    ///
    /// - Parameter mapping: the index of the mapping that found it.
    func entity(of key: Int64, by mapping: Int, unlessOfSubentity number: UInt32) throws(MigrationError) -> UInt32 {
        try entity(of: key, members[mapping], number)
    }

    private func entity(of key: Int64, _ matched: MatchedObjects?, _ number: UInt32) throws(MigrationError) -> UInt32 {
        guard let matched else { return number }
        return UInt32(clamping: try matched.entityNumber(of: key, unlessOfSubentity: Int64(number)))
    }

    /// Returns the place of a member: among those of a row that was there, new members follow in their order.
    func order(_ order: MemberOrder, ofOwner key: Int64) -> MemberOrder {
        guard owners?.isStanding(key) == true else { return order }
        switch order {
        case .key(let place): return .rank(place)
        case .null: return .none
        case .rank, .none: return order
        }
    }

    /// Tells whether a link between two objects changes no row that was there.
    ///
    /// - Parameter mapping: the index of the mapping that found the member.
    func mayLink(_ owner: Int64, _ member: Int64, of mapping: Int) -> Bool {
        let isOld = (owner: owners?.isStanding(owner) == true, member: members[mapping]?.isStanding(member) == true)
        switch planned.storage {
        case .join: return !isOld.owner || !isOld.member
        case .toOne: return !isOld.owner && !(isOneToOne && isOld.member)
        case .toManyByInverse, .toManyHidden: return !isOld.member
        case .none: return true
        }
    }
}
