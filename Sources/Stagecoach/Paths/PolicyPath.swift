import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The policy path: user code may run, so the stages are barriers over all entity mappings.
///
/// Stage 1 makes rows (spilled) and associations. Stage 2 makes links (logged). In stage 3 policies validate and change
/// objects. Then the model's rules are checked, and every row is loaded once, its links merged in. A pass cuts the work
/// within a stage, by table or key range; policies see the same objects however the work is cut.
struct PolicyPath {
    let modelRun: ModelRun
    let checkpoints: CheckpointScheduler?
    let mappings: [PlannedMapping]
    let work: PlannedWork
    let policies: Policies
    let manager: MigrationManager
    let excuses: Bool
    let storeUUID: String

    /// Runs the stages once, then loads all tables.
    ///
    /// - Parameters:
    ///   - destination: the store whose existing rows policies see.
    ///   - load: called with the work that fills the store; does it as often as needed and returns Z_MAX by destination
    ///     table.
    func run(
        into destination: DestinationStore, load: (LoadRequest) throws -> [Int64]
    ) throws -> RowPath.Outcome {
        modelRun.beginReferences(mayBeSet: mappings.contains(where: \.hasPolicy))
        modelRun.services.begin(.keys)
        let awaited = awaitedKeys
        let scan = try KeyScan(
            run: modelRun.run, archive: modelRun.archive, keysBefore: modelRun.keysBefore, mappings: mappings,
            tables: work.tables, collectByObjects: ObjectFilterScan(modelRun: modelRun, manager: manager).collect,
            awaited: awaited
        ).scan()
        var keys = PlanKeys(byMapping: scan.byMapping, byTable: scan.byTable)
        modelRun.sourceKeys = keys
        keys.account(for: mappings, in: modelRun.tally)
        let runtime = makeRuntime(keys)
        try attach(runtime, to: destination)
        defer { detach(runtime) }
        let stages = PolicyCheckpoint(
            modelRun: modelRun, mappings: mappings, runtime: runtime, keys: keys, policies: policies, manager: manager)
        let start = try resume(stages)
        checkpoints?.draft.stages = stages
        defer { checkpoints?.draft.stages = nil }
        for mapping in mappings {
            guard let part = StagePosition.part(of: mapping.index, in: .create, from: start) else { continue }
            let table = mapping.sourceTable.flatMap { awaited[$0] == mapping.index ? $0 : nil }
            let noted = table.flatMap { scan.waiting[$0] }
            try create(mapping, runtime, keys, stages, from: part, noting: noted)
            if let table, let noted {
                try noted.seal()
                keys.byTable[table] = noted
                modelRun.sourceKeys = keys
            }
            // The next mapping fills a batch of its own; with many entities each must not keep one in memory.
            for rows in runtime.objects.rows { try rows.seal() }
            stages.position = StagePosition(phase: .create, mapping: mapping.index + 1)
            try checkpoints?.tickStages()
        }
        let relating = try relate(runtime, keys, stages, from: start)
        try endStages(runtime, stages, isLoading: start?.phase == .load, relating)
        let loading = PolicyLoad(
            modelRun: modelRun, checkpoints: checkpoints, mappings: mappings, work: work, runtime: runtime,
            excuses: excuses, relating: relating)
        let highest = try load(
            LoadRequest(
                fill: { try loading.run(into: $0) }, release: { runtime.objects.end() },
                resume: { try runtime.objects.begin(on: $0, touched: $1) }))
        if runtime.objects.hasDeletions { modelRun.archive.hasDeletions = true }
        return (highest, Array(runtime.associations.dropFirst(modelRun.archive.tables.count)))
    }

    /// Gives policies the objects of the run.
    private func attach(_ runtime: PolicyRuntime, to destination: DestinationStore) throws {
        modelRun.missing.fates = ReferenceFates(
            run: modelRun.run, mappings: mappings, makers: .associations(runtime.associations),
            hasDeletions: { [unowned runtime] in runtime.objects.hasDeletions })
        modelRun.validation.origins = .associations(runtime.origins)
        modelRun.services.concurrentSorts =
            6 + (modelRun.inputs.destinationSchema.tables.map { $0.columns.count }.max() ?? 0) / 4
        runtime.evaluate(with: manager, policies)
        manager.attach(runtime)
        guard modelRun.keysBefore.hasRows.contains(true) else { return }
        let touched = TouchedRows(destination)
        modelRun.touched = touched
        do { try runtime.objects.begin(on: destination, touched: touched) } catch {
            detach(runtime)
            throw error
        }
    }

    private func detach(_ runtime: PolicyRuntime) {
        manager.detach()
        modelRun.validation.origins = nil
        modelRun.missing.fates = nil
        runtime.close()
        runtime.objects.end()
    }

    /// Runs stages 2 and 3, unless a killed run has.
    ///
    /// - Returns: the links, if the stages run no user code; nil if the links are in the link stores.
    private func relate(
        _ runtime: PolicyRuntime, _ keys: PlanKeys, _ stages: PolicyCheckpoint, from start: StagePosition?
    ) throws -> RelatingByKeys? {
        modelRun.services.begin(.relate)
        var relating: RelatingByKeys?
        if start.map({ $0.phase == .create || $0.phase == .load && stages.isRelatedByKeys }) ?? true {
            relating = try RelatingByKeys(
                modelRun: modelRun, mappings: mappings, runtime: runtime, policies: policies, keys: keys)
        }
        if start?.phase == .load {
            for mapping in mappings where mapping.hasPolicy { policies.release(mapping) }
        } else if let relating {
            for mapping in mappings where mapping.hasPolicy {
                modelRun.services.progress.advance(rows: relating.keys.byMapping[mapping.index]?.index.count ?? 0)
                policies.release(mapping)
            }
        } else {
            try relateAndValidate(runtime, stages, from: start)
        }
        return relating
    }

    /// Ends the stages: their results are counted, and memory is given back for the load, which runs no code of policies,
    /// expressions and fetches.
    ///
    /// - Parameter isLoading: true if a killed run had ended them.
    private func endStages(
        _ runtime: PolicyRuntime, _ stages: PolicyCheckpoint, isLoading: Bool, _ relating: RelatingByKeys?
    ) throws {
        modelRun.services.begin(.validate)
        if !isLoading {
            try account(runtime)
            stages.isRelatedByKeys = relating != nil
            stages.beginLoad()
        }
        runtime.objects.endFetches()
        if relating == nil {
            for table in runtime.associations { try table.park() }
            try runtime.objects.links.park()
        }
        let schema = modelRun.inputs.destinationSchema
        if runtime.objects.hasDeletions, !isLoading {
            try modelRun.validation.ledger?.forgetDeleted(
                exists: { entry in
                    try runtime.objects.exists(
                        runtime.objects.place(entity: schema.model.entity(at: entry.entity), key: entry.key))
                }, in: schema)
        }
        modelRun.services.releaseMemoryBeforeLoad()
    }

    /// Source tables whose keys need no scan of their own, each with the first mapping that makes objects of all its
    /// rows. Until that mapping has run, a lookup of such a key reads its row. A resumed run scans all tables.
    private var awaitedKeys: [Int: Int] {
        guard checkpoints?.resumed == nil else { return [:] }
        var awaited: [Int: Int] = [:]
        for table in Set(mappings.compactMap(\.sourceTable)) {
            let reading = mappings.filter { $0.sourceTable == table }
            guard modelRun.inputs.layout.schema.tables[table].entities.count == 1, let first = reading.first,
                reading.allSatisfy({ $0.hasPolicy && !$0.isDeclarative && !$0.belongsToPreviousModel }),
                first.sourceExpression == nil, work.ranges(ofMapping: first.index) == [.all]
            else { continue }
            awaited[table] = first.index
        }
        return awaited
    }

    /// Restores the results of a killed run's stages.
    ///
    /// - Returns: the position where it stopped; nil if the stages begin anew.
    private func resume(_ stages: PolicyCheckpoint) throws -> StagePosition? {
        guard let bytes = checkpoints?.resumed?.stages else { return nil }
        try stages.restore(from: bytes)
        try modelRun.inputs.work.removeUnclaimed()
        // The load restores counts of its own.
        if stages.position.phase < .load {
            let counts = modelRun.tally.counts
            checkpoints?.restore()
            modelRun.tally.counts = counts
        }
        return stages.position
    }

    /// Runs stages 2 and 3 with user code: all of stage 2, then all of stage 3.
    private func relateAndValidate(
        _ runtime: PolicyRuntime, _ stages: PolicyCheckpoint, from start: StagePosition?
    ) throws {
        if start.map({ $0.phase == .create || $0.phase == .relate && $0.mapping == nil }) ?? true {
            stages.position = StagePosition(phase: .relate)
            // The links of mapping models exist before the first policy is called; changes by policies come on top.
            let schema = modelRun.inputs.destinationSchema
            try runtime.objects.links.beginDeclaredLinks { number in
                schema.entityByNumber[Int(number)].map { schema.model.entity(at: $0) }
            }
            try runtime.relating.relateAll()
            try runtime.objects.links.replayEarlyChanges { end throws(MigrationError) in
                guard runtime.objects.hasDeletions else { return true }
                return try runtime.objects.exists(end)
            }
        }
        for mapping in mappings {
            guard let part = StagePosition.part(of: mapping.index, in: .relate, from: start) else { continue }
            modelRun.services.begin(.relate, [mapping.name])
            stages.position = part
            try checkpoints?.tickStages()
            try relate(mapping, runtime, stages, from: part)
        }
        for mapping in mappings {
            modelRun.services.begin(.validate, [mapping.name])
            guard let part = StagePosition.part(of: mapping.index, in: .validate, from: start) else {
                policies.release(mapping)
                continue
            }
            stages.position = part
            try checkpoints?.tickStages()
            try validate(mapping, runtime)
        }
    }

    private func makeRuntime(_ keys: PlanKeys) -> PolicyRuntime {
        let schema = modelRun.inputs.destinationSchema
        let rowMemory = RowMemory(bytes: modelRun.inputs.budget.spill)
        let rows = schema.tables.indices.map { index in
            DestinationRows(
                table: index, firstKey: firstInsertedKey(index, keys), modelRun: modelRun, memory: rowMemory)
        }
        // One mapping is filled at a time, so unordered pairs share one memory; sets of keys are small.
        let logs = RecordMemory(bytes: modelRun.inputs.budget.keys / 2)
        let planned = Array(mappings.dropFirst(modelRun.archive.tables.count))
        // Only policies associate by hand. Each model has a share of its own, because its tables stay for later models.
        let room = modelRun.inputs.budget.keys / 2 / max(1, modelRun.inputs.mappingCount) * planned.count
        let allowances = KeyScan.shares(
            of: room,
            needs: planned.map { $0.hasPolicy ? $0.sourceTable.map(modelRun.inputs.keyBytes(ofTable:)) ?? 0 : 0 })
        let own = zip(planned, allowances).map { mapping, allowance in
            MappingAssociations(
                mapping: mapping, keys: keys.byMapping[mapping.index], directory: modelRun.archive.directory,
                memory: allowance, logs: logs)
        }
        let associations = modelRun.archive.tables + own
        return PolicyRuntime(
            modelRun: modelRun, mappings: mappings, associations: associations, rows: rows,
            links: LinkStores(modelRun.run, keysBefore: modelRun.keysBefore), storeUUID: storeUUID)
    }

    /// Returns the first key for objects without a source row of their own. Sequential tables continue from the highest
    /// key given. If keys are kept, such objects come after the greatest kept key.
    private func firstInsertedKey(_ table: Int, _ keys: PlanKeys) -> Int64 {
        let highest = modelRun.keysBefore.highestKeys[table]
        // There is no key beyond the greatest: using it is refused when it is first needed.
        func next(after key: Int64) -> Int64 { key == .max ? .max : key + 1 }
        let planned = work.tables[table]
        guard planned.keys == .kept else { return next(after: highest) }
        let greatest = planned.mappings.reduce(highest) { greatest, index in
            guard let source = mappings[index].sourceTable else { return greatest }
            let last = keys.byMapping[index].flatMap { $0.index.count > 0 ? $0.index.lastKey : nil } ?? 0
            return max(greatest, last, modelRun.inputs.layout.tables[source].maximumKey)
        }
        return next(after: greatest)
    }

    // MARK: - Stage 1

    private func create(
        _ mapping: PlannedMapping, _ runtime: PolicyRuntime, _ keys: PlanKeys, _ stages: PolicyCheckpoint,
        from part: StagePosition, noting: KeyIndex?
    ) throws {
        modelRun.services.begin(.create, [mapping.name])
        guard !mapping.belongsToPreviousModel else { return }
        guard let policy = policies[mapping] else {
            if let own = keys.byMapping[mapping.index] { try createRows(mapping, own, runtime, stages, from: part) }
            return
        }
        manager.enter(mapping.mapping)
        runtime.objects.creating = mapping.index
        defer { runtime.objects.creating = nil }
        if !part.hasBegun { try call(mapping, .begin, runtime) { try policy.begin(mapping.mapping, with: manager) } }
        if mapping.source != nil {
            try createObjects(mapping, policy, runtime, stages, from: part, noting: noting)
        }
        try call(mapping, .endInstanceCreation, runtime) {
            try policy.endInstanceCreation(forMapping: mapping.mapping, manager: manager)
        }
    }

    /// Creates the rows of a mapping without user code, in batches, without making objects.
    private func createRows(
        _ mapping: PlannedMapping, _ own: DestinationKeys, _ runtime: PolicyRuntime, _ stages: PolicyCheckpoint,
        from part: StagePosition
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
            external: modelRun.external)
        let number = Int64(modelRun.inputs.destinationSchema.number(of: entity))
        var batch = modelRun.inputs.sourceBatch(slots: slots.columns.count)
        for range in part.rest(of: work.ranges(ofMapping: mapping.index)) {
            let reader = try SourceReader(
                run: modelRun.run, slots: slots, table: source, entities: [sourceEntity.index], range: range,
                streams: true)
            while try reader.next(into: &batch) {
                try modelRun.services.checkCancelled()
                var made = 0
                for row in 0..<batch.count {
                    guard let key = try own.destinationKey(of: batch.key(row)) else { continue }
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
                            error, table: table, key: key, entity: entity.index, entityName: entity.definition.name)
                    }
                    made += 1
                }
                modelRun.services.progress.advance(rows: batch.count)
                modelRun.tally.counts.mappings[mapping.index].created += made
                modelRun.tally.counts.created[entity.definition.name, default: 0] += made
                if batch.count > 0 {
                    stages.position = StagePosition(
                        phase: .create, mapping: mapping.index, hasBegun: true, after: batch.key(batch.count - 1))
                    try checkpoints?.tickStages()
                }
            }
        }
    }

    private func createObjects(
        _ mapping: PlannedMapping, _ policy: EntityMigrationPolicy, _ runtime: PolicyRuntime,
        _ stages: PolicyCheckpoint, from part: StagePosition, noting: KeyIndex?
    ) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        let current = try runtime.current(mapping)
        let program = try runtime.program(of: current)
        var slots = program.slots
        let filter = try mapping.filter.map { predicate throws(MigrationError) in
            try SourceFilter(predicate, of: mapping, slots: &slots)
        }
        let variables: [String: Any?] = [
            "manager": manager, "entityMapping": mapping.mapping, "entityPolicy": policy,
        ]
        let sources = runtime.sources
        let given = try mapping.sourceExpression.map { expression in
            try FetchedSources(modelRun: modelRun, runtime: runtime, mapping: mapping).evaluate(expression, variables)
        }
        sources.openWindow(modelRun.inputs.sourceBatch(slots: slots.columns.count), table: table)
        runtime.scanning = program
        defer {
            runtime.scanning = nil
            sources.closeWindow()
        }
        let creation = ObjectCreation(
            mapping: current, source: entity, policy: policy, manager: manager, runtime: runtime, program: program,
            filter: filter, variables: variables
        ) { failure($0, mapping, .createDestinationInstances, $1) }
        if let given {
            creation.line.sourceObjects += given.count - given.own
            creation.line.filtered += max(0, creation.line.sourceObjects - given.count)
        }
        begin(mapping, .createDestinationInstances, runtime, entity)
        defer { runtime.userCode.end() }
        try inScope(runtime) {
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
                let ranges = part.rest(of: work.ranges(ofMapping: mapping.index))
                try createObjects(creation, ranges, slots, stages, noting: noting)
            }
        }
        modelRun.tally.counts.mappings[mapping.index] = creation.line
        try runtime.associations[mapping.index].pairs.prepareForLookups()
    }

    /// Creates the objects of the rows in some key ranges, batch by batch.
    private func createObjects(
        _ creation: ObjectCreation, _ ranges: [SourceKeyRange], _ slots: SourceColumns, _ stages: PolicyCheckpoint,
        noting: KeyIndex?
    ) throws {
        let (mapping, sources) = (creation.mapping, creation.runtime.sources)
        guard let table = mapping.sourceTable else { return }
        /// Notes that rows of the current batch are done.
        func advance(_ count: Int, last row: Int) throws {
            modelRun.services.progress.advance(rows: count)
            modelRun.tally.counts.mappings[mapping.index] = creation.line
            stages.position = StagePosition(
                phase: .create, mapping: mapping.index, hasBegun: true, after: sources.window.key(row))
            try checkpoints?.tickStages()
        }
        let conditions = RunConditions.current
        var lane =
            conditions.processorCount > 1 && creation.mayWorkAhead
            ? ConcurrentCaller(creation: creation, table: table) : nil
        defer { lane?.end() }
        if lane == nil { creation.beginPreparing() }
        defer { creation.endPreparing() }
        var rounds = lane.map { PolicyRounds(lane: $0, leastCall: conditions.leastConcurrentCall) }
        for range in ranges {
            let reader = try SourceReader(
                run: modelRun.run, slots: slots, table: table, entities: [creation.source.index], range: range,
                streams: true)
            while try reader.next(into: &sources.window) {
                try modelRun.services.checkCancelled()
                let count = sources.window.count
                try noting?.append(contentsOf: sources.window.keys(0..<count))
                var row = 0
                while rounds != nil, row < count {
                    guard
                        let (done, ahead) = try rounds?.run(
                            row..<count, create: { try creation.create(rows: $0, table: table) })
                    else { break }
                    creation.line.migrated += ahead.migrated
                    creation.line.droppedByPolicy += ahead.dropped
                    creation.line.unassociated += ahead.unassociated
                    creation.line.filtered += ahead.filtered
                    row += done
                    try advance(done, last: row - 1)
                    if rounds?.isOfNoUse ?? false {
                        lane?.end()
                        (lane, rounds) = (nil, nil)
                        creation.beginPreparing()
                    }
                }
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

    // MARK: - Stages 2 and 3

    private func relate(
        _ mapping: PlannedMapping, _ runtime: PolicyRuntime, _ stages: PolicyCheckpoint, from part: StagePosition
    ) throws {
        try modelRun.services.checkCancelled()
        guard let policy = policies[mapping] else { return }
        manager.enter(mapping.mapping)
        runtime.objects.creating = mapping.index
        defer { runtime.objects.creating = nil }
        for relationship in mapping.destination?.relationships ?? [] {
            try runtime.objects.links.store(of: relationship)?.store.compact()
        }
        try runtime.relating.begin(mapping)
        defer { runtime.relating.end() }
        let cursor = try runtime.associations[mapping.index].pairs.destinationsInOrderOfFirstAssociation()
        try inScope(runtime) { try relateObjects(cursor, mapping, policy, runtime, stages, from: part.related) }
        runtime.relatingFrom = nil
        try call(mapping, .endRelationshipCreation, runtime) {
            try policy.endRelationshipCreation(forMapping: mapping.mapping, manager: manager)
        }
    }

    private func relateObjects(
        _ cursor: DestinationCursor, _ mapping: PlannedMapping, _ policy: EntityMigrationPolicy,
        _ runtime: PolicyRuntime, _ stages: PolicyCheckpoint, from start: Int
    ) throws {
        let associations = runtime.associations[mapping.index]
        let additions = associations.additions
        let every = min(64, modelRun.inputs.options.batchSize ?? 64)
        var related = 0
        while related < start, try cursor.next() != nil { related += 1 }
        // Pairs mostly come entity by entity, so keep the last one.
        var last: (index: UInt32, entity: EntityDescription, table: Int)?
        var held: ManagedObject?
        begin(mapping, .createRelationships, runtime, mapping.destination)
        defer { runtime.userCode.end() }
        while let pair = try cursor.next() {
            // Pairs added meanwhile are not related, so a cursor made later would give another sequence: take no
            // checkpoint then.
            if related % every == every - 1, associations.additions == additions {
                stages.position = StagePosition(
                    phase: .relate, mapping: mapping.index, hasBegun: true, related: related)
                try checkpoints?.tickStages()
            }
            related += 1
            if last?.index != pair.destination.entity {
                let entity = modelRun.inputs.destinationSchema.model.entity(at: Int(pair.destination.entity))
                last = (pair.destination.entity, entity, modelRun.inputs.destinationSchema.tableIndex(of: entity))
                runtime.userCode.enter(entity)
            }
            guard let (_, entity, table) = last else { continue }
            if runtime.objects.hasDeletions,
                try !runtime.objects.exists(ObjectPlace(entity: entity, key: pair.destination.key, table: table))
            {
                continue
            }
            runtime.relatingFrom = nil
            runtime.destinationContext.renew(&held, entity: entity, table: table, key: pair.destination.key)
            guard let object = held else { continue }
            runtime.relatingFrom = (mapping.index, object, pair.firstSource.key)
            UserCodeNotes.enter(key: pair.destination.key)
            try call(mapping, .createRelationships, runtime, object: object) {
                try policy.createRelationships(forDestination: object, in: mapping.mapping, manager: manager)
            }
            modelRun.services.progress.advance(rows: 1)
        }
    }

    private func validate(_ mapping: PlannedMapping, _ runtime: PolicyRuntime) throws {
        try modelRun.services.checkCancelled()
        guard let policy = policies[mapping] else { return }
        manager.enter(mapping.mapping)
        runtime.objects.creating = mapping.index
        defer { runtime.objects.creating = nil }
        try call(mapping, .performCustomValidation, runtime) {
            try policy.performCustomValidation(forMapping: mapping.mapping, manager: manager)
        }
        try call(mapping, .end, runtime) { try policy.end(mapping.mapping, manager: manager) }
        policies.release(mapping)
    }

    /// Counts the objects that policies created or dropped.
    private func account(_ runtime: PolicyRuntime) throws {
        for (index, made) in runtime.objects.createdByEntity.enumerated() where made != 0 {
            let name = modelRun.inputs.destinationSchema.model.entity(at: index).definition.name
            modelRun.tally.counts.created[name, default: 0] += made
        }
        for (index, made) in runtime.objects.createdByMapping.enumerated() where made != 0 {
            modelRun.tally.counts.mappings[index].created += made
            let associated = try runtime.associations[index].countOfDestinations()
            modelRun.tally.counts.mappings[index].createdByPolicy = max(0, made - associated)
        }
        for mapping in mappings where mapping.hasPolicy && mapping.source != nil {
            guard runtime.objects.hasDeletions || runtime.associations[mapping.index].hasLatePairs else { continue }
            try recount(mapping, runtime)
        }
    }

    /// Counts the source objects that have a destination object in the end. Policies may associate later, and delete.
    private func recount(_ mapping: PlannedMapping, _ runtime: PolicyRuntime) throws {
        guard let table = mapping.sourceTable else { return }
        let isShared = modelRun.inputs.layout.schema.tables[table].entities.count > 1
        let model = modelRun.inputs.destinationSchema.model
        var migrated = 0
        func exists(_ reference: ObjectReference) throws -> Bool {
            guard runtime.objects.hasDeletions else { return true }
            return try runtime.objects.exists(
                runtime.objects.place(entity: model.entity(at: Int(reference.entity)), key: reference.key))
        }
        try runtime.associations[mapping.index].forEachSource(inTable: table, whereExists: exists) { key in
            guard try !isShared || mapping.reads(runtime.sources.place(table: table, key: key)?.entity) else { return }
            migrated += 1
        }
        let fetched =
            modelRun.tally.counts.mappings[mapping.index].sourceObjects
            - modelRun.tally.counts.mappings[mapping.index].filtered
        migrated = min(migrated, fetched)
        modelRun.tally.counts.mappings[mapping.index].correct(associated: migrated)
        modelRun.tally.counts.mappings[mapping.index].migrated = migrated
    }

    // MARK: - User code

    /// Calls a policy's method. An error that it throws keeps its identity as the cause. A recorded failure of a call
    /// that cannot throw, or a cancellation, ends the run as soon as the method returns.
    private func call(
        _ mapping: PlannedMapping, _ method: PolicyMethod, _ runtime: PolicyRuntime, object: ManagedObject? = nil,
        _ body: () throws -> Void
    ) throws {
        if object == nil { begin(mapping, method, runtime) }
        defer { if object == nil { runtime.userCode.end() } }
        do {
            if runtime.hasScope { try body() } else { try inScope(runtime, body) }
            try runtime.failures.rethrow()
        } catch {
            throw failure(error, mapping, method, object)
        }
        if let error = modelRun.services.cancellation.error { throw error }
    }

    /// Notes the policy's method that is called next, for a crash in it.
    private func begin(
        _ mapping: PlannedMapping, _ method: PolicyMethod, _ runtime: PolicyRuntime, _ entity: EntityDescription? = nil
    ) {
        let name = mapping.mapping.entityMigrationPolicyClassName ?? "EntityMigrationPolicy"
        runtime.userCode.begin(name, "\(method.rawValue), stage \(method.stage)", in: mapping, entity: entity)
    }

    /// Returns the error that ends the run for an error of user code.
    private func failure(
        _ error: any Error, _ mapping: PlannedMapping, _ method: PolicyMethod, _ object: ManagedObject?
    ) -> any Error {
        MigrationError.ofUserCode(error, in: context(mapping, method, object))
    }

    /// Runs a closure that calls user code, maybe once for each object; failures of calls that cannot throw are
    /// recorded.
    private func inScope(_ runtime: PolicyRuntime, _ body: () throws -> Void) throws {
        // The scope lives only for the call, on this thread.
        nonisolated(unsafe) let failures = runtime.failures
        var scope = EvaluationScope.current
        scope.record = { failures.record($0) }
        runtime.hasScope = true
        defer { runtime.hasScope = false }
        try EvaluationScope.$current.withValue(scope) { try body() }
    }

    private func context(
        _ mapping: PlannedMapping, _ method: PolicyMethod, _ object: ManagedObject?
    ) -> MigrationError.Context {
        var context = mapping.context
        context.objectID = object?.objectID.shortName
        if method == .createDestinationInstances { context.sourceObjectID = context.objectID }
        context.policy = "\(mapping.mapping.entityMigrationPolicyClassName ?? "").\(method.rawValue)"
        return context
    }
}

/// The methods of a policy, by their names in errors.
private enum PolicyMethod: String {
    case begin, createDestinationInstances, endInstanceCreation, createRelationships, endRelationshipCreation
    case performCustomValidation, end

    var stage: StagePosition.Phase {
        switch self {
        case .begin, .createDestinationInstances, .endInstanceCreation: .create
        case .createRelationships, .endRelationshipCreation: .relate
        case .performCustomValidation, .end: .validate
        }
    }
}
