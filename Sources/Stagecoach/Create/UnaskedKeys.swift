import PersistentStore

/// The source tables whose keys nobody looks up before all their rows are read: their keys need no scan of their own, the load
/// that reads them first notes them. For tables that are referred to by later ones only, or by none, that saves a reading of
/// all their pages.
///
/// Only what is plain on its face: one mapping model whose mappings read every row of the table's only entity, and none of
/// them shares its step with others or is cut. Where objects may be rejected, and in a run that goes on from a killed one, all
/// keys are scanned.
struct UnaskedKeys {
    let session: MigrationSession
    let mappings: [PlannedMapping]
    let work: PlannedWork
    let links: LinkPlan

    /// The tables, by index in the source schema, and the mapping whose load notes the keys.
    var noting: [Int: Int] {
        guard session.validation.ledger == nil, session.checkpoints?.resumed == nil, session.unmigrated == nil,
            links.columns.isEmpty, session.mappingCount == mappings.count,
            mappings.allSatisfy({ !$0.isEarlier && $0.filter == nil && !$0.needsObjects })
        else { return [:] }
        let asked = firstAsked
        let course = course
        var found: [Int: Int] = [:]
        for table in Set(mappings.compactMap(\.sourceTable)).sorted() {
            let reading = mappings.filter { $0.sourceTable == table }
            guard session.layout.schema.tables[table].entities.count == 1, reading.allSatisfy(isPlain),
                let first = reading.min(by: { course.step[$0.index] ?? .max < course.step[$1.index] ?? .max }),
                course.step[first.index] ?? .max < asked[table] ?? .max
            else { continue }
            found[table] = first.index
        }
        return found
    }

    /// Whether a mapping's rows are all read in one step, and no keys depend on how many there are.
    private func isPlain(_ mapping: PlannedMapping) -> Bool {
        guard mapping.isDeclarative,
            let planned = work.tables.first(where: { $0.mappings.contains(mapping.index) }),
            planned.keys == .sequential ? planned.mappings.last == mapping.index : planned.mappings.count == 1
        else { return false }
        let own = work.passes.flatMap(\.steps).filter { $0.table == planned.table }
        return own.count == 1 && own[0].isFirst && own[0].isLast && own[0].range == .all
    }

    /// When what is loaded: the number of each mapping's first step and of each join table, by index.
    private var course: (step: [Int: Int], join: [Int: Int]) {
        var (step, join): ([Int: Int], [Int: Int]) = ([:], [:])
        var number = 0
        for pass in work.passes {
            for part in pass.steps {
                for mapping in part.mappings where step[mapping] == nil { step[mapping] = number }
                number += 1
            }
            for table in pass.joinTables {
                join[table] = number
                number += 1
            }
        }
        return (step, join)
    }

    /// When a table's keys are looked up first, but by its own rows, each of which looks itself up; -1: before the load.
    private var firstAsked: [Int: Int] {
        let course = course
        var asked: [Int: Int] = [:]
        func note(_ tables: [Int?], at number: Int?) {
            for table in tables.compactMap(\.self) { asked[table] = min(asked[table] ?? .max, number ?? -1) }
        }
        func tables(_ planned: PlannedRelationship) -> (argument: SourceArgument, all: [Int?])? {
            guard case .lookup(let argument, let candidates)? = planned.value else { return nil }
            return (argument, [argument.table] + candidates.map { mappings[$0].sourceTable })
        }
        for (index, references) in links.direct {
            for reference in references {
                guard let (argument, found) = tables(reference.planned) else { continue }
                if case .object = argument, found.allSatisfy({ $0 == mappings[index].sourceTable }) { continue }
                note(found, at: course.step[index])
            }
        }
        for (mapping, planned) in links.counted { note((tables(planned)?.all ?? []) + [mapping.sourceTable], at: nil) }
        for mapping in mappings {
            for planned in mapping.relationships {
                guard case .join(let join, _) = session.destinationSchema.storage(of: planned.relationship) else {
                    continue
                }
                note((tables(planned)?.all ?? []) + [mapping.sourceTable], at: course.join[join])
            }
        }
        return asked
    }
}
