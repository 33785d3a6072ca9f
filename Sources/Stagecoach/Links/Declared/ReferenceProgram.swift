import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import SpillStorage

/// A program that looks up those to-one references of a mapping's rows for which the row itself suffices.
///
/// References that need more (a one-to-one pair, an order that has to be numbered, a deciding owner) are left null here and
/// merged in from ``ColumnPatches``.
struct ReferenceProgram {
    // A class, so that iterating over the steps for each row copies nothing.
    private final class Step {
        /// The slot with the source key; nil for the row's own key.
        let sourceSlot: Int?
        let candidates: [PlanKeys.Candidate]
        /// The candidate if there is only one, which is the common case.
        let only: PlanKeys.Candidate?
        /// All keys of the referenced table.
        let existing: KeyIndex?
        let column: Int
        let entityColumn: Int?
        /// The slot and the column of a copied place in an ordered to-many.
        let order: (slot: Int, column: Int)?
        /// The lookup's number among those whose references are kept; nil if references that find nothing are counted.
        let number: UInt64?
        let counted: CountedRelationship
        /// The table of the objects that are looked up.
        let sourceTable: Int

        init(
            sourceSlot: Int?, candidates: [PlanKeys.Candidate], existing: KeyIndex?, column: Int, entityColumn: Int?,
            order: (slot: Int, column: Int)?, number: UInt64?,
            counted: CountedRelationship, sourceTable: Int
        ) {
            self.counted = counted
            self.sourceTable = sourceTable
            self.sourceSlot = sourceSlot
            self.candidates = candidates
            only = candidates.count == 1 ? candidates[0] : nil
            self.existing = existing
            self.column = column
            self.entityColumn = entityColumn
            self.order = order
            self.number = number
        }

        /// Writes a found object into the row.
        @inline(__always)
        func put(_ key: Int64, _ entityNumber: Int64, _ batch: inout RowBatch, _ row: Int) {
            batch[row, column] = .integer(key)
            if let entityColumn { batch[row, entityColumn] = .integer(entityNumber) }
        }
    }

    private var steps: [Step] = []
    private let missing: MissingReferences

    /// - Parameters:
    ///   - direct: the relationships to look up here, each with the column of a copied ordering key.
    ///   - slots: collects the source columns that the program reads.
    ///   - missing: the handling of references that find nothing.
    init(
        mapping: PlannedMapping, direct: [DirectReference], keys: PlanKeys, missing: MissingReferences,
        in destination: StoreSchema, slots: inout SourceColumns
    ) {
        self.missing = missing
        for reference in direct {
            guard case .lookup(let argument, let candidates)? = reference.planned.value,
                case .toOne(_, let column, let entityColumn, let orderColumn) = reference.planned.storage
            else { continue }
            var sourceSlot: Int?
            switch argument {
            case .object: sourceSlot = nil
            case .toOne(let steps, let from, _, _): sourceSlot = slots.slot(steps: steps, column: from)
            case .toMany, .members: continue
            }
            var order: (slot: Int, column: Int)?
            if let from = reference.sourceOrderColumn, let orderColumn {
                order = (slots.slot(for: .own(from)), orderColumn)
            }
            steps.append(
                Step(
                    sourceSlot: sourceSlot,
                    candidates: keys.candidates(
                        candidates, table: argument.table, for: reference.planned.relationship, in: destination),
                    existing: keys.byTable[argument.table], column: column, entityColumn: entityColumn, order: order,
                    number: missing.unmigrated?.number(
                        of: reference.planned.relationship, sourceTable: argument.table),
                    counted: CountedRelationship(reference.planned.relationship), sourceTable: argument.table))
        }
    }

    /// Fills the reference columns of one destination row and counts references that find nothing.
    func run(
        _ source: borrowing RowBatch, row: Int, into destination: inout RowBatch, destinationRow: Int,
        counts: inout ReferenceCounts
    ) throws(MigrationError) {
        try withUnsafePointer(to: row) { row throws(MigrationError) in
            try run(
                source, rows: UnsafeBufferPointer(start: row, count: 1), into: &destination, from: destinationRow,
                counts: &counts)
        }
    }

    /// Fills the reference columns of neighbouring destination rows and counts references that find nothing.
    ///
    /// - Parameters:
    ///   - rows: the source rows of the destination rows.
    ///   - first: the first destination row.
    func run(
        _ source: borrowing RowBatch, rows: UnsafeBufferPointer<Int>, into destination: inout RowBatch,
        from first: Int, counts: inout ReferenceCounts
    ) throws(MigrationError) {
        // Steps are the outer loop: this retains and releases the objects of a step once, not once per row.
        for step in steps {
            if let only = step.only, rows.count > 1 {
                try run(
                    step, only.keys.matched, KeyLookup(only.keys), only.entityNumber, source, rows, &destination, first,
                    &counts)
                continue
            }
            for (offset, row) in rows.enumerated() {
                let destinationRow = first + offset
                guard let sourceKey = key(step.sourceSlot, source, row) else { continue }
                var found = false
                for candidate in step.candidates {
                    guard let key = try candidate.keys.foundKey(of: sourceKey) else { continue }
                    if found {
                        counts.add(of: step.counted)
                        continue
                    }
                    found = true
                    let matched = candidate.keys.matched
                    let entity =
                        try matched?.entityNumber(of: key, unlessOfSubentity: candidate.entityNumber)
                        ?? candidate.entityNumber
                    step.put(key, entity, &destination, destinationRow)
                }
                if found {
                    if let order = step.order { destination[destinationRow, order.column] = source[row, order.slot] }
                } else {
                    try note(step, sourceKey, owner: destination.key(destinationRow), &counts)
                }
            }
        }
    }

    /// Runs one step that has a single candidate, the common case: all keys are looked up at once.
    private func run(
        _ step: Step, _ matched: MatchedObjects?, _ only: KeyLookup, _ entityNumber: Int64,
        _ source: borrowing RowBatch,
        _ rows: UnsafeBufferPointer<Int>, _ destination: inout RowBatch, _ first: Int,
        _ counts: inout ReferenceCounts
    ) throws(MigrationError) {
        let space = UnsafeMutableBufferPointer<Int64>.allocate(capacity: rows.count)
        let places = UnsafeMutableBufferPointer<Int>.allocate(capacity: rows.count)
        let found = UnsafeMutableBufferPointer<Bool>.allocate(capacity: rows.count)
        defer {
            space.deallocate()
            places.deallocate()
            found.deallocate()
        }
        guard let flags = found.baseAddress else { return }
        var count = 0
        let slot = step.sourceSlot
        for place in 0..<rows.count {
            guard let key = key(slot, source, rows[place]) else { continue }
            space[count] = key
            places[count] = place
            count += 1
        }
        let keys = UnsafeMutableBufferPointer(rebasing: space[..<count])
        try only.findKeys(keys, found: flags)
        let (column, entityColumn, order) = (step.column, step.entityColumn, step.order)
        for index in 0..<count {
            let place = places[index]
            let target = first + place
            guard found[index] else {
                if let key = key(slot, source, rows[place]) {
                    try note(step, key, owner: destination.key(target), &counts)
                }
                continue
            }
            destination[target, column] = .integer(keys[index])
            if let entityColumn {
                let entity = try matched?.entityNumber(of: keys[index], unlessOfSubentity: entityNumber)
                destination[target, entityColumn] = .integer(entity ?? entityNumber)
            }
            if let order { destination[target, order.column] = source[rows[place], order.slot] }
        }
    }

    /// Returns the key to which a source row refers. Returns nil if there is none.
    @inline(__always)
    private func key(_ slot: Int?, _ source: borrowing RowBatch, _ row: Int) -> Int64? {
        guard let slot else { return source.key(row) }
        let cell = source[row, slot]
        // Only an integer can be a key; Core Data writes nothing else.
        return cell.kind == .integer ? cell.integerValue : nil
    }

    /// Counts or logs a reference that found nothing.
    private func note(
        _ step: Step, _ sourceKey: Int64, owner: Int64, _ counts: inout ReferenceCounts
    ) throws(MigrationError) {
        if let existing = step.existing, try !existing.contains(sourceKey) {
            counts.add(step.counted, .dangling, owner: owner)
        } else {
            try missing.note(
                sourceKey, inTable: step.sourceTable, number: step.number, of: step.counted, owner: owner, &counts)
        }
    }
}
