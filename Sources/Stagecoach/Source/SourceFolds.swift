import CoreDataStore
import Diagnostics
import Mapping
import Rows

/// Receives a member of a collection: its owner's place, and the member's row as a batch and an index.
typealias ShownMember = (Int, borrowing RowBatch, Int) throws(MigrationError) -> Void

/// The values of source rows that are folded over to-many relationships. Each collection costs one grouped read per batch,
/// whatever the number of rows, and never one read per object.
///
/// In a scan, the members are one stream that is read in parallel with the owners. In other cases (objects that rows refer to,
/// collections of members, rows at random) the members are read by their owners' keys, many keys in one statement.
///
/// Memory: a few words for each owner of the batch and fold, and a batch of members for each collection; never all members of
/// an owner.
final class SourceFolds {
    private let runs: [GroupRun]

    /// - Parameters:
    ///   - isScan: true if batches come in ascending key order, as in a scan of the table.
    ///   - depth: the number of enclosing collections; their members' batches are smaller.
    init(run: MigrationRun, slots: SourceColumns, isScan: Bool, depth: Int = 0) throws(MigrationError) {
        runs = try slots.folds.map { group throws(MigrationError) in
            try GroupRun(run: run, group: group, isScan: isScan, depth: depth)
        }
    }

    /// Fills the computed slots of all rows of a batch.
    ///
    /// - Throws: the errors of reading. Errors in values are thrown by the program that uses them.
    func fill(_ batch: inout RowBatch) throws(MigrationError) {
        guard !batch.isEmpty else { return }
        for run in runs { try run.fill(&batch) }
    }
}

extension SourceFolds {
    /// Shows the members of the last collection that its condition admits, for all rows of a batch. The other collections are
    /// folded first, because the condition may use them.
    ///
    /// - Parameter body: receives the row's place in the batch and the member's row.
    func forEachMember(_ batch: inout RowBatch, _ body: ShownMember) throws(MigrationError) {
        guard !batch.isEmpty, let last = runs.last else { return }
        for run in runs.dropLast() { try run.fill(&batch) }
        try last.forEachMember(&batch, body)
    }
}

/// The folds over one collection, with their state.
private final class GroupRun {
    /// An owner's row in the batch.
    private struct Owner {
        let key: Int64
        let row: Int
    }

    private let group: FoldGroup
    /// The reader of all owners' members in parallel with a scan; nil if there is no scan.
    private let stream: MemberReader?
    /// The reader of members by their owners' keys; made on first use.
    private var byKey: MemberReader?
    private let run: MigrationRun
    private let nested: SourceFolds
    private var members: RowBatch
    private var owners: [Owner] = []
    /// The index in ``owners`` at which each distinct key begins.
    private var starts: [Int] = []
    private var states: [FoldState] = []
    private var lastKey: Int64?
    /// The folded values of objects that rows refer to. Many rows refer to the same few objects.
    private var known: [Int64: [Cell]] = [:]
    /// The number of changes of source objects at which they were known.
    private var knownChanges = 0
    private static let knownAtMost = 4096

    init(run: MigrationRun, group: FoldGroup, isScan: Bool, depth: Int) throws(MigrationError) {
        self.run = run
        self.group = group
        stream =
            isScan && group.anchorSlot == nil
            ? try MemberReader(run.inputs.source, group.selection, in: run.inputs.layout) : nil
        nested = try SourceFolds(run: run, slots: group.members, isScan: false, depth: depth + 1)
        let slots = group.members.columns.count
        let bytes = max(32 << 10, run.inputs.budget.batch >> (depth + 2))
        members = RowBatch(
            slots: slots, rowCapacity: min(run.inputs.rowCapacity(slots: slots), max(1, bytes / (16 * slots + 8))),
            byteTarget: bytes)
    }

    /// True if members are compared with values of their owner's row. Then rows of one owner may get different results.
    private var isCorrelated: Bool { !group.members.copies.isEmpty }

    func forEachMember(_ batch: inout RowBatch, _ body: ShownMember) throws(MigrationError) {
        findOwners(&batch)
        guard !owners.isEmpty, let program = group.folds.first?.program else { return }
        try readMembers(&batch) { place, members, row throws(MigrationError) in
            guard try program.admits(members, row: row) else { return }
            if isCorrelated { return try body(owners[place].row, members, row) }
            let end = place + 1 < starts.count ? starts[place + 1] : owners.count
            for index in starts[place]..<end { try body(owners[index].row, members, row) }
        }
    }

    func fill(_ batch: inout RowBatch) throws(MigrationError) {
        findOwners(&batch)
        guard !owners.isEmpty else { return }
        let count = isCorrelated ? owners.count : starts.count
        states.removeAll(keepingCapacity: true)
        for _ in 0..<count * group.folds.count { states.append(FoldState()) }
        try readMembers(&batch) { place, members, row throws(MigrationError) in
            for (index, fold) in group.folds.enumerated() {
                fold.program.fold(members, row: row, into: &states[place * group.folds.count + index])
            }
        }
        store(into: &batch)
    }

    /// Shows the members of all current owners with the place of their owner: an index into ``owners`` if they are correlated,
    /// otherwise an index into ``starts``.
    private func readMembers(_ batch: inout RowBatch, _ body: ShownMember) throws(MigrationError) {
        guard let stream else { return try readByKey(&batch, body) }
        let (first, last) = (owners[0].key, owners[owners.count - 1].key)
        if let lastKey, first <= lastKey { stream.restart() }
        lastKey = last
        try read(stream, from: first, through: last, &batch, body)
    }

    /// Lists the rows by owner. Rows without an owner, or with known values, are filled at once.
    private func findOwners(_ batch: inout RowBatch) {
        owners.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        let changes = run.sourceChanges?.made ?? 0
        if known.count > GroupRun.knownAtMost || changes != knownChanges { known = [:] }
        knownChanges = changes
        var isAscending = true
        for row in 0..<batch.count {
            var key = batch.key(row)
            if let slot = group.anchorSlot {
                let cell = batch[row, slot]
                guard cell.kind == .integer else {
                    for fold in group.folds {
                        if fold.program.isNilWithoutOwner {
                            batch[row, fold.slot] = .null
                        } else {
                            fold.program.store(FoldState(), into: &batch, row: row, slot: fold.slot)
                        }
                    }
                    continue
                }
                key = cell.integerValue
                if let values = known[key] {
                    for (fold, value) in zip(group.folds, values) { batch[row, fold.slot] = value }
                    continue
                }
            }
            if let last = owners.last, last.key > key { isAscending = false }
            owners.append(Owner(key: key, row: row))
        }
        if !isAscending { owners.sort { ($0.key, $0.row) < ($1.key, $1.row) } }
        for (index, owner) in owners.enumerated() where index == 0 || owners[index - 1].key != owner.key {
            starts.append(index)
        }
    }

    private func readByKey(_ batch: inout RowBatch, _ body: ShownMember) throws(MigrationError) {
        let reader: MemberReader
        if let byKey {
            reader = byKey
        } else {
            reader = try MemberReader(run.inputs.source, group.selection, isByKey: true, in: run.inputs.layout)
            byKey = reader
        }
        var position = 0
        while position < starts.count {
            let end = min(starts.count, position + MemberReader.keysAtOnce)
            let keys = starts[position..<end].map { owners[$0].key }
            reader.ask(for: keys[...])
            try read(reader, from: keys[0], through: keys[keys.count - 1], &batch, body)
            position = end
        }
        // A statement that was reset holds no page.
        reader.restart()
    }

    /// Shows the members that a reader gives for the owners between two keys.
    private func read(
        _ reader: MemberReader, from first: Int64, through last: Int64, _ batch: inout RowBatch, _ body: ShownMember
    ) throws(MigrationError) {
        var place = 0
        while try reader.next(into: &members, from: first, through: last) {
            if isCorrelated {
                try readCorrelated(&place, &batch, body)
                continue
            }
            try nested.fill(&members)
            for row in 0..<members.count where find(members[row, 0].integerValue, from: &place) {
                try body(place, members, row)
            }
        }
    }

    /// Moves forward to the place of a key among the distinct keys. Returns false if it is not among them.
    private func find(_ key: Int64, from place: inout Int) -> Bool {
        while place < starts.count, owners[starts[place]].key < key { place += 1 }
        return place < starts.count && owners[starts[place]].key == key
    }

    /// Shows members once for each row of their owner, with that row's values.
    private func readCorrelated(
        _ place: inout Int, _ batch: inout RowBatch, _ body: ShownMember
    ) throws(MigrationError) {
        var work = RowBatch(slots: members.slots, rowCapacity: members.rowCapacity, byteTarget: members.byteTarget)
        var targets: [Int] = []
        for row in 0..<members.count {
            guard find(members[row, 0].integerValue, from: &place) else { continue }
            let end = place + 1 < starts.count ? starts[place + 1] : owners.count
            for target in starts[place]..<end {
                if work.isFull { try show(&work, &targets, body) }
                let copy = work.appendRow(key: members.key(row))
                for slot in 0..<members.slots {
                    work.copy(members[row, slot], from: members, row: copy, slot: slot)
                }
                for outer in group.members.copies {
                    work.copy(batch[owners[target].row, outer.from], from: batch, row: copy, slot: outer.to)
                }
                targets.append(target)
            }
        }
        try show(&work, &targets, body)
    }

    private func show(_ work: inout RowBatch, _ targets: inout [Int], _ body: ShownMember) throws(MigrationError) {
        try nested.fill(&work)
        for row in 0..<work.count { try body(targets[row], work, row) }
        work.removeAll()
        targets.removeAll(keepingCapacity: true)
    }

    private func store(into batch: inout RowBatch) {
        var place = -1
        for (index, owner) in owners.enumerated() {
            if place + 1 < starts.count, starts[place + 1] == index { place += 1 }
            let first = (isCorrelated ? index : place) * group.folds.count
            for (offset, fold) in group.folds.enumerated() {
                fold.program.store(states[first + offset], into: &batch, row: owner.row, slot: fold.slot)
            }
            guard group.anchorSlot != nil, !isCorrelated, known[owner.key] == nil else { continue }
            let values = group.folds.map { batch[owner.row, $0.slot] }
            if !values.contains(where: \.hasBytes) { known[owner.key] = values }
        }
    }
}
