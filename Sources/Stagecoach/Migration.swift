import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage

/// One migration of a store by one mapping model, or by several in turn. The methods in this file run the stages.
///
///     open → resolve the mapping models → plan
///       → a fresh store, or a locked store's copy to append to
///       → for each mapping model, in turn
///            no user code: keys first, then each table's rows once     (``RowPath``)
///            user code:    create, relate, validate over all mappings  (``PolicyPath``)
///            indexes, counts of relationships
///     → metadata → publish
///
/// ```swift
/// let migration = Migration(from: "Library.sqlite", model: old, mapping: mappingModel, to: "New.sqlite", model: new)
/// let report = try migration.run()
/// print(report.counts.created["Book"] ?? 0, "books in", report.seconds, "seconds")
/// ```
public final class Migration {
    /// The store to migrate.
    public let sourcePath: String
    /// The path of the migrated store.
    public let destinationPath: String
    /// The model version of the source.
    public let sourceModel: ManagedObjectModel
    /// The model version of the destination.
    public let destinationModel: ManagedObjectModel
    /// The mapping models, in order. Each works as a run of its own that appends to the results of the previous ones.
    public let mappingModels: [MappingModel]
    /// The options given by the caller.
    public let options: MigrationOptions
    /// The manager that policies see.
    let manager: MigrationManager
    /// The progress of the run; may be read from any thread.
    public let progress: ProgressCounter
    /// The flag that stops the run from any thread.
    public let cancellation: CancellationFlag
    /// Associations of previous migrations to the same destination; nil: lookups reach only this migration's.
    let archive: AssociationArchive?
    /// The counterpart of the progress as a Foundation `Progress`.
    private let mirror: ProgressMirror?
    /// The destination's UUID if a fresh one is wanted; else nil.
    var newUUID: String?
    /// A closure called once the destination is published, before the work directory is removed.
    var didPublish: ((MigrationReport) throws -> Void)?
    /// Takes the last trace of a run that is done; nil: the run removes it.
    var traces: LastTraces?
    /// Returns the versions of another route that keeps the data of a line; nil: none is searched.
    var detour: ((LeftBehind.Line) -> [String]?)?
    /// Returns the label of the step that leaves a line's data behind; nil unless several steps of a chain run as this
    /// migration.
    var losingStep: ((LeftBehind.Line) -> String?)?
    /// Tells whether a step leaves data behind that is meant to stay; nil unless several steps of a chain run as this
    /// migration.
    var meantInSteps: ((_ entity: EntityDescription, _ property: String?) -> Bool)?
    /// The migration's place in a chain of versions; nil if it is not part of a chain.
    var link: ChainPosition?

    /// Creates a migration by one mapping model. Nothing is read yet.
    public convenience init(
        from sourcePath: String, model sourceModel: ManagedObjectModel, mapping mappingModel: MappingModel,
        to destinationPath: String, model destinationModel: ManagedObjectModel, options: MigrationOptions = .init(),
        manager: MigrationManager? = nil, progress: ProgressCounter = .init(), cancellation: CancellationFlag = .init()
    ) {
        self.init(
            from: sourcePath, model: sourceModel, mappings: [mappingModel], to: destinationPath,
            model: destinationModel, options: options, manager: manager, progress: progress, cancellation: cancellation)
    }

    /// Creates a migration by several mapping models in turn. Nothing is read yet.
    ///
    /// - Precondition: there is at least one mapping model.
    public convenience init(
        from sourcePath: String, model sourceModel: ManagedObjectModel, mappings: [MappingModel],
        to destinationPath: String, model destinationModel: ManagedObjectModel, options: MigrationOptions = .init(),
        manager: MigrationManager? = nil, progress: ProgressCounter = .init(), cancellation: CancellationFlag = .init()
    ) {
        self.init(
            from: sourcePath, model: sourceModel, mappings: mappings, to: destinationPath, model: destinationModel,
            options: options, manager: manager, progress: progress, cancellation: cancellation, archive: nil)
    }

    init(
        from sourcePath: String, model sourceModel: ManagedObjectModel, mappings: [MappingModel],
        to destinationPath: String, model destinationModel: ManagedObjectModel, options: MigrationOptions,
        manager: MigrationManager?, progress: ProgressCounter, cancellation: CancellationFlag,
        archive: AssociationArchive?, mirror: ProgressMirror? = nil
    ) {
        precondition(!mappings.isEmpty, "a migration has a mapping model")
        self.sourcePath = sourcePath
        self.destinationPath = destinationPath
        self.sourceModel = sourceModel
        self.destinationModel = destinationModel
        mappingModels = mappings
        self.options = options
        self.manager = manager ?? MigrationManager(sourceModel: sourceModel, destinationModel: destinationModel)
        self.progress = progress
        self.cancellation = cancellation
        self.archive = archive
        self.mirror = mirror
    }

    /// Migrates the store. A run that throws leaves the destination as it was. If it was interrupted or the disk failed
    /// (exit codes 74 and 75), the work directory stays, and the same run started again resumes from it, as it does
    /// after the process was killed. After any other error nothing is left.
    ///
    /// - Returns: a report of the migration.
    /// - Throws: ``MigrationError``, with the error of a policy as its cause; the error of the cancellation, unchanged.
    /// - Complexity: O(rows), O(links log links); memory stays under the limit.
    @discardableResult
    public func run() throws -> MigrationReport {
        if link == nil { progress.beginRun(mirror: mirror) }
        defer {
            if link == nil { progress.endRun() }
            SpareMemory.hugePage.release()
        }
        let isTaken = manager.beginRun(mappingModels[0], progress: progress, cancellation: cancellation)
        defer { if isTaken { manager.endRun() } }
        do {
            return try untilUndamaged { passed in
                // `now()` gives the run's start, for every expression and row, also in a resumed run.
                let interrupted = try interruptedRun(passed)
                let now = interrupted?.header.started ?? Date().timeIntervalSinceReferenceDate
                let scope = EvaluationScope(now: now, models: [destinationModel, sourceModel])
                return try EvaluationScope.$current.withValue(scope) {
                    try WaitBoard.$current.withValue(progress.waits) { try migrate(interrupted, passed) }
                }
            }
        } catch {
            // A statement stopped by the cancellation reports an interruption; the caller needs the reason for it, and
            // the place where the work is kept.
            let reason = cancellation.error
            if let kept = error as? MigrationError, (reason as? MigrationError)?.code == kept.code { throw kept }
            throw reason ?? error
        }
    }

    /// The outcome of an attempt.
    private enum Attempt {
        case done(MigrationReport)
        /// The files of a killed run are damaged. The next attempt ignores these parts of them.
        case damaged(PassedOver)
    }

    /// Repeats an attempt until it meets no damage in the files of a killed run. Each attempt uses less of these files,
    /// the last one none.
    private func untilUndamaged(_ attempt: (PassedOver) throws -> Attempt) throws -> MigrationReport {
        var passed = PassedOver()
        // A resumed run replaces the user info by the saved one.
        let userInfo = manager.userInfo
        while true {
            switch try attempt(passed) {
            case .done(let report): return report
            case .damaged(let next): passed = next
            }
            manager.userInfo = userInfo
            progress.beginAgain()
        }
    }

    /// Refuses a destination that cannot be made or added to.
    func checkDestination() throws(MigrationError) {
        let (place, appends) = try target()
        try checkDestination(place, appends: appends, after: interruptedRun(PassedOver()))
    }

    /// Returns the work of a run to the same destination that did not end; nil if there is none.
    private func interruptedRun(_ passed: PassedOver) throws(MigrationError) -> InterruptedRun? {
        if options.restarts || passed.isAll { return nil }
        return try InterruptedRun.read(beside: target().place, last: passed.statesRead)
    }

    private func target() throws(MigrationError) -> (place: DestinationPath, appends: Bool) {
        try DestinationPath.target(destinationPath, adds: options.appendsToExisting)
    }

    private func migrate(_ seen: InterruptedRun?, _ passed: PassedOver) throws -> Attempt {
        let clock = RunClock()
        try DestinationPath(path: destinationPath).checkOther(than: sourcePath)
        let (place, appends) = try target()
        progress.begin(.opening)
        let prepared = try prepare(place, appends: appends, interrupted: seen)
        progress.trace?.note(prepared.plan)
        if options.onLoss == .refuse {
            try LossRefusal.check(leftBehind(prepared), options)
            try LossRefusal.check(links: linkShortages(prepared), orders: ordersNotKept(prepared), options)
            try LossRefusal.check(valuesCut(prepared), options)
            try LossRefusal.check(passesNoFilter(prepared), options)
        }
        try checkDestination(place, appends: appends, after: seen)
        // The interrupted run has already written its files, so the room for them is not needed again.
        if seen?.states.isEmpty ?? true { try DiskSpace.check(prepared.plan.disk, in: place.folder) }
        let area = try WorkArea(beside: place, spills: options.workDirectory)
        let left = try InterruptedWork(
            in: area, of: place, restarts: options.restarts || passed.isAll, states: passed.statesRead)
        var keeps = false
        var isDone = false
        defer { if keeps { area.keep() } else { area.close(leavingTo: isDone ? traces : nil) } }
        return try area.naming(destinationPath, real: place.path) {
            let resumption: Resumption
            do {
                resumption = try self.resumption(prepared, area, left, appends: appends, passing: passed)
            } catch let error as MigrationError where error.code == "resume.changed" {
                // The interrupted run can still be resumed.
                keeps = true
                throw error
            } catch let error as MigrationError where left.run != nil && area.isDamage(error) {
                keeps = true
                return .damaged(PassedOver(isAll: true, reason: passed.reason ?? error.message))
            }
            if let report = resumption.published {
                traces?.areOfInterruptedRun = true
                try didPublish?(report)
                isDone = true
                return .done(report)
            }
            do {
                let run = try DestinationRun(
                    self, prepared, to: place, in: area, appends: appends, clock: clock,
                    checkpoints: resumption.checkpoints, resuming: resumption.state)
                var report = try run.migrate()
                report.notes += resumption.notes
                try didPublish?(report)
                isDone = true
                return .done(report)
            } catch {
                if let error = error as? MigrationError, error.code == "resume.changed" {
                    // The interrupted run can still be resumed.
                    keeps = true
                    throw error
                }
                if cancellation.error == nil, let next = resumption.passing(over: error) {
                    keeps = true
                    return .damaged(next)
                }
                let final = cancellation.error ?? error
                guard let known = final as? MigrationError, resumption.keeps(known) else { throw error }
                keeps = true
                throw resumption.kept(known)
            }
        }
    }

    /// Ensures that the destination can be made at a place, or added to.
    private func checkDestination(
        _ place: DestinationPath, appends: Bool, after seen: InterruptedRun?
    ) throws(MigrationError) {
        let isPublished = try seen?.isPublished() ?? false
        if appends {
            try place.checkReplaceable()
        } else if !isPublished {
            do throws(MigrationError) {
                try place.checkFresh()
            } catch {
                InterruptedWork.removeLeftover(beside: place, spills: options.workDirectory, of: seen)
                throw error
            }
        }
        try ExternalPublication.check(place.path, permissions: FilePermissions(ofSource: sourcePath))
    }

    /// Returns the map from this step's source objects to the objects of the chain's source; nil if no step ran before.
    func previousStepIDs() throws(MigrationError) -> PreviousStepIDMap? {
        try link?.idMap.map { path throws(MigrationError) in try PreviousStepIDMap(path: path) }
    }

    /// Decides about an interrupted run to the same destination.
    private func resumption(
        _ prepared: Prepared, _ area: WorkArea, _ left: InterruptedWork, appends: Bool, passing passed: PassedOver
    ) throws -> Resumption {
        let started = EvaluationScope.time
        let uuid = left.run?.header.uuid ?? UUID().uuidString
        if options.newUUID { newUUID = uuid }
        return try Resumption(
            area, left, to: destinationPath, appends: appends, cancellation: cancellation,
            isResumable: archive == nil && !options.isDryRun, passing: passed
        ) { () throws(MigrationError) in try self.journalHeader(prepared, started: started, uuid: uuid) }
    }

    /// Begins the run that all stages share.
    ///
    /// - Parameter existing: the store that is appended to; nil for a fresh one.
    func migrationRun(_ prepared: Prepared, _ existing: ExistingStore?, _ area: WorkArea) -> MigrationRun {
        let run = MigrationRun(
            RunInputs(
                source: prepared.source, layout: prepared.layout,
                destinationSchema: existing?.schema ?? prepared.schema, work: area.spills, budget: prepared.budget,
                options: options, mappingCount: prepared.mappings.count, destinationPath: destinationPath,
                existing: existing), progress: progress, cancellation: cancellation)
        run.tally.counts = prepared.census.counts(for: prepared.mappings, reads: prepared.left.reads)
        countValues(prepared)
        return run
    }

    /// Returns the external binary values of a run.
    ///
    /// - Parameter carries: false if nothing will be published.
    func externalFiles(
        _ run: MigrationRun, _ existing: ExistingStore?, _ area: WorkArea, carries: Bool
    ) throws(MigrationError) -> ExternalFiles {
        try ExternalFiles(
            source: run.inputs.source, given: sourcePath,
            destination: existing == nil ? destinationPath : DestinationPath(path: destinationPath).resolved.path,
            schema: run.inputs.destinationSchema, staging: area.externalPath, threshold: options.externalThreshold,
            storeUUID: existing?.metadata.uuid ?? run.inputs.source.metadata.uuid, carries: carries,
            checkCancelled: { [services = run.services] in try services.checkCancelled() })
    }
}
