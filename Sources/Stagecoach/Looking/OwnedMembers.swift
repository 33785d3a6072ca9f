import CoreDataStore
import Diagnostics
import ManagedModel

/// The members of a to-many relationship, owner by owner, beside a scan of the owners by ascending key.
final class OwnedMembers {
    private let cursor: MemberCursor?
    private var next: (owner: Int64, member: Member)?

    /// - Parameter first: the least key of the owners.
    init(
        _ store: SourceStore, _ relationship: RelationshipDescription, from first: Int64, in layout: StoreLayout
    ) throws(MigrationError) {
        cursor = try store.members(of: relationship, owners: first...Int64.max, in: layout, readsEntities: false)
        next = try cursor?.nextOfOwner()
    }

    /// Reads the keys of an owner's members, in the relationship's order.
    ///
    /// - Parameters:
    ///   - owner: a greater key than those before.
    ///   - first: gets the first members.
    ///   - most: their greatest number.
    /// - Returns: the number of all members.
    func members(of owner: Int64, first: inout [Int64], most: Int) throws(MigrationError) -> Int {
        first.removeAll(keepingCapacity: true)
        var count = 0
        while let link = next, link.owner <= owner {
            if link.owner == owner {
                count += 1
                if count <= most { first.append(link.member.key) }
            }
            next = try cursor?.nextOfOwner()
        }
        return count
    }
}
