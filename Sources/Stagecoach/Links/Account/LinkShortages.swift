import CoreDataStore
import Diagnostics
import ManagedModel

/// The links for which the destination has no room, counted in the source before anything is made.
///
/// A relationship of the destination may have room for one partner where the source has many. Of the links of an object beyond the
/// first, none can be made, whoever decides. Where filters or the entities of the objects decide too, nothing is counted: these
/// links are counted when they are made.
struct LinkShortages {
    let layout: StoreLayout
    let mappings: [PlannedMapping]

    /// Counts the links beyond the room of each set.
    ///
    /// - Throws: `store.damaged`, `store.io`.
    /// - Complexity: O(n log n) in the links of sets that lose room, none for others.
    func count(in source: SourceStore) throws(MigrationError) -> [LinksNotMade] {
        var lines: [LinksNotMade] = []
        for set in SourceLinkSet.all(in: layout.schema) {
            let readings = LinkReadings(set, among: mappings)
            guard let naming = readings.naming, readings.losesLinks, !readings.hasUserCode, isWhole(readings) else {
                continue
            }
            let (table, owner, member) = columns(of: set)
            let (owners, members) = (
                layout.tables[set.links.owners].name.quoted, layout.tables[set.links.members].name.quoted
            )
            let room = readings.readings.map { readings.room(of: $0) }
            var least = 0
            var total = 0
            for (column, isFull) in [
                (owner, room.allSatisfy { !$0.manyMembers }), (member, room.allSatisfy { !$0.manyOwners }),
            ] where isFull {
                let statement = try source.query(
                    "SELECT count(*), count(DISTINCT \(column)) FROM \(table) "
                        + "WHERE \(owner) IN (SELECT Z_PK FROM \(owners)) AND \(member) IN (SELECT Z_PK FROM \(members))"
                )
                guard try source.stepping(statement) else { continue }
                total = Int(clamping: statement.integer(0))
                least = max(least, total - Int(clamping: statement.integer(1)))
            }
            guard least > 0 else { continue }
            lines.append(
                LinksNotMade(
                    relationship: naming.label, source: set.relationship.label, cause: .taken, links: least,
                    ofLinks: total, objects: []))
        }
        return lines.sorted { $0.order < $1.order }
    }

    /// Tells whether the objects at both ends all come along, to entities that the relationships can hold.
    private func isWhole(_ readings: LinkReadings) -> Bool {
        let set = readings.set
        for (entity, isOwner) in [(set.relationship.entity, true), (set.relationship.destination, false)] {
            for entity in entity.withDescendants {
                let making = mappings.filter { $0.reads(entity) && $0.destination != nil }
                guard making.count == 1, making[0].filter == nil, !making[0].sharesObjects,
                    let made = making[0].destination
                else { return false }
                let fits = readings.readings.allSatisfy { reading in
                    let end =
                        reading.isForward == isOwner
                        ? reading.planned.relationship.entity : reading.planned.relationship.destination
                    return made.isKindOf(entity: end)
                }
                guard fits else { return false }
            }
        }
        return true
    }

    /// Returns the table of a set's links, and the columns of owners and members.
    private func columns(of set: SourceLinkSet) -> (table: String, owner: String, member: String) {
        switch set.links.place {
        case .owners(let table, let column):
            (layout.tables[table].name.quoted, "Z_PK", layout.tables[table].columns[column].quoted)
        case .members(let table, let column):
            (layout.tables[table].name.quoted, layout.tables[table].columns[column].quoted, "Z_PK")
        case .join(let table, let side):
            (
                layout.joinTables[table].name.quoted, layout.joinTables[table].sides[side].column.quoted,
                layout.joinTables[table].sides[1 - side].column.quoted
            )
        }
    }
}
