import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import SpillStorage

/// The preparation of a migration: the source is opened, the mapping models are resolved, and the work is planned. Nothing
/// is written.
struct Preparation {
    let migration: Migration
    let place: DestinationPath
    let appends: Bool
    /// A run to the same destination that did not end. Its counts of the same source are reused.
    let interrupted: InterruptedRun?
    let temporaryDirectory: String
    /// True if the plan itself is wanted, with digests of its inputs and sampled sizes.
    let describes: Bool
    /// The layout of a fresh store of the destination's model.
    let byRule: StoreSchema

    private var options: MigrationOptions { migration.options }

    /// The memory of the process, and the part that the run may use.
    private struct Memory {
        let resident: Int
        let limit: Int
        /// The memory that mapping models, keys and expressions need, as far as it is known before they are resolved.
        let needs: Int
    }

    /// The source, with its counts.
    private struct Source {
        let store: SourceStore
        let layout: StoreLayout
        let schema: StoreSchema
        let census: SourceCensus
        /// Tables of CloudKit's sync; 0 if it is not mirrored.
        let mirroringTables: Int
    }

    /// The planned mapping models, each with its description.
    private struct PlannedModels {
        var models: [Migration.PlannedModel] = []
        var descriptions: [PlanDescription] = []
        /// The mappings of all models, none marked as previous.
        var mappings: [PlannedMapping]
    }

    func prepare() throws -> Migration.Prepared {
        try options.checkAllowedLosses(in: [migration.sourceModel])
        ProcessMemory.returnFreedBlocks()
        OpenFiles.raiseLimit()
        let memory = try measureMemory()
        let shares = try MemoryShares(
            limit: max(memory.limit, memory.resident + memory.needs + MemoryShares.least), resident: memory.resident,
            needs: memory.needs)
        let source = try openSource(memory, shares)
        let unevaluated = try migration.mappingModels.map { model throws(MigrationError) in
            try model.refuseMisfits { source.census.hasObjects(of: $0, in: migration.sourceModel) }
                .map(MigrationPlan.Model.unevaluated)
        }
        let resolved = try resolve(source)
        let least = needs(of: resolved, source)
        ProcessMemory.returnFreedBlocks()
        // A room is given in a process that also does other work, so its resident memory does not belong to this run.
        let held =
            options.memoryRoom == nil
            ? (ProcessMemory.currentResident() ?? memory.resident) - shares.sourceCache - memory.resident : 0
        let budget = try MemoryShares(limit: memory.limit, resident: memory.resident, needs: max(least, held))
        let existing = try appends ? StoreMatch.existing(place.path, model: migration.destinationModel) : nil
        let inputs = try planInputs(source.store, existing)
        try options.plan?.check(inputs: inputs)
        let planned = try plan(resolved, source, existing, budget)
        let models = try describe(planned, source, unevaluated: unevaluated)
        var plan = MigrationPlan(
            inputs: inputs, models: models,
            memory: .init(limit: memory.limit, least: MemoryShares.least + least),
            disk: disk(models, planned.descriptions.map(\.destinationBytes), existing: appends ? place : nil),
            repairs: MigrationPlan.Repair.list(source.layout))
        let carriedIndexes = appends ? [] : try source.store.carriedIndexes(for: source.schema, from: source.layout)
        let carried =
            try appends
            ? source.store.leftObjects(beside: source.layout)
            : source.store.carriedObjects(for: source.schema, from: source.layout)
        // An existing store keeps its own names and indexes.
        let taken = Set(carriedIndexes.map(\.index.note))
        let layoutNotes = (appends ? [] : source.schema.notes.filter { !taken.contains($0) }) + carried.notes
        plan.layout = layoutNotes.isEmpty ? nil : layoutNotes
        try options.plan?.check(decisions: plan)
        // An interrupted run has planned already, so no rows were sampled here.
        if !describes, let interrupted, !interrupted.states.isEmpty {
            plan.disk.destination = max(0, interrupted.header.destinationBytes)
        }
        return Migration.Prepared(
            limit: memory.limit, budget: budget, source: source.store, layout: source.layout, schema: source.schema,
            models: planned.models, mappings: planned.mappings, census: source.census,
            left: LeftBehindPlan(
                mappings: planned.mappings, layout: source.layout, census: source.census, meant: meantLosses),
            carriedIndexes: carriedIndexes, carried: carried, plan: plan, mirroringTables: source.mirroringTables)
    }

    /// The data that is meant to stay behind.
    private var meantLosses: MeantLosses {
        var meant = MeantLosses(
            models: migration.mappingModels, allowed: options.allowedLosses, source: migration.sourceModel)
        meant.ofSteps = migration.meantInSteps
        return meant
    }

    // MARK: - Memory

    private var hasPolicies: Bool {
        migration.mappingModels.contains { ($0.entityMappings ?? []).contains(where: \.hasPolicy) }
    }

    private func needs(isStaged: Bool) -> MemoryNeeds {
        MemoryNeeds(
            models: migration.mappingModels, previous: migration.archive?.mappings.count ?? 0,
            destination: byRule,
            isStaged: isStaged || !options.usesStoreSpecificMigrationManager)
    }

    /// Returns the memory before the mapping models are resolved. The rest is divided once they are, and refused there
    /// with a limit that works.
    ///
    /// - Throws: `memory.addresses` (78).
    private func measureMemory() throws(MigrationError) -> Memory {
        let resident = ProcessMemory.currentResident() ?? 0
        let limit =
            options.memoryRoom.map { resident + $0 } ?? options.memoryLimit ?? MemoryLimit.standard(resident: resident)
        let needs = needs(isStaged: hasPolicies).bytes
        try AddressSpace.check(memoryLimit: limit, resident: resident, least: MemoryShares.least + needs)
        return Memory(resident: resident, limit: limit, needs: needs)
    }

    /// Returns the memory that the resolved mapping models and the keys need.
    private func needs(of resolved: [[PlannedMapping]], _ source: Source) -> Int {
        let known = (migration.archive?.mappings ?? []) + resolved.flatMap { $0 }
        let isStaged = hasPolicies || resolved.contains { $0.contains(where: \.needsObjects) }
        var all = needs(isStaged: isStaged)
        all.addKeys(rows: known.map { $0.source.map(source.census.count(of:)) ?? 0 })
        // The policy path's share of a mapping has room for them.
        if !isStaged { all.addCounts(in: source.schema) }
        return all.bytes
    }

    // MARK: - The source

    private func openSource(_ memory: Memory, _ shares: MemoryShares) throws -> Source {
        let store = try SourceStore(
            path: migration.sourcePath, cacheBytes: shares.sourceCache, valueLimit: shares.value,
            temporaryDirectory: temporaryDirectory)
        store.readsPages = options.reader == .pages
        store.limitNeeded = { MemoryShares.limit(forValueOf: $0, resident: memory.resident, needs: memory.needs) }
        if !options.sourceIsKnownByTables {
            try StoreMatch.check(store.metadata, against: migration.sourceModel, path: migration.sourcePath)
        }
        let mirroringTables = try MirroredSource.check(store, options)
        var previous = (migration.archive?.mappings ?? []).map(\.mapping)
        for model in migration.mappingModels {
            try model.completeOpen(source: migration.sourceModel, destination: migration.destinationModel)
            try model.validate(
                source: migration.sourceModel, destination: migration.destinationModel, after: previous,
                misfits: .noted)
            previous += model.entityMappings ?? []
        }
        try checkPassNames()
        let layout = try store.layout(for: migration.sourceModel, damage: options.damage)
        let schema = try store.namesTakenOver(by: byRule, from: layout)
        let census =
            try migration.link?.expected.map { SourceCensus(expecting: $0, layout: layout) }
            ?? interrupted?.header.census(of: store, layout)
            ?? SourceCensus(source: store, layout: layout)
        return Source(
            store: store, layout: layout, schema: schema, census: census, mirroringTables: mirroringTables)
    }

    /// Returns the number of rows to sample at either end of each table to estimate the destination's size: fewer if
    /// the plan itself is not wanted, none if the file is small or an interrupted run has found enough room on the
    /// disk.
    private func sampledRows(of source: SourceStore) -> Int {
        if describes { return RowSizes.describedSample }
        guard source.file.size > RowSizes.smallStore, interrupted?.states.isEmpty ?? true else { return 0 }
        return RowSizes.sample
    }

    // MARK: - Mapping models

    /// Resolves the mapping models, each beside the mappings of those before it.
    private func resolve(_ source: Source) throws -> [[PlannedMapping]] {
        var known = migration.archive?.mappings ?? []
        return try migration.mappingModels.map { model in
            let own = try MappingResolution(
                model: model, source: source.layout.schema, destination: source.schema, previous: known,
                observed: migration.manager.observedCalls
            ).resolve()
            known += own
            return own
        }
    }

    /// Plans the work of each mapping model.
    private func plan(
        _ resolved: [[PlannedMapping]], _ source: Source, _ existing: ExistingStore?, _ budget: MemoryShares
    ) throws -> PlannedModels {
        let (schema, layout, census) = (source.schema, source.layout, source.census)
        var hasRows = existing?.hasRows ?? schema.tables.map { _ in false }
        for table in migration.archive?.rejectingTables ?? [] where hasRows.indices.contains(table) {
            hasRows[table] = true
        }
        let isExpected = migration.link?.expected != nil
        var sizes = RowSizes(
            source: source.store, layout: layout, destination: schema, rows: sampledRows(of: source.store),
            isEmpty: isExpected)
        let sampled = try isExpected ? 0 : sizes.sourceBytes(rows: census.rows)
        let scale = sampled < 4096 ? 1 : min(20, max(0.05, Double(source.store.file.size) / sampled))
        var planned = PlannedModels(mappings: migration.archive?.mappings ?? [])
        for (number, (model, own)) in zip(migration.mappingModels, resolved).enumerated() {
            let previous = planned.mappings
            let mappings = previous + own
            let work = try Planner(
                mappings: mappings, source: layout, destination: schema, keys: options.keys,
                cut: PassCut(options, model: number), rowCounts: census.rows, hasRows: hasRows,
                firstOwn: previous.count
            ).work()
            var rowBytes: [Int: Double] = [:]
            for mapping in own { rowBytes[mapping.index] = try sizes.bytes(of: mapping) }
            let description = PlanDescription(
                work: work, mappings: mappings, firstOwn: previous.count, source: layout.schema, destination: schema,
                census: census, usesRowPath: options.usesStoreSpecificMigrationManager,
                changesExistingRows: PreviousModelLookups(mappings: mappings, previousCount: previous.count)
                    .needObjects,
                rowBytes: rowBytes, scale: scale, budget: budget)
            planned.descriptions.append(description)
            try MatchingRefusal(
                mappings: own, modelCount: resolved.count + (previous.isEmpty || number > 0 ? 0 : 1),
                reasonForObjects: description.reasons.first, options: options
            ).check()
            planned.models.append(
                Migration.PlannedModel(
                    model: model, mappings: previous.map(\.ofPreviousModel) + own, previousCount: previous.count,
                    policies: try Policies(mappings: own, manager: migration.manager),
                    isStaged: description.isStaged, work: work, hasRows: hasRows))
            planned.mappings = mappings
            guard number < migration.mappingModels.count - 1 else { break }
            let filled = describes ? tablesFilled(by: own, source, isExpected: isExpected) : []
            hasRows = schema.tables.indices.map { table in
                hasRows.indices.contains(table) && hasRows[table] || filled.contains(table)
                    || own.contains { $0.certainlyFills(table, census) }
            }
        }
        return planned
    }

    /// Returns the destination tables that mappings fill, as far as the plan can know: by the rows that pass their filters. What
    /// only the run shows counts as filled, unless the keys have to be kept.
    private func tablesFilled(by mappings: [PlannedMapping], _ source: Source, isExpected: Bool) -> Set<Int> {
        let search = FirstSourceRow(
            source: source.store, layout: source.layout, census: source.census, isExpected: isExpected)
        var filled: Set<Int> = []
        for mapping in mappings {
            guard let table = mapping.destinationTable, !filled.contains(table) else { continue }
            switch search.first(of: mapping) {
            case .none: continue
            case .row: filled.insert(table)
            case .unknown:
                let hasRows = mapping.source.map { source.census.count(of: $0) > 0 } ?? false
                if options.keys != .kept, hasRows { filled.insert(table) }
            }
        }
        return filled
    }

    /// Returns the plan's lines about each mapping model.
    ///
    /// - Parameter unevaluated: sentences about expressions that nothing evaluates, by model.
    private func describe(
        _ planned: PlannedModels, _ source: Source, unevaluated: [[String]]
    ) throws -> [MigrationPlan.Model] {
        var models = planned.descriptions.map { $0.model() }
        for index in models.indices {
            let own = planned.models[index]
            let resume = ResumeNote(
                Array(own.mappings[own.previousCount...]), own.policies, migration.manager,
                isStaged: models[index].isStaged, appends: appends, of: planned.models.count)
            models[index].resume = resume.sentence
            for (number, obstacle) in resume.obstacles {
                models[index].entityMappings[number].obstacle = obstacle
            }
            let unmapped = try UnmappedValues(
                source: source.store, layout: source.layout, destination: migration.destinationModel,
                isCounted: migration.link?.expected == nil
            ).of(own.model)
            models[index].unmapped = unmapped.isEmpty ? nil : unmapped
            let all =
                unevaluated[index] + (index == 0 ? ValuePredicate.unevaluated(in: migration.destinationModel) : [])
            models[index].unevaluated = all.isEmpty ? nil : all
        }
        return models
    }

    /// Refuses names in the passes that no mapping model has, or that appear in two passes.
    private func checkPassNames() throws(MigrationError) {
        let known = migration.mappingModels.flatMap { $0.entityMappings ?? [] }.compactMap { $0.name }
        var seen: Set<String> = []
        for name in options.passNames.flatMap({ $0 }) {
            guard known.contains(name) else {
                throw MigrationError(
                    "plan.unknownMapping", .configuration, "There is no entity mapping \(name) to put into a pass",
                    remedy: EditDistance.question(name, among: known)
                        ?? "Name one of: \(known.joined(separator: ", "))", context: .init(entityMapping: name))
            }
            guard seen.insert(name).inserted else {
                throw MigrationError(
                    "plan.mappingTwice", .configuration, "The entity mapping \(name) is put into two passes",
                    context: .init(entityMapping: name))
            }
        }
    }

    private func planInputs(
        _ source: SourceStore, _ existing: ExistingStore?
    ) throws(MigrationError) -> MigrationPlan.Inputs {
        var destination: MigrationPlan.Store?
        if let existing {
            destination = .init(try StoreFingerprint.take(path: place.resolved.path), uuid: existing.metadata.uuid)
        }
        return MigrationPlan.Inputs(
            source: .init(source.fingerprint, uuid: source.metadata.uuid), destination: destination,
            sourceModel: describes ? InputDigest.hashes(migration.sourceModel) : [:],
            destinationModel: describes ? InputDigest.hashes(migration.destinationModel) : [:],
            mappingModels: describes ? migration.mappingModels.map(InputDigest.digests) : [], options: options.planned)
    }

    private func disk(
        _ models: [MigrationPlan.Model], _ bytes: [(expected: Double, least: Double)], existing: DestinationPath?
    ) -> MigrationPlan.Disk {
        var expected = existing.flatMap { try? DestinationPath.size(of: $0.resolved.path) }.map(Double.init) ?? 0
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
