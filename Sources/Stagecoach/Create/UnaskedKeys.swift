import PersistentStore

/// The source tables whose keys nobody looks up before all their rows are read: their keys need no scan of their own, the load
/// notes them. For the table that refers to others and is referred to by none, often the largest, that saves a reading of all
/// its pages.
///
/// Only what is plain on its face: one mapping model that reads every row of the table's only entity with one mapping, whose
/// rows go to one destination table in one step. Where objects may be rejected, and in a run that goes on from a killed one,
/// all keys are scanned.
struct UnaskedKeys {
    let session: MigrationSession
    let mappings: [PlannedMapping]
    let work: PlannedWork
    let links: LinkPlan

    /// The tables, by index in the source schema.
    var tables: Set<Int> {
        guard session.validation.ledger == nil, session.checkpoints?.resumed == nil, session.unmigrated == nil,
            links.columns.isEmpty, session.mappingCount == mappings.count,
            mappings.allSatisfy({ !$0.isEarlier && $0.filter == nil && !$0.needsObjects })
        else { return [] }
        let asked = askedTables
        let steps = work.passes.flatMap(\.steps)
        var found: Set<Int> = []
        for planned in work.tables {
            guard let last = planned.mappings.last, planned.keys == .sequential || planned.mappings.count == 1,
                mappings[last].isDeclarative, let table = mappings[last].sourceTable, !asked.contains(table),
                session.layout.schema.tables[table].entities.count == 1,
                mappings.filter({ $0.sourceTable == table }).count == 1
            else { continue }
            let own = steps.filter { $0.table == planned.table }
            guard own.count == 1, own[0].isFirst, own[0].isLast, own[0].range == .all else { continue }
            found.insert(table)
        }
        return found
    }

    /// Tables that lookups go to, or whose rows' lookups are not made with the rows themselves.
    private var askedTables: Set<Int> {
        var asked: Set<Int> = []
        func note(_ planned: PlannedRelationship) {
            guard case .lookup(let argument, let candidates)? = planned.value else { return }
            asked.insert(argument.table)
            asked.formUnion(candidates.compactMap { mappings[$0].sourceTable })
        }
        for reference in links.direct.values.joined() { note(reference.planned) }
        for (mapping, planned) in links.counted {
            note(planned)
            if let table = mapping.sourceTable { asked.insert(table) }
        }
        for mapping in mappings {
            for planned in mapping.relationships {
                guard case .join = session.destinationSchema.storage(of: planned.relationship) else { continue }
                note(planned)
                if let table = mapping.sourceTable { asked.insert(table) }
            }
        }
        return asked
    }
}
