import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import SpillStorage

extension Migration {
    /// Plans the migration and gives the reasons for the plan. Nothing is written anywhere.
    ///
    /// - Throws: ``MigrationError`` for inputs that ``run()`` would refuse. The destination is looked at only if it is
    ///   a store that is appended to.
    /// - Complexity: O(rows) to count the source's objects.
    public func plan() throws -> MigrationPlan {
        let place = DestinationPath(path: destinationPath)
        let appends = try options.appendsToExisting && place.exists()
        let prepared = try prepare(place, appends: appends, describes: true)
        try checkHashes(prepared, appends: appends)
        var plan = prepared.plan
        plan.leftBehind = try leftBehind(prepared, counting: link?.expected == nil)
        return plan
    }

    /// The planned work of one mapping model.
    struct Turn {
        let model: MappingModel
        /// The model's own mappings and those of all previous models, each at its index.
        let mappings: [PlannedMapping]
        /// The number of mappings that belong to previous models.
        let earlier: Int
        let policies: Policies
        /// True for the policy path, as far as is known before the run.
        let isStaged: Bool
        let work: PlannedWork
        /// True for each destination table that is assumed to have rows before this model runs.
        let hasRows: [Bool]
    }

    /// Everything that is known before anything is written.
    struct Prepared {
        let limit: Int
        let budget: MemoryShares
        let source: SourceStore
        let layout: StoreLayout
        let schema: StoreSchema
        let turns: [Turn]
        /// The mappings of all mapping models.
        let mappings: [PlannedMapping]
        let census: SourceCensus
        let left: LeftBehindPlan
        /// Parts of the source's schema that a fresh destination takes over: fetch indexes, and objects beside the model.
        let carriedIndexes: [CarriedIndex]
        let carried: CarriedObjects
        let plan: MigrationPlan
        /// Tables of CloudKit's sync in the source; 0 if it is not mirrored.
        let mirroringTables: Int

        /// Returns the number of rows that the run's progress will count: keys scanned, rows made, rows related by
        /// policies, rows loaded, and links.
        func expectedRows() throws(MigrationError) -> Int {
            var links = 0
            for join in layout.joinTables.indices { links += try source.estimatedCount(joinTable: join, in: layout) }
            return links
                + turns.reduce(0) { sum, turn in
                    let own = turn.mappings.dropFirst(turn.earlier)
                    let scanned = Set(own.compactMap(\.sourceTable)).reduce(0) { sum, table in
                        sum + census.rows[table].values.reduce(0, +)
                    }
                    let loaded = turn.work.passes.flatMap(\.steps).reduce(0) { $0 + $1.rows }
                    let related = own.reduce(0) { sum, mapping in
                        sum + (mapping.hasPolicy ? mapping.source.map(census.count(of:)) ?? 0 : 0)
                    }
                    return sum + scanned + loaded * (turn.isStaged ? 2 : 1) + related
                }
        }
    }

    /// Opens the source, resolves the mapping models and plans.
    ///
    /// - Parameters:
    ///   - temporaryDirectory: the folder for SQLite's own sorts of source rows; nil: the folder of the spills. It may
    ///     be created later.
    ///   - earlier: a run to the same destination that did not end. Its counts of the same source are reused.
    ///   - describes: true if the plan itself is wanted. A run without a given plan needs no digests of its inputs, and
    ///     no sampled sizes for a small store.
    /// - Throws: `plan.outdated`, `plan.edited` (78) if the given plan does not fit; the errors of the inputs.
    func prepare(
        _ place: DestinationPath, appends: Bool, earlier: InterruptedRun? = nil, temporaryDirectory: String? = nil,
        describes: Bool = false
    ) throws -> Prepared {
        let describes = describes || options.plan != nil
        ProcessMemory.returnFreedBlocks()
        OpenFiles.raiseLimit()
        let resident = ProcessMemory.currentResident() ?? 0
        let limit =
            options.memoryRoom.map { resident + $0 } ?? options.memoryLimit ?? MemoryLimit.standard(resident: resident)
        let byRule = StoreSchema(model: destinationModel)
        let hasPolicies = mappingModels.contains { ($0.entityMappings ?? []).contains(where: \.hasPolicy) }
        func needs(isStaged: Bool) -> MemoryNeeds {
            MemoryNeeds(
                models: mappingModels, earlier: archive?.mappings.count ?? 0, destination: byRule, isStaged: isStaged)
        }
        // The memory that mapping models, keys and expressions need is known only once they are resolved. The rest is
        // divided below, and refused there with a limit that works.
        let first = needs(isStaged: hasPolicies || !options.usesStoreSpecificMigrationManager).bytes
        let reading = try MemoryShares(
            limit: max(limit, resident + first + MemoryShares.least), resident: resident, needs: first)
        let source = try SourceStore(
            path: sourcePath, cacheBytes: reading.sourceCache, valueLimit: reading.value,
            temporaryDirectory: temporaryDirectory ?? place.spillDirectory(in: options.workDirectory))
        source.readsPages = options.reader == .pages
        source.limitNeeded = { MemoryShares.limit(forValueOf: $0, resident: resident, needs: first) }
        if !options.sourceIsKnownByTables {
            try StoreMatch.check(source.metadata, against: sourceModel, path: sourcePath)
        }
        let mirroringTables = try MirroredSource.check(source, options)
        var names = Set((archive?.mappings ?? []).map(\.name))
        for model in mappingModels {
            try model.validate(source: sourceModel, destination: destinationModel, earlier: names, misfits: .noted)
            names.formUnion(model.entityMappingNames)
        }
        try checkPassNames()
        let layout = try source.layout(for: sourceModel, damage: options.damage)
        let schema = try source.namesTakenOver(by: byRule, from: layout)
        let expected = link?.expected
        let census =
            try expected.map { SourceCensus(expecting: $0, layout: layout) }
            ?? earlier?.header.census(of: source, layout)
            ?? SourceCensus(source: source, layout: layout)
        let unevaluated = try mappingModels.map { model throws(MigrationError) in
            try model.refuseMisfits { census.hasObjects(of: $0, in: sourceModel) }.map(MigrationPlan.Model.unevaluated)
        }
        var known = archive?.mappings ?? []
        let resolved = try mappingModels.map { model in
            let own = try MappingResolution(
                model: model, source: layout.schema, destination: schema, earlier: known
            ).resolve()
            known += own
            return own
        }
        var all = needs(
            isStaged: hasPolicies || !options.usesStoreSpecificMigrationManager
                || resolved.contains { $0.contains(where: \.needsObjects) })
        all.addKeys(rows: known.map { $0.source.map(census.count(of:)) ?? 0 })
        ProcessMemory.returnFreedBlocks()
        // A room is given in a process that also does other work, so its resident memory does not belong to this run.
        let held =
            options.memoryRoom == nil
            ? (ProcessMemory.currentResident() ?? resident) - reading.sourceCache - resident : 0
        let budget = try MemoryShares(limit: limit, resident: resident, needs: max(all.bytes, held))
        let existing = try appends ? StoreMatch.existing(place.path, model: destinationModel) : nil
        let inputs = try planInputs(source, existing, place, digests: describes)
        try options.plan?.check(inputs: inputs)
        var hasRows = existing?.hasRows ?? schema.tables.map { _ in false }
        for table in archive?.rejectingTables ?? [] where hasRows.indices.contains(table) { hasRows[table] = true }
        var sizes = RowSizes(
            source: source, layout: layout, destination: schema,
            rows: sampledRows(of: source, earlier, describes: describes), isEmpty: expected != nil)
        let sampled = try expected == nil ? sizes.sourceBytes(rows: census.rows) : 0
        let scale = sampled < 4096 ? 1 : min(20, max(0.05, Double(source.file.size) / sampled))
        var mappings = archive?.mappings ?? []
        var turns: [Turn] = []
        var descriptions: [PlanDescription] = []
        for (number, (model, own)) in zip(mappingModels, resolved).enumerated() {
            let earlier = mappings.count
            mappings += own
            let work = try Planner(
                mappings: mappings, source: layout, destination: schema, keys: options.keys,
                cut: PassCut(options, turn: number), rowCounts: census.rows, hasRows: hasRows, firstOwn: earlier
            ).work()
            var rowBytes: [Int: Double] = [:]
            for mapping in own { rowBytes[mapping.index] = try sizes.bytes(of: mapping) }
            let description = PlanDescription(
                work: work, mappings: mappings, firstOwn: earlier, source: layout.schema, destination: schema,
                census: census, usesRowPath: options.usesStoreSpecificMigrationManager,
                changesEarlierRows: PreviousModelLookups(mappings: mappings, earlier: earlier).needObjects,
                rowBytes: rowBytes,
                scale: scale, budget: budget)
            descriptions.append(description)
            turns.append(
                Turn(
                    model: model, mappings: mappings, earlier: earlier,
                    policies: try Policies(mappings: own, manager: manager), isStaged: description.isStaged, work: work,
                    hasRows: hasRows))
            hasRows = schema.tables.indices.map { table in
                hasRows.indices.contains(table) && hasRows[table]
                    || own.contains { mapping in
                        guard mapping.destinationTable == table, mapping.filter == nil, mapping.isDeclarative,
                            let entity = mapping.source
                        else { return false }
                        return census.count(of: entity) > 0
                    }
            }
        }
        var models = descriptions.map { $0.model() }
        for index in models.indices {
            let resume = ResumeNote(
                turns[index].mappings, turns[index].policies, manager, isStaged: models[index].isStaged,
                appends: appends, of: turns.count)
            models[index].resume = resume.sentence
            for (number, obstacle) in resume.obstacles where models[index].entityMappings.indices.contains(number) {
                models[index].entityMappings[number].obstacle = obstacle
            }
            let unmapped = try UnmappedValues(
                source: source, layout: layout, destination: destinationModel, isCounted: expected == nil
            ).of(mappingModels[index])
            models[index].unmapped = unmapped.isEmpty ? nil : unmapped
            let all = unevaluated[index] + (index == 0 ? ValuePredicate.unevaluated(in: destinationModel) : [])
            models[index].unevaluated = all.isEmpty ? nil : all
        }
        var plan = MigrationPlan(
            inputs: inputs, models: models, memory: .init(limit: limit, least: MemoryShares.least + all.bytes),
            disk: disk(models, descriptions.map(\.destinationBytes), existing: appends ? place : nil),
            repairs: MigrationPlan.Repair.list(layout))
        let carriedIndexes = appends ? [] : try source.carriedIndexes(for: schema, from: layout)
        let carried =
            try appends
            ? source.leftObjects(beside: layout) : source.carriedObjects(for: schema, from: layout)
        // An existing store keeps its own names and indexes.
        let taken = Set(carriedIndexes.map(\.index.note))
        let layoutNotes = (appends ? [] : schema.notes.filter { !taken.contains($0) }) + carried.notes
        plan.layout = layoutNotes.isEmpty ? nil : layoutNotes
        try options.plan?.check(decisions: plan)
        // An interrupted run has planned already, so no rows were sampled here.
        if !describes, let earlier, !earlier.states.isEmpty {
            plan.disk.destination = max(0, earlier.header.destinationBytes)
        }
        return Prepared(
            limit: limit, budget: budget, source: source, layout: layout, schema: schema, turns: turns,
            mappings: mappings, census: census,
            left: LeftBehindPlan(mappings: mappings, layout: layout, census: census),
            carriedIndexes: carriedIndexes, carried: carried, plan: plan, mirroringTables: mirroringTables)
    }

    /// Returns the number of rows to sample at either end of each table to estimate the destination's size: fewer if
    /// the plan itself is not wanted, none if the file is small or an interrupted run has found enough room on the
    /// disk.
    private func sampledRows(of source: SourceStore, _ earlier: InterruptedRun?, describes: Bool) -> Int {
        if describes { return RowSizes.describedSample }
        guard source.file.size > RowSizes.smallStore, earlier?.states.isEmpty ?? true else { return 0 }
        return RowSizes.sample
    }

    /// Returns the planner of one mapping model, once the result of the previous models is known.
    func planner(
        _ turn: Int, _ mappings: [PlannedMapping], firstOwn: Int, _ prepared: Prepared, _ schema: StoreSchema,
        _ hasRows: [Bool]
    ) -> Planner {
        Planner(
            mappings: mappings, source: prepared.layout, destination: schema, keys: options.keys,
            cut: PassCut(options, turn: turn), rowCounts: prepared.census.rows, hasRows: hasRows, firstOwn: firstOwn,
            isDuringRun: true)
    }

    /// Refuses names in the passes that no mapping model has, or that appear in two passes.
    private func checkPassNames() throws(MigrationError) {
        let known = mappingModels.flatMap { $0.entityMappings ?? [] }.compactMap { $0.name }
        var seen: Set<String> = []
        for name in options.passNames.flatMap({ $0 }) {
            guard known.contains(name) else {
                throw MigrationError(
                    "plan.unknownMapping", .configuration, "There is no entity mapping \(name) to put into a pass",
                    remedy: "Name one of: \(known.joined(separator: ", "))", context: .init(entityMapping: name))
            }
            guard seen.insert(name).inserted else {
                throw MigrationError(
                    "plan.mappingTwice", .configuration, "The entity mapping \(name) is put into two passes",
                    context: .init(entityMapping: name))
            }
        }
    }

    private func planInputs(
        _ source: SourceStore, _ existing: ExistingStore?, _ place: DestinationPath, digests: Bool
    ) throws(MigrationError) -> MigrationPlan.Inputs {
        var destination: MigrationPlan.Store?
        if let existing {
            destination = .init(try StoreFingerprint.take(path: place.resolved.path), uuid: existing.metadata.uuid)
        }
        return MigrationPlan.Inputs(
            source: .init(source.fingerprint, uuid: source.metadata.uuid), destination: destination,
            sourceModel: digests ? InputDigest.hashes(sourceModel) : [:],
            destinationModel: digests ? InputDigest.hashes(destinationModel) : [:],
            mappingModels: digests ? mappingModels.map(InputDigest.digests) : [], options: options.planned)
    }

    private func disk(
        _ models: [MigrationPlan.Model], _ bytes: [(expected: Double, least: Double)], existing: DestinationPath?
    ) -> MigrationPlan.Disk {
        var expected = existing.flatMap { try? FileSize.bytes(of: $0.resolved.path) }.map(Double.init) ?? 0
        var least = 0.0
        var work = 0.0
        for (model, bytes) in zip(models, bytes) {
            expected += bytes.expected
            least += bytes.least
            work = max(work, Double(model.passes.reduce(0) { $0 + $1.workBytes }))
        }
        // If rows may be rejected or several models run, a copy of the store's previous state is kept beside it.
        if options.onInvalid == .reject || models.count > 1 { work += expected }
        return MigrationPlan.Disk(
            destination: Int(clamping: Int64(expected)), work: Int(clamping: Int64(work)),
            least: Int(clamping: Int64(least)))
    }
}
