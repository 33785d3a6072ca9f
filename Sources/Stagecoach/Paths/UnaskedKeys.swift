import CoreDataStore

/// The search for source tables whose keys are not looked up before all their rows are read. Their keys need no scan of their
/// own, because the load that reads the rows first collects them. This saves reading all pages of tables to which only later
/// tables refer, or none.
///
/// Only simple cases qualify: there is one mapping model; its mappings read every row of the table's only entity; and no
/// mapping shares its step with others or is cut. If objects may be rejected, all keys are scanned.
///
/// A resumed run scans all keys, because its load leaves out tables whose keys later ones may look up.
struct UnaskedKeys {
    let modelRun: ModelRun
    let mappings: [PlannedMapping]
    let work: PlannedWork
    let links: LinkPlan
    let isResumed: Bool

    /// The tables whose keys the load collects, each with the mapping whose rows they are.
    var tables: [Int: Int] {
        guard !isResumed, modelRun.validation.ledger == nil, modelRun.missing.unmigrated == nil, links.columns.isEmpty,
            modelRun.inputs.mappingCount == mappings.count,
            mappings.allSatisfy({
                !$0.belongsToPreviousModel && $0.filter == nil && !$0.sharesObjects && !$0.needsObjects
            })
        else { return [:] }
        let asked = asked
        let units = unitNumbers
        var found: [Int: Int] = [:]
        for table in Set(mappings.compactMap(\.sourceTable)) {
            let reading = mappings.filter { $0.sourceTable == table }
            guard modelRun.inputs.layout.schema.tables[table].entities.count == 1, reading.allSatisfy(isPlain),
                let (step, mapping) = reading.compactMap({ mapping in
                    units.steps[mapping.index]?.min().map { ($0, mapping.index) }
                }).min(by: { $0.0 < $1.0 }), step < asked[table]?.min() ?? .max
            else { continue }
            found[table] = mapping
        }
        return found
    }

    /// Tells whether a mapping's rows are all read in one step, and no other keys depend on their number.
    private func isPlain(_ mapping: PlannedMapping) -> Bool {
        guard mapping.isDeclarative,
            let planned = work.tables.first(where: { $0.mappings.contains(mapping.index) }),
            planned.keys == .sequential ? planned.mappings.last == mapping.index : planned.mappings.count == 1
        else { return false }
        let own = work.passes.flatMap(\.steps).filter { $0.table == planned.table }
        return own.count == 1 && own[0].isFirst && own[0].isLast && own[0].range == .all
    }

    /// The numbers of the units of each mapping and of each join table, by index.
    private var unitNumbers: (steps: [Int: Set<Int>], join: [Int: Int]) {
        var (steps, join): ([Int: Set<Int>], [Int: Int]) = ([:], [:])
        for (number, unit) in work.units.enumerated() {
            switch unit.content {
            case .step(let step): for mapping in step.mappings { steps[mapping, default: []].insert(number) }
            case .join(let table): join[table] = number
            }
        }
        return (steps, join)
    }

    /// The steps in which a table's keys are looked up by other tables' rows; -1 is before the load.
    private var asked: [Int: Set<Int>] {
        let units = unitNumbers
        var asked: [Int: Set<Int>] = [:]
        func note(_ tables: [Int?], at numbers: Set<Int>?) {
            for table in tables.compactMap(\.self) { asked[table, default: []].formUnion(numbers ?? [-1]) }
        }
        func tables(_ planned: PlannedRelationship) -> (argument: SourceArgument, all: [Int?])? {
            guard case .lookup(let argument, let candidates)? = planned.value else { return nil }
            return (argument, [argument.table] + candidates.map { mappings[$0].sourceTable })
        }
        for (index, references) in links.direct {
            for reference in references {
                guard let (argument, found) = tables(reference.planned) else { continue }
                // Rows that look themselves up come after their own keys.
                if case .object = argument, let table = mappings[index].sourceTable,
                    found.allSatisfy({ $0 == table })
                {
                    continue
                }
                note(found, at: units.steps[index])
            }
        }
        for (mapping, planned) in links.counted { note((tables(planned)?.all ?? []) + [mapping.sourceTable], at: nil) }
        for mapping in mappings {
            for planned in mapping.relationships {
                guard case .join(let join, _) = modelRun.inputs.destinationSchema.storage(of: planned.relationship)
                else { continue }
                note((tables(planned)?.all ?? []) + [mapping.sourceTable], at: units.join[join].map { [$0] })
            }
        }
        return asked
    }
}
