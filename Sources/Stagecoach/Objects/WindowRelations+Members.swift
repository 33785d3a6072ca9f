import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// Members of objects that are themselves reached from a window. One statement reads them for many owners, wherever the
/// owners' keys lie.
extension WindowRelations {
    /// Returns the members of an owner, with those of the owners reached after it; nil if it has to be read alone.
    func deepMembers(
        of owner: Int64, _ relationship: RelationshipDescription, ownerTable: Int, memberTable: Int
    ) throws(MigrationError) -> ArraySlice<Member>? {
        let reference = relationship.reference
        if let known = members[reference], known.holds(owner) { return known.members(of: owner) }
        let owners = keys(beside: owner, table: ownerTable)
        guard owners.count > 1, isAskedAgain(reference),
            let group = try read(relationship, owners, memberTable: memberTable), group.holds(owner)
        else { return nil }
        keep(group, reference, table: memberTable)
        return group.members(of: owner)
    }

    /// Returns the keys that were reached with one key of a table, from it on, ascending; empty if there are none.
    private func keys(beside key: Int64, table: Int) -> [Int64] {
        let count = MemberReader.keysAtOnce
        if let found = listed[table]?.keys(from: key, atMost: count), !found.isEmpty { return Set(found).sorted() }
        guard let asked = related(table, key)?.asked else { return [] }
        return Array(asked.filter { $0 >= key }.sorted().prefix(count))
    }

    private func read(
        _ relationship: RelationshipDescription, _ owners: [Int64], memberTable: Int
    ) throws(MigrationError) -> Members? {
        let schema = run.inputs.layout.schema
        let slots = SourceColumns(entity: relationship.entity, schema: schema)
        guard let path = slots.memberPath([relationship]) else { return nil }
        var columns: [SelectedColumn] = [.computed(0), .own(EntityTable.entityColumn)]
        var selection = MemberSelection(path: path, columns: columns, ownerSlot: 0)
        if relationship.isOrdered {
            switch schema.storage(of: relationship) {
            case .toManyByInverse(_, _, _, let order?), .toManyHidden(_, _, let order?): columns.append(.own(order))
            case .join:
                columns.append(.computed(2))
                selection.placeSlot = 2
            default: return nil
            }
            selection.columns = columns
        }
        let reader = try MemberReader(run.inputs.source, selection, isByKey: true, in: run.inputs.layout)
        reader.ask(for: owners[...])
        var batch = RowBatch(slots: columns.count, rowCapacity: 256, byteTarget: 32 << 10)
        var found: [(owner: Int64, member: Member)] = []
        var asked = Set(owners)
        while try reader.next(into: &batch, from: owners[0], through: owners[owners.count - 1]) {
            for row in 0..<batch.count {
                let order = columns.count > 2 && batch[row, 2].kind == .integer ? batch[row, 2].integerValue : nil
                let number = batch[row, 1].kind == .integer ? Int(truncatingIfNeeded: batch[row, 1].integerValue) : 0
                found.append(
                    (batch[row, 0].integerValue, Member(key: batch.key(row), fileNumber: number, order: order)))
            }
            guard found.count > memberLimit, let last = found.last?.owner else { continue }
            // The last owner's members are incomplete.
            found.removeAll { $0.owner >= last }
            asked = asked.filter { $0 < last }
            break
        }
        groupedReads += 1
        let first = Int64.min
        found.sort {
            ($0.owner, $0.member.order ?? first, $0.member.key) < ($1.owner, $1.member.order ?? first, $1.member.key)
        }
        var starts: [Int64: Range<Int>] = [:]
        for (index, pair) in found.enumerated() {
            starts[pair.owner] = (starts[pair.owner]?.lowerBound ?? index)..<(index + 1)
        }
        return Members(asked: asked, starts: starts, members: found.map(\.member))
    }
}
