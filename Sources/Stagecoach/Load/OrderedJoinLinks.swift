import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import SpillStorage

/// The rows of a join table whose source links are already in the order of the destination's keys. They are written as they are
/// read, without a sort.
///
/// This is possible if one mapping on each side makes the objects, both read one many-to-many relationship of the source, and
/// no link has a place in an order. Both kept keys and sequential keys follow the order of the source's keys.
struct OrderedJoinLinks: ModelStage {
    let stage: StageInputs
    private let joinTable: Int
    /// The source's join table, and the side in it of the objects on side 0.
    private let source: (table: Int, side: Int)
    /// The keys of the objects on both sides, and of all rows of their source tables.
    private let keys: [DestinationKeys]
    private let existing: [KeyIndex?]
    /// The source tables of the objects on both sides, and the relationships that lead to the other side.
    private let tables: [Int]
    private let counted: [CountedRelationship]

    /// - Returns: nil if the links have to be sorted.
    init?(
        stage: StageInputs, mappings: [PlannedMapping], keys: PlanKeys, joinTable: Int
    ) throws {
        let modelRun = stage.modelRun
        let schema = modelRun.inputs.destinationSchema
        let join = schema.joinTables[joinTable]
        let sides = join.sides.compactMap { side in
            schema.model.entity(at: side.relationship.entity).relationship(named: side.relationship.name)
        }
        // Existing rows may have indexes, and references that find nothing may be set later.
        guard modelRun.missing.unmigrated == nil, !modelRun.keysBefore.hasRows.contains(true),
            !modelRun.inputs.options.appendsToExisting,
            sides.count == 2, sides[0] != sides[1], join.sides.allSatisfy({ $0.orderColumn == nil })
        else { return nil }
        let lookups = sides.map { LinkPlanner.lookups(of: $0, among: mappings) }
        guard lookups.allSatisfy({ $0.count == 1 }),
            JoinLinkSort.isMirror(sides[0], sides[1], among: mappings),
            case .lookup(.toMany(let steps, let original, _), let candidates)? = lookups[0][0].1.value, steps.isEmpty,
            candidates.count == 1, !original.isOrdered,
            case .join(let table, let side) = modelRun.inputs.layout.schema.storage(of: original),
            modelRun.inputs.layout.joinTables[table].sides.allSatisfy({ $0.orderColumn == nil })
        else { return nil }
        let own = lookups.map { $0[0].0 }
        guard let first = keys.byMapping[own[0].index], let second = keys.byMapping[own[1].index],
            first.shared == nil, second.shared == nil, first.matched == nil, second.matched == nil,
            let firstTable = own[0].sourceTable, let secondTable = own[1].sourceTable
        else { return nil }
        self.stage = stage
        self.joinTable = joinTable
        source = (table, side)
        self.keys = [first, second]
        existing = [keys.byTable[firstTable], keys.byTable[secondTable]]
        tables = [firstTable, secondTable]
        counted = sides.map { CountedRelationship($0) }
    }

    /// Writes all rows.
    ///
    /// - Parameter prepare: called before the first row is written.
    /// - Returns: the number of links written.
    /// - Complexity: O(links); memory is two batches.
    func load(into writer: any TableWriter, prepare: (Int) throws -> Void) throws -> Int {
        try prepare(0)
        let reader = try modelRun.inputs.source.links(
            joinTable: source.table, in: modelRun.inputs.layout, orderedBySide: source.side)
        var links = modelRun.inputs.sourceBatch(slots: 4)
        var batch = modelRun.inputs.destinationBatch(slots: 2)
        let (firstKeys, secondKeys) = (KeyLookup(keys[0]), KeyLookup(keys[1]))
        let (firstSlot, secondSlot) = (source.side, 1 - source.side)
        let ends = LinkEnds(capacity: links.rowCapacity)
        var counts = ReferenceCounts()
        var last: (first: Int64, second: Int64)?
        var written = 0
        func sourceLink(_ row: Int) -> (first: Int64, second: Int64) {
            (links[row, firstSlot].integerValue, links[row, secondSlot].integerValue)
        }
        func flush() throws {
            guard !batch.isEmpty else { return }
            try writer.append(batch)
            modelRun.services.progress.advance(rows: batch.count)
            batch.removeAll()
        }
        while try reader.next(into: &links) {
            try modelRun.services.checkCancelled()
            try ends.find(links, firstKeys, slot: firstSlot, secondKeys, slot: secondSlot)
            for row in 0..<links.count {
                let (first, second) = (ends.first[row], ends.second[row])
                guard ends.hasFirst[row], ends.hasSecond[row] else {
                    // One object has no partner: the partner is not migrated or does not exist.
                    let (one, other) = sourceLink(row)
                    if ends.hasFirst[row] { try count(other, onSide: 1, of: ends.first[row], &counts) }
                    if ends.hasSecond[row] { try count(one, onSide: 0, of: ends.second[row], &counts) }
                    continue
                }
                if let last, last == (first, second) { continue }
                last = (first, second)
                if batch.isFull { try flush() }
                written += 1
                let target = batch.appendRow(key: Int64(written))
                batch[target, 0] = .integer(first)
                batch[target, 1] = .integer(second)
            }
        }
        try flush()
        modelRun.tally.add(counts)
        return written
    }

    /// Counts a missing partner of an object on the other side.
    private func count(
        _ key: Int64, onSide side: Int, of owner: Int64, _ counts: inout ReferenceCounts
    ) throws(MigrationError) {
        let relationship = counted[1 - side]
        if let existing = existing[side], try !existing.contains(key) {
            counts.add(relationship, .dangling, owner: owner)
        } else {
            try modelRun.missing.note(
                key, inTable: tables[side], number: nil, of: relationship, owner: owner, &counts)
        }
    }
}

/// The destination keys of a batch of links, looked up all at once.
private final class LinkEnds {
    let first: UnsafeMutableBufferPointer<Int64>
    let second: UnsafeMutableBufferPointer<Int64>
    let hasFirst: UnsafeMutablePointer<Bool>
    let hasSecond: UnsafeMutablePointer<Bool>

    init(capacity: Int) {
        first = .allocate(capacity: capacity)
        second = .allocate(capacity: capacity)
        hasFirst = .allocate(capacity: capacity)
        hasSecond = .allocate(capacity: capacity)
    }

    deinit {
        first.deallocate()
        second.deallocate()
        hasFirst.deallocate()
        hasSecond.deallocate()
    }

    func find(
        _ links: borrowing RowBatch, _ firstKeys: KeyLookup, slot firstSlot: Int, _ secondKeys: KeyLookup,
        slot secondSlot: Int
    ) throws(MigrationError) {
        for row in 0..<links.count {
            first[row] = links[row, firstSlot].integerValue
            second[row] = links[row, secondSlot].integerValue
        }
        try firstKeys.findKeys(.init(rebasing: first[..<links.count]), found: hasFirst)
        try secondKeys.findKeys(.init(rebasing: second[..<links.count]), found: hasSecond)
    }
}
