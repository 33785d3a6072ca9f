import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// Stage 1 on the policy path: makes the rows and associations of the entity mappings, one mapping after the other.
struct CreateStage: ModelStage {
    let stage: StageInputs
    let policies: Policies
    let runtime: PolicyRuntime
    let stages: PolicyCheckpoint

    private var caller: PolicyCaller { PolicyCaller(modelRun: modelRun, runtime: runtime) }

    /// Runs the stage for one mapping.
    ///
    /// - Parameters:
    ///   - part: the position from which the mapping resumes.
    ///   - own: the keys of its rows, if it has no policy.
    ///   - noting: collects the keys of its source rows; nil if they are known.
    func create(
        _ mapping: PlannedMapping, keys own: DestinationKeys?, from part: StagePosition, noting: KeyIndex?
    ) throws {
        modelRun.services.begin(.create, [mapping.name])
        guard !mapping.belongsToPreviousModel else { return }
        guard let policy = policies[mapping] else {
            if let own { try createRows(mapping, own, from: part) }
            return
        }
        stage.manager.enter(mapping.mapping)
        runtime.objects.creating = mapping.index
        defer { runtime.objects.creating = nil }
        if !part.hasBegun {
            try caller.call(mapping, .begin) { try policy.begin(mapping.mapping, with: stage.manager) }
        }
        if mapping.source != nil {
            try createObjects(mapping, policy, from: part, noting: noting)
        }
        try caller.call(mapping, .endInstanceCreation) {
            try policy.endInstanceCreation(forMapping: mapping.mapping, manager: stage.manager)
        }
    }

    /// Creates the rows of a mapping without user code, in batches, without making objects.
    private func createRows(
        _ mapping: PlannedMapping, _ own: DestinationKeys, from part: StagePosition
    ) throws {
        guard let entity = mapping.destination, let table = mapping.destinationTable, let source = mapping.sourceTable,
            let sourceEntity = mapping.source
        else { return }
        let rows = runtime.objects.rows[table]
        let run: DestinationRows.Run
        if part.hasBegun {
            run = rows.reopenRun(for: own)
        } else if own.mode == .sequential {
            own.base = try rows.reserveKeys(own.index.count)
            run = rows.openLastRun()
        } else {
            run = rows.addRun(for: own)
        }
        runtime.associations[mapping.index].isCreated = true
        if !mapping.dynamicAttributes.isEmpty {
            return try DynamicRows(modelRun: modelRun, runtime: runtime, mapping: mapping, keys: own).create(
                in: rows, run)
        }
        var slots = SourceColumns(
            entity: sourceEntity, schema: modelRun.inputs.layout.schema, columns: [.own(EntityTable.lockColumn)])
        let program = try AttributeProgram(
            mapping: mapping, slots: &slots, indexed: modelRun.inputs.indexedColumns(of: mapping),
            external: modelRun.external, tally: modelRun.tally)
        let changed = try ChangedSourceRows(runtime: runtime, mapping: mapping, keys: own, slots: &slots)
        let number = Int64(modelRun.inputs.destinationSchema.number(of: entity))
        var batch = modelRun.inputs.sourceBatch(slots: slots.columns.count)
        let filling = try RowFill([own], run: modelRun.run, slots: slots, table: source)
        for range in part.rest(of: stage.work.ranges(ofMapping: mapping.index)) {
            let reader = try SourceReader(
                run: modelRun.run, slots: slots, table: source, entities: [sourceEntity.index], range: range,
                streams: true, filling: filling)
            while try reader.next(into: &batch) {
                try modelRun.services.checkCancelled()
                var made = 0
                for row in 0..<batch.count {
                    guard let key = try own.destinationKey(of: batch.key(row)),
                        try changed?.passes(batch, row) ?? true
                    else { continue }
                    if run.open.isFull { try rows.flush(run) }
                    let target = run.open.appendRow(key: key)
                    run.open[target, EntityTable.entityColumn] = .integer(number)
                    let lock = batch[row, 0]
                    run.open[target, EntityTable.lockColumn] =
                        own.mode == .kept && lock.kind == .integer ? lock : .integer(1)
                    do throws(MigrationError) {
                        try program.run(batch, row: row, into: &run.open, destinationRow: target)
                    } catch {
                        try modelRun.validation.note(
                            error, ValueSubject(table: table, key: key, entity: entity))
                    }
                    made += 1
                }
                modelRun.services.progress.advance(rows: batch.count)
                modelRun.tally.counts.mappings[mapping.index].created += made
                modelRun.tally.counts.created[entity.definition.name, default: 0] += made
                if batch.count > 0 {
                    try stages.reach(
                        StagePosition(
                            phase: .create, mapping: mapping.index, hasBegun: true, after: batch.key(batch.count - 1)))
                }
            }
        }
        try changed?.finish()
    }

    private func createObjects(
        _ mapping: PlannedMapping, _ policy: EntityMigrationPolicy, from part: StagePosition, noting: KeyIndex?
    ) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        let current = try runtime.current(mapping)
        let program = try runtime.creation.program(of: current)
        var slots = program.slots
        let filter = try mapping.filter.map { predicate throws(MigrationError) in
            try SourceFilter(predicate, of: mapping, slots: &slots)
        }
        let variables: [String: Any?] = [
            "manager": stage.manager, "entityMapping": mapping.mapping, "entityPolicy": policy,
        ]
        let sources = runtime.sources
        let given = try mapping.sourceExpression.map { expression in
            try FetchedSources(modelRun: modelRun, runtime: runtime, mapping: mapping).evaluate(expression, variables)
        }
        sources.openWindow(modelRun.inputs.sourceBatch(slots: slots.columns.count), table: table)
        runtime.creation.scanning = program
        defer {
            runtime.creation.scanning = nil
            sources.closeWindow()
        }
        let creation = ObjectCreation(
            mapping: current, source: entity, policy: policy, manager: stage.manager, runtime: runtime,
            program: program, filter: filter, slots: slots, variables: variables
        ) { caller.failure($0, mapping, .createDestinationInstances, $1) }
        if let given {
            creation.line.sourceObjects += given.count - given.own
            creation.line.filtered += max(0, creation.line.sourceObjects - given.count)
        }
        caller.begin(mapping, .createDestinationInstances, entity)
        defer { runtime.userCode.end() }
        try caller.inScope {
            if let given {
                try given.forEachBatch(slots) { places in
                    try modelRun.services.checkCancelled()
                    for place in places {
                        try creation.create(
                            place.entity, place.table, place.key, sources.rowInWindow(table: table, key: place.key))
                    }
                    modelRun.services.progress.advance(rows: places.count)
                }
            } else {
                let ranges = part.rest(of: stage.work.ranges(ofMapping: mapping.index))
                try createObjects(creation, ranges, slots, noting: noting)
            }
        }
        modelRun.tally.counts.mappings[mapping.index] = creation.line
        try runtime.associations[mapping.index].pairs.prepareForLookups()
    }

    /// Creates the objects of the rows in some key ranges, batch by batch.
    private func createObjects(
        _ creation: ObjectCreation, _ ranges: [SourceKeyRange], _ slots: SourceColumns,
        noting: KeyIndex?
    ) throws {
        let (mapping, sources) = (creation.mapping, creation.runtime.sources)
        guard let table = mapping.sourceTable else { return }
        /// Notes that rows of the current batch are done.
        func advance(_ count: Int, last row: Int) throws {
            modelRun.services.progress.advance(rows: count)
            modelRun.tally.counts.mappings[mapping.index] = creation.line
            try stages.reach(
                StagePosition(
                    phase: .create, mapping: mapping.index, hasBegun: true, after: sources.window.key(row)))
        }
        creation.beginPreparing()
        defer { creation.endPreparing() }
        for range in ranges {
            let reader = try SourceReader(
                run: modelRun.run, slots: slots, table: table, entities: [creation.source.index], range: range,
                streams: true)
            while try reader.next(into: &sources.window) {
                try modelRun.services.checkCancelled()
                let count = sources.window.count
                try noting?.append(contentsOf: sources.window.keys(0..<count))
                var row = 0
                while row < count {
                    // User code may take long, so do not wait for the batch's end before a checkpoint.
                    let next = min(row + 32, count)
                    try creation.create(rows: row..<next, table: table)
                    try advance(next - row, last: next - 1)
                    row = next
                }
                try creation.finishBatch()
            }
        }
    }
}
