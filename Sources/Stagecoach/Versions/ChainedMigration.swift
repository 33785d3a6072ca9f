import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// A migration of a store over several versions of its model: a source, steps, a destination.
///
/// Steps whose mapping models compose run as one migration; the others run one after the other, through private stores
/// that nobody else sees. Only the last run writes the destination, so a chain that fails leaves it as it was. Each run
/// stays under the memory limit. On disk there are at most two private stores at a time, beside the destination or in
/// the work directory that was asked for.
///
/// The report is that of the last run, with ``MigrationReport/steps`` for each run. The id map and the reject file
/// cover the whole chain.
///
/// ```swift
/// let bundle = "Library.xcdatamodeld"
/// let versions = try ["Library", "Library 3"].map { (name: String) in
///     ModelVersion(name: name, model: try ModelLocator.load("\(bundle):\(name)").model)
/// }
/// let route = try VersionRoute.find(from: versions[0], to: versions[1], bundle: bundle)
/// let report = try ChainedMigration(from: "Library.sqlite", steps: route.steps, to: "New.sqlite").run()
/// for step in report.steps ?? [] { print(step.sourceVersion ?? "?", "to", step.destinationVersion ?? "?") }
/// ```
public final class ChainedMigration {
    /// The store to migrate.
    public let sourcePath: String
    /// The path of the migrated store.
    public let destinationPath: String
    /// The steps from version to version, in order.
    public let steps: [MigrationStep]
    /// The options given by the caller.
    public let options: MigrationOptions
    /// The progress of the run; may be read from any thread.
    public let progress: ProgressCounter
    /// The flag that stops the run from any thread.
    public let cancellation: CancellationFlag
    /// The registry in which policies are found by name.
    public var policies: PolicyRegistry = .shared
    /// True if steps that compose run as one migration. If false, each step runs by itself, with the same result.
    public var fusesSteps = true
    /// Other routes between the two versions, suggested for data that a single inferred step leaves behind; nil: none
    /// is searched.
    public var detours: VersionDetours?
    /// A saved plan of a route with several runs. For a route with one run, use ``MigrationOptions/plan``.
    public var savedPlan: ChainPlan?
    /// Takes the last traces of a migration that is done; nil: it removes them.
    package var traces: LastTraces?
    /// The manager that policies of a single run see; nil: a new one.
    var manager: MigrationManager?

    /// Creates a migration. Nothing is read yet.
    ///
    /// - Precondition: there is at least one step.
    public init(
        from sourcePath: String, steps: [MigrationStep], to destinationPath: String,
        options: MigrationOptions = .init(),
        progress: ProgressCounter = .init(), cancellation: CancellationFlag = .init()
    ) {
        precondition(!steps.isEmpty, "a chain has a step")
        self.sourcePath = sourcePath
        self.steps = steps
        self.destinationPath = destinationPath
        self.options = options
        self.progress = progress
        self.cancellation = cancellation
    }

    /// The migration of the whole chain, if all its steps run as one; nil if several run.
    public var single: Migration? {
        let runs = runs
        return runs.count == 1 ? migration(runs[0], from: sourcePath, to: destinationPath, options: options) : nil
    }

    var runs: [ChainRun] {
        // If the destination cannot be looked at, assume that it exists; the run will refuse it.
        let stands = (try? DestinationPath(path: destinationPath).exists()) ?? true
        return ChainRun.cut(
            steps, options: options, appends: options.appendsToExisting && stands, fuses: fusesSteps,
            planned: savedPlan?.stepCounts)
    }

    /// Plans each run. Nothing is left on disk: the runs after the first are planned with an empty store in a folder
    /// for temporary files, and with the number of objects that their source is expected to have.
    ///
    /// - Throws: the errors of ``Migration/plan()``, with the step.
    public func plan() throws -> ChainPlan {
        try options.checkAllowedLosses(in: steps.map(\.source.model))
        let runs = runs
        let options = try optionsByRun(runs)
        let folder = runs.count > 1 ? try CheckFolder(in: self.options.workDirectory) : nil
        defer { folder?.remove() }
        var planned: [ChainPlan.Run] = []
        var expected: [String: Int]?
        for (index, run) in runs.enumerated() {
            var plan = try naming(run, runs, at: index) {
                var own = options[index]
                var source = sourcePath
                if let folder, index > 0 {
                    source = "\(folder.path)/step-\(index).sqlite"
                    try DestinationStore.makeEmpty(at: source, model: run.source.model)
                    own.sourceIsKnownByTables = true
                }
                let migration = migration(run, from: source, to: destinationPath, options: own)
                if index > 0 { migration.link = ChainPosition(expected: expected) }
                return try migration.plan()
            }
            expected = ChainedMigration.expectedObjects(of: plan)
            if index > 0 { plan.inputs.source = nil }
            planned.append(
                ChainPlan.Run(
                    steps: run.steps.map {
                        .init(source: $0.source.name, destination: $0.destination.name, mapping: $0.mapping)
                    }, obstacle: run.obstacle, plan: plan,
                    entityMappings: run.mappingModels.flatMap { $0.entityMappings ?? [] }.map {
                        "\($0.sourceEntityName ?? "–") → \($0.destinationEntityName ?? "–")  \($0.name ?? "")"
                    }))
        }
        return ChainPlan(runs: planned)
    }

    /// Migrates the store.
    ///
    /// - Throws: ``MigrationError``, with the step if there are several runs, and with the error of a policy as its cause;
    ///   the error of the cancellation.
    /// - Complexity: as ``Migration/run()``, for each run.
    @discardableResult
    public func run() throws -> MigrationReport {
        try options.checkAllowedLosses(in: steps.map(\.source.model))
        let runs = runs
        guard runs.count > 1 else {
            if savedPlan != nil { _ = try optionsByRun(runs) }
            let migration = migration(runs[0], from: sourcePath, to: destinationPath, options: options)
            migration.traces = traces
            let report = try migration.run()
            return runs[0].steps.count > 1 ? Self.whole([report], runs, source: sourcePath) : report
        }
        progress.beginRun()
        defer { progress.endRun() }
        let options = try optionsByRun(runs)
        try checkDestination()
        let source = try SourceStore(
            path: sourcePath, cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
        let stores = try ChainStores(beside: DestinationPath(path: destinationPath), folder: self.options.workDirectory)
        var keeps = false
        var isDone = false
        defer { if keeps { stores.keep() } else { stores.close(leavingTo: isDone ? traces : nil) } }
        let inputs = inputs(source, runs)
        var journal = try ChainJournal(in: stores, inputs: inputs, restarts: self.options.restarts)
        // A published destination is not made again, even if the files it was made from are damaged.
        let published = try publishedRun()
        if let published, journal.reports.count == runs.count - 1,
            published.report.source == OpenFolders.shown(stores.path(ofRun: runs.count - 1))
        {
            try journal.note(published.report, destination: destinationPath)
        }
        var anew = false
        let done = journal.reports.count
        if published == nil, done > 0, done < runs.count,
            let damage = try journal.damage(in: stores)
        {
            journal = try ChainJournal(in: stores, inputs: inputs, restarts: false, damage: damage)
            anew = true
        }
        var reports = journal.reports
        if reports.count == runs.count, try journal.isPublished() {
            // The last run may have been killed while it removed its own files.
            InterruptedWork.removeLeftover(beside: try target().place, spills: self.options.workDirectory)
            traces?.areOfInterruptedRun = true
            isDone = true
            return Self.whole(reports, runs, source: sourcePath)
        }
        do {
            try run(runs, options, source, stores, journal, &reports, anew: anew)
        } catch {
            let known = (cancellation.error ?? error) as? MigrationError
            keeps = known.map { $0.category == .io || $0.category == .temporary && $0.code != "store.moved" } ?? false
            throw error
        }
        progress.begin(.done)
        try? source.close()
        var whole = Self.whole(reports, runs, source: sourcePath)
        whole.notes += journal.notes
        isDone = true
        return whole
    }

    /// Returns the inputs of the chain.
    private func inputs(_ source: SourceStore, _ runs: [ChainRun]) -> MigrationPlan.Inputs {
        MigrationPlan.Inputs(
            source: .init(source.fingerprint, uuid: source.metadata.uuid), destination: nil,
            sourceModel: InputDigest.hashes(runs[0].source.model),
            destinationModel: InputDigest.hashes(runs[runs.count - 1].destination.model),
            mappingModels: runs.flatMap { $0.mappingModels.map(InputDigest.digests) }, options: options.planned)
    }

    /// Runs the steps that are not done yet.
    ///
    /// - Parameter anew: true if the work of a killed last run must not be used: it was made from damaged files.
    private func run(
        _ runs: [ChainRun], _ options: [MigrationOptions], _ source: SourceStore, _ stores: ChainStores,
        _ journal: ChainJournal, _ reports: inout [MigrationReport], anew: Bool
    ) throws {
        var link = ChainPosition()
        let mapsKeys = mapsKeys(runs)
        var rejects = 0
        var place = sourcePath
        for (index, run) in runs.enumerated() {
            progress.enter(step: index + 1, of: runs.count)
            let isLast = index == runs.count - 1
            if reports.indices.contains(index) {
                // This run was done before the process was killed.
                rejects += reports[index].rejects?.objects ?? 0
                if mapsKeys { link.idMap = stores.idMap(ofRun: index + 1) }
                if self.options.rejectFile != nil { link.rejectFiles.append(stores.rejects(ofRun: index + 1)) }
                stores.remove(run: index)
                place = stores.path(ofRun: index + 1)
                continue
            }
            if isLast {
                try source.checkUnchanged()
            } else {
                try stores.removeUnknown(run: index + 1)
            }
            let next = isLast ? destinationPath : stores.path(ofRun: index + 1)
            var options = options[index]
            if anew { options.restarts = true }
            if !isLast {
                // Rejects and errors of later runs are reported with the objects of the chain's source.
                if mapsKeys { options.idMap = stores.idMap(ofRun: index + 1) }
                if self.options.rejectFile != nil { options.rejectFile = stores.rejects(ofRun: index + 1) }
            }
            options.maximumRejects = self.options.maximumRejects.map { max(0, $0 - rejects) }
            let migration = migration(run, from: place, to: next, options: options)
            migration.link = isLast ? link : ChainPosition(idMap: link.idMap)
            if isLast { migration.traces = traces }
            var known = reports
            let files = isLast ? [] : [next] + results(ofRun: index + 1, runs, stores)
            migration.didPublish = { report in
                known.append(report)
                try journal.note(report, destination: isLast ? next : nil, files: files)
            }
            let origins = ChainOrigins(sourcePath: sourcePath, runs: Array(runs[..<index]), idMap: link.idMap)
            let report = try naming(run, runs, at: index, stores, origins) { try migration.run() }
            reports = known.count > reports.count ? known : reports + [report]
            rejects += report.rejects?.objects ?? 0
            if !isLast {
                link.idMap = options.idMap
                if let file = options.rejectFile { link.rejectFiles.append(file) }
                stores.remove(run: index)
            }
            place = next
        }
    }

    /// Tells whether a run's objects are traced to the chain's source through an id map, because the runs do not keep keys.
    private func mapsKeys(_ runs: [ChainRun]) -> Bool {
        options.idMap != nil || options.rejectFile != nil || options.keys == .sequential
            || savedPlan?.runs.contains { $0.plan.models.flatMap(\.tables).contains { $0.keys == .sequential } } == true
            || !runs.dropLast().allSatisfy(\.keepsKeys)
    }

    /// Returns the paths of the result files that a run makes beside its private store; runs are numbered from 1.
    private func results(ofRun number: Int, _ runs: [ChainRun], _ stores: ChainStores) -> [String] {
        (mapsKeys(runs) ? [stores.idMap(ofRun: number)] : [])
            + (options.rejectFile == nil ? [] : [stores.rejects(ofRun: number)])
    }

    /// Counts the objects that break rules, as ``Migration/check()`` does, run by run. The first run that would fail is
    /// the last that is checked. Runs before the last make their stores in a folder for temporary files, which is
    /// removed.
    ///
    /// - Returns: the check of that run; `version` is the version that the run leads to, nil if the chain is one run.
    /// - Throws: the errors of ``Migration/check()`` and ``Migration/run()``, with the step.
    public func check() throws -> (report: CheckReport, version: String?) {
        try options.checkAllowedLosses(in: steps.map(\.source.model))
        let runs = runs
        guard runs.count > 1 else {
            if savedPlan != nil { _ = try optionsByRun(runs) }
            return (try migration(runs[0], from: sourcePath, to: destinationPath, options: options).check(), nil)
        }
        let options = try optionsByRun(runs)
        let folder = try CheckFolder(in: self.options.workDirectory)
        defer { folder.remove() }
        var place = sourcePath
        var link = ChainPosition()
        var left: [(label: String, left: LeftBehind?)] = []
        var (links, orders): ([LinksNotMade], [OrdersNotKept]) = ([], [])
        var (gaps, cuts): ([PassesNoFilter], [ValuesCut]) = ([], [])
        for (index, run) in runs.enumerated() {
            progress.enter(step: index + 1, of: runs.count)
            let origins = ChainOrigins(sourcePath: sourcePath, runs: Array(runs[..<index]), idMap: link.idMap)
            func attempt<Result>(
                _ path: String, _ options: MigrationOptions, _ run: (Migration) throws -> Result
            ) throws -> Result {
                try naming(runs[index], runs, at: index, nil, origins) {
                    let migration = migration(runs[index], from: place, to: path, options: options)
                    migration.link = link
                    return try run(migration)
                }
            }
            var report = try attempt(destinationPath, options[index]) { try $0.check() }
            report.source = sourcePath
            left.append((run.label, report.leftBehind))
            report.leftBehind = LeftBehind.joined(left)
            links += report.linksNotMade ?? []
            orders += report.ordersNotKept ?? []
            (report.linksNotMade, report.ordersNotKept) = (links.isEmpty ? nil : links, orders.isEmpty ? nil : orders)
            gaps += report.passesNoFilter ?? []
            report.passesNoFilter = gaps.isEmpty ? nil : gaps
            cuts += report.valuesCut ?? []
            report.valuesCut = cuts.isEmpty ? nil : cuts
            let isLast = index == runs.count - 1
            if isLast || report.fails(options[index]) { return (report, run.destination.label) }
            let next = "\(folder.path)/step-\(index + 1).sqlite"
            var own = options[index]
            own.idMap = "\(folder.path)/step-\(index + 1)-map.sqlite"
            _ = try attempt(next, own) { try $0.run() }
            link.idMap = own.idMap
            if index > 0 { try? FileManager.default.removeItem(atPath: place) }
            place = next
        }
        throw MigrationError("internal.chain", .internal, "A chain has no run")
    }

    /// Returns the migration of one run.
    func migration(_ run: ChainRun, from source: String, to destination: String, options: MigrationOptions) -> Migration
    {
        var options = options
        if steps.count > 1 { options.allowedLosses = allowedLosses(of: run) }
        let made = MigrationManager(sourceModel: run.source.model, destinationModel: run.destination.model)
        made.policies = policies
        let migration = Migration(
            from: source, model: run.source.model, mappings: run.mappingModels, to: destination,
            model: run.destination.model, options: options, manager: manager ?? made, progress: progress,
            cancellation: cancellation)
        if run.steps.count > 1 {
            let trace = PropertyTrace(steps: run.steps.map(\.mappingModels))
            migration.losingStep = { line in trace.end(of: line, run.source.model).map { run.steps[$0].label } }
            let meant = run.steps.map {
                MeantLosses(models: $0.mappingModels, allowed: self.options.allowedLosses, source: $0.source.model)
            }
            migration.meantInSteps = { entity, property in
                guard let end = trace.end(entity: entity, property: property) else { return false }
                let model = run.steps[end.step].source.model
                return end.places.contains { place in
                    model.entity(named: place.entity).map {
                        meant[end.step].covers(entity: $0, property: place.property)
                    } ?? false
                }
            }
        }
        if steps.count == 1, let detours { migration.detour = { detours.way(keeping: $0) } }
        return migration
    }

    /// Returns the allowed losses by the names that a run's source has: those of its own version, and those of the chain's source,
    /// followed to it.
    private func allowedLosses(of run: ChainRun) -> Set<String> {
        let before = steps.prefix { $0.source.model !== run.source.model }
        let trace = PropertyTrace(steps: before.map(\.mappingModels))
        var names = options.allowedLosses.filter { LossName($0).problem(in: run.source.model) == nil }
        for name in options.allowedLosses where LossName(name).problem(in: steps[0].source.model) == nil {
            let name = LossName(name)
            guard let entity = steps[0].source.model.entity(named: name.entity) else { continue }
            names.formUnion(
                trace.names(ofEntity: entity, property: name.property).filter {
                    LossName($0).problem(in: run.source.model) == nil
                })
        }
        return names
    }

    /// Returns the options of each run. Options that concern the destination go to the last run, passes by name to the
    /// run that has the entity mappings.
    func optionsByRun(_ runs: [ChainRun]) throws(MigrationError) -> [MigrationOptions] {
        if options.plan != nil, runs.count > 1 {
            throw MigrationError(
                "plan.chain", .configuration, "The plan is for one migration, and this way takes \(runs.count)",
                remedy: "Make a new plan, and look at what changed")
        }
        if let savedPlan, savedPlan.stepCounts != runs.map(\.steps.count) {
            throw MigrationError(
                "plan.outdated", .configuration,
                "The plan does not fit its inputs any more: its migrations take \(Self.words(savedPlan.stepCounts)), "
                    + "and those of this way \(Self.words(runs.map(\.steps.count)))",
                remedy: "Make a new plan, and look at what changed")
        }
        guard runs.count > 1 else { return [options] }
        let names = runs.map { run in Set(run.mappingModels.flatMap(\.entityMappingNames)) }
        for name in options.passNames.joined() where !names.contains(where: { $0.contains(name) }) {
            throw MigrationError(
                "plan.unknownMapping", .configuration, "There is no entity mapping \(name) to put into a pass",
                remedy: EditDistance.remedy(for: name, among: names.flatMap(\.self)),
                context: .init(entityMapping: name))
        }
        return runs.indices.map { index in
            var own = index < runs.count - 1 ? options.ofPrivateRun : options
            own.passNames = options.passNames.map { $0.filter(names[index].contains) }.filter { !$0.isEmpty }
            if index > 0 { own.sourceIsKnownByTables = false }
            if index < runs.count - 1 { own.fullCheck = false }
            own.plan = savedPlan?.runs[index].plan
            return own
        }
    }

    private static func words(_ steps: [Int]) -> String {
        steps.map { $0.counted("step") }.joined(separator: ", then ")
    }

    /// Runs a closure. Puts the step in front of an error's message, and private paths and objects become the user's.
    func naming<Value>(
        _ run: ChainRun, _ runs: [ChainRun], at index: Int, _ stores: ChainStores? = nil,
        _ origins: ChainOrigins? = nil, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch var error as MigrationError {
            guard runs.count > 1 else { throw error }
            if index > 0, let origins, let near = error.context.sourceObjectID,
                let source = (try? origins.source(of: near)) ?? nil
            {
                error.nameSource(source)
            }
            if let path = error.context.path, stores?.owns(path) == true { error.context.path = sourcePath }
            error.message = "Step \(index + 1) of \(runs.count), \(run.label): \(error.message)"
            throw error
        }
    }

    /// Returns one report of all runs.
    private static func whole(_ reports: [MigrationReport], _ runs: [ChainRun], source: String) -> MigrationReport {
        var whole = reports[reports.count - 1]
        whole.source = source
        whole.steps = zip(runs, reports).map { run, report in
            ChainStepReport(
                sourceVersion: run.source.name, destinationVersion: run.destination.name,
                through: run.steps.dropLast().map(\.destination.label), mappings: run.steps.map(\.mapping),
                report: report)
        }
        guard reports.count > 1 else { return whole }
        whole.seconds = reports.reduce(0) { $0 + $1.seconds }
        whole.processorSeconds = reports.reduce(0) { $0 + $1.processorSeconds }
        whole.spilledBytes = reports.reduce(0) { $0 + $1.spilledBytes }
        whole.passes = reports.reduce(0) { $0 + $1.passes }
        whole.mappingModels = reports.reduce(0) { $0 + $1.mappingModels }
        whole.isStaged = reports.contains(where: \.isStaged)
        for report in reports.dropLast() {
            for (root, keys) in report.keys where keys != "kept" && whole.keys[root] != nil { whole.keys[root] = keys }
            if let found = report.rejects {
                whole.rejects = whole.rejects.map { found.joined(with: $0) } ?? found
            }
        }
        whole.repairs = reports.first?.repairs
        whole.correctedBookkeeping = reports.first?.correctedBookkeeping
        whole.sourceObjects = reports[0].sourceObjects
        whole.leftBehind = LeftBehind.joined(zip(runs, reports).map { ($0.label, $1.leftBehind) })
        let links = reports.flatMap { $0.linksNotMade ?? [] }
        whole.linksNotMade = links.isEmpty ? nil : links
        let orders = reports.flatMap { $0.ordersNotKept ?? [] }
        whole.ordersNotKept = orders.isEmpty ? nil : orders
        let cuts = reports.flatMap { $0.valuesCut ?? [] }
        whole.valuesCut = cuts.isEmpty ? nil : cuts
        let unmapped = reports.flatMap { $0.unmapped ?? [] }
        whole.unmapped = unmapped.isEmpty ? nil : unmapped
        whole.notes = zip(runs, reports).flatMap { run, report in report.notes.map { "\(run.label): \($0)" } }
        return whole
    }

    /// Returns the number of objects of each destination entity that a plan's mappings make, if none is left out or made
    /// by a policy.
    private static func expectedObjects(of plan: MigrationPlan) -> [String: Int] {
        var objects: [String: Int] = [:]
        for mapping in plan.models.flatMap(\.entityMappings) where mapping.path != .none {
            guard let name = mapping.destinationEntity else { continue }
            objects[name, default: 0] += mapping.sourceRows
        }
        return objects
    }
}
