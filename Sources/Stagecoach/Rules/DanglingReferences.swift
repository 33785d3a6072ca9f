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
        let schema = run.inputs.layout.schema
        var lines: [Line] = []
        var seen: Set<String> = []
        for mapping in mappings {
            guard let entity = mapping.source, let table = mapping.sourceTable else { continue }
            let own = keys?.byTable[table]
            for planned in mapping.relationships {
                guard case .lookup(let argument, _)? = planned.value, let read = argument.singleRelationship,
                    seen.insert("\(entity.index) \(read.name)").inserted, let existing = keys?.byTable[argument.table]
                else { continue }
                switch schema.storage(of: read) {
                case .toOne, .join: break
                // Members that are found by a column of their own exist.
                case .toManyByInverse, .toManyHidden, .none: continue
                }
                var line = Line(entity: entity.definition.name, property: read.name)
                let isOwnInverse = LinkPlanner.mutualInverse(of: read) == read
                try SourcePairs(run: run).forEach(mapping, own ?? existing, argument) { owner, member, _ in
                    let (hasOwner, hasMember) = (try own?.contains(owner) ?? true, try existing.contains(member))
                    // The join row of a relationship that is its own inverse belongs to both ends.
                    guard hasOwner ? !hasMember : isOwnInverse && hasMember else { return }
                    line.count += 1
                    if line.first.count < ViolationTally.samples { line.first.append(hasOwner ? owner : member) }
                }
                if line.count > 0 { lines.append(line) }
            }
        }
        return lines.sorted { ($0.entity, $0.property) < ($1.entity, $1.property) }
    }
}
