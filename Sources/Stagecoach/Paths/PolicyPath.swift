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
struct PolicyPath: ModelStage {
    let stage: StageInputs
    let policies: Policies
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
            tables: stage.work.tables, destination: destination,
            collectByObjects: ObjectFilterScan(modelRun: modelRun, manager: stage.manager).collect,
            awaited: awaited
        ).scan()
        var keys = PlanKeys(byMapping: scan.byMapping, byTable: scan.byTable)
        modelRun.sourceKeys = keys
        keys.account(for: mappings, in: modelRun.tally)
        let runtime = makeRuntime(keys)
        try attach(runtime, to: destination)
        defer { detach(runtime) }
        let stages = PolicyCheckpoint(
            modelRun: modelRun, mappings: mappings, runtime: runtime, keys: keys, policies: policies,
            manager: stage.manager, checkpoints: checkpoints)
        let start = try resume(stages, runtime)
        stages.begin()
        defer { stages.end() }
        let creation = CreateStage(
            stage: stage, policies: policies, runtime: runtime, stages: stages)
        for mapping in mappings {
            guard let part = StagePosition.part(of: mapping.index, in: .create, from: start) else { continue }
            let table = mapping.sourceTable.flatMap { awaited[$0] == mapping.index ? $0 : nil }
            let noted = table.flatMap { scan.waiting[$0] }
            try creation.create(mapping, keys: keys.byMapping[mapping.index], from: part, noting: noted)
            if let table, let noted {
                try noted.seal()
                keys.byTable[table] = noted
                modelRun.sourceKeys = keys
            }
            // The next mapping fills a batch of its own; with many entities each must not keep one in memory.
            for rows in runtime.objects.rows { try rows.seal() }
            try stages.reach(StagePosition(phase: .create, mapping: mapping.index + 1))
        }
        modelRun.services.begin(.relate)
        if start?.phase == .load {
            for mapping in mappings where mapping.hasPolicy { policies.release(mapping) }
        } else {
            try RelateStage(
                stage: stage, policies: policies, runtime: runtime, keys: keys, stages: stages
            ).run(from: start)
        }
        let saved = try runtime.destinationContext.willSave()
        try endStages(runtime, stages, isLoading: start?.phase == .load)
        try runtime.linkSetter.deferred.planLoad(keys: keys)
        let loading = PolicyLoad(stage: stage, runtime: runtime)
        let highest = try load(
            LoadRequest(
                fill: { try loading.run(into: $0) }, release: { runtime.objects.end() },
                resume: { try runtime.objects.begin(on: $0, touched: $1) }))
        if runtime.objects.hasDeletions { modelRun.archive.hasDeletions = true }
        if !saved.isEmpty { runtime.close() }
        for object in saved { object.didSave() }
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
        runtime.evaluate(with: stage.manager, policies)
        stage.manager.attach(runtime)
        guard modelRun.keysBefore.hasRows.contains(true) else { return }
        let touched = TouchedRows(destination)
        modelRun.touched = touched
        do { try runtime.objects.begin(on: destination, touched: touched) } catch {
            detach(runtime)
            throw error
        }
    }

    private func detach(_ runtime: PolicyRuntime) {
        stage.manager.detach()
        modelRun.validation.origins = nil
        modelRun.missing.fates = nil
        runtime.close()
        runtime.objects.end()
    }

    /// Ends the stages: their results are counted, and memory is given back for the load, which runs no code of policies,
    /// expressions and fetches.
    ///
    /// - Parameter isLoading: true if a killed run had ended them.
    private func endStages(
        _ runtime: PolicyRuntime, _ stages: PolicyCheckpoint, isLoading: Bool
    ) throws {
        modelRun.services.begin(.validate)
        if !isLoading {
            try PolicyAccount(modelRun: modelRun, mappings: mappings, runtime: runtime).run()
            stages.beginLoad()
        }
        runtime.objects.endFetches()
        // Keys are still looked up if links were left to the load.
        if runtime.linkSetter.deferred.isEmpty { for table in runtime.associations { try table.park() } }
        try runtime.objects.links.park()
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
        guard resumed == nil else { return [:] }
        var awaited: [Int: Int] = [:]
        for table in Set(mappings.compactMap(\.sourceTable)) {
            let reading = mappings.filter { $0.sourceTable == table }
            guard modelRun.inputs.layout.schema.tables[table].entities.count == 1, let first = reading.first,
                reading.allSatisfy({ $0.hasPolicy && !$0.isDeclarative && !$0.belongsToPreviousModel }),
                first.sourceExpression == nil, stage.work.ranges(ofMapping: first.index) == [.all]
            else { continue }
            awaited[table] = first.index
        }
        return awaited
    }

    /// Restores the results of a killed run's stages.
    ///
    /// - Returns: the position where it stopped; nil if the stages begin anew.
    private func resume(_ stages: PolicyCheckpoint, _ runtime: PolicyRuntime) throws -> StagePosition? {
        guard let bytes = resumed?.stages else { return nil }
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
            links: LinkStores(
                modelRun.run, keysBefore: modelRun.keysBefore, mayReject: modelRun.validation.ledger != nil),
            storeUUID: storeUUID)
    }

    /// Returns the first key for objects without a source row of their own. Sequential tables continue from the highest
    /// key given. If keys are kept, such objects come after the greatest kept key.
    private func firstInsertedKey(_ table: Int, _ keys: PlanKeys) -> Int64 {
        let highest = modelRun.keysBefore.highestKeys[table]
        // There is no key beyond the greatest: using it is refused when it is first needed.
        func next(after key: Int64) -> Int64 { key == .max ? .max : key + 1 }
        let planned = stage.work.tables[table]
        guard planned.keys == .kept else { return next(after: highest) }
        let greatest = planned.mappings.reduce(highest) { greatest, index in
            guard let source = mappings[index].sourceTable else { return greatest }
            let last = keys.byMapping[index].flatMap { $0.index.count > 0 ? $0.index.lastKey : nil } ?? 0
            return max(greatest, last, modelRun.inputs.layout.tables[source].maximumKey)
        }
        return next(after: greatest)
    }
}
