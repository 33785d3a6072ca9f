import CoreDataStore
import Diagnostics
import ManagedModel

/// The links for which the destination has no room, counted in the source before anything is made.
///
/// A relationship of the destination may have room for one partner where the source has many. Of the links of an object beyond the
/// first, none can be made, whoever decides. Filters and rules may leave objects out, so the count is one of the source as it is.
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
            // Code and filters decide for themselves: they are counted when the links are made.
            guard let naming = readings.naming, readings.losesLinks, !readings.hasUserCode,
                readings.readings.allSatisfy({ $0.mapping.filter == nil })
            else { continue }
            let (table, owner, member) = columns(of: set)
            let room = readings.readings.map { readings.room(of: $0) }
            var least = 0
            var total = 0
            for (column, isFull) in [
                (owner, room.allSatisfy { !$0.manyMembers }), (member, room.allSatisfy { !$0.manyOwners }),
            ] where isFull {
                let statement = try source.query(
                    "SELECT count(*), count(DISTINCT \(column)) FROM \(table) "
                        + "WHERE \(owner) IS NOT NULL AND \(member) IS NOT NULL")
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
