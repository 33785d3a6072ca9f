import CoreDataStore
import ManagedModel

/// Finds the source's references to rows that do not exist. A migration makes them nil and counts them; `check` reports
/// where they are.
struct DanglingReferences {
    let run: MigrationRun
    /// The keys of the source tables.
    let keys: PlanKeys?
    let mappings: [PlannedMapping]

    /// The dangling references of one relationship.
    struct Line {
        let entity: String
        let property: String
        var count = 0
        /// The keys of the first objects with such a reference.
        var first: [Int64] = []
    }

    /// Checks every relationship of a mapping's source entity that the mapping's lookups read.
    ///
    /// - Complexity: a scan of each table or join table; memory for one batch.
    func lines() throws -> [Line] {
        var lines: [Line] = []
        var seen: Set<String> = []
        for mapping in mappings {
            guard let entity = mapping.source, let table = mapping.sourceTable else { continue }
            for planned in mapping.relationships {
                guard case .lookup(let argument, _)? = planned.value, let read = argument.singleRelationship,
                    seen.insert("\(entity.index) \(read.name)").inserted
                else { continue }
                let line = try line(read, of: entity, table: table)
                if line.count > 0 { lines.append(line) }
            }
        }
        return lines.sorted { ($0.entity, $0.property) < ($1.entity, $1.property) }
    }

    private func line(_ relationship: RelationshipDescription, of entity: EntityDescription, table: Int) throws -> Line
    {
        var line = Line(entity: entity.definition.name, property: relationship.name)
        let target = run.inputs.layout.schema.tableIndex(of: relationship.destination)
        guard let existing = keys?.byTable[target] else { return line }
        func note(_ owner: Int64, _ member: Int64) throws {
            guard try !existing.contains(member) else { return }
            line.count += 1
            if line.first.count < ViolationTally.samples { line.first.append(owner) }
        }
        switch run.inputs.layout.schema.storage(of: relationship) {
        case .toOne(_, let column, _, _):
            let reader = try run.inputs.source.rows(
                RowSelection(table: table, columns: [.own(column)], entities: [entity.index]), in: run.inputs.layout)
            var batch = run.inputs.sourceBatch(slots: 1)
            while try reader.next(into: &batch) {
                try run.services.checkCancelled()
                for row in 0..<batch.count where batch[row, 0].kind == .integer {
                    try note(batch.key(row), batch[row, 0].integerValue)
                }
            }
        case .join(let join, let side):
            let own = keys?.byTable[table]
            let reader = try run.inputs.source.links(joinTable: join, in: run.inputs.layout, orderedBySide: side)
            var batch = run.inputs.sourceBatch(slots: 4)
            while try reader.next(into: &batch) {
                try run.services.checkCancelled()
                for row in 0..<batch.count {
                    let owner = batch[row, side].integerValue
                    guard try own?.contains(owner) ?? true else { continue }
                    try note(owner, batch[row, 1 - side].integerValue)
                }
            }
        // Members that are found by a column of their own exist.
        case .toManyByInverse, .toManyHidden, .none: break
        }
        return line
    }
}
