import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage

/// One run to a destination: the private store is loaded in the work area, checked, reported on and published.
final class DestinationRun {
    private let migration: Migration
    private let prepared: Migration.Prepared
    private let place: DestinationPath
    private let area: WorkArea
    private let clock: RunClock
    private let checkpoints: CheckpointScheduler
    private let options: MigrationOptions
    /// The store that is appended to, locked; nil for a fresh destination.
    private let old: ExistingDestination?
    private let existing: ExistingStore?
    private let archive: AssociationArchive
    /// The contents of the archive before the run.
    private let known: AssociationArchive.Mark
    private let run: MigrationRun
    private let previous: PreviousModels
    private let external: ExternalFiles
    private let publication: ExternalPublication
    private let permissions: FilePermissions
    private let rejectFile: ResultFile?
    private let idMap: ObjectIDMap?

    private var appends: Bool { old != nil }

    /// Takes the destination, and everything that the run needs.
    ///
    /// - Parameter state: the state of a killed run from which the load resumes.
    init(
        _ migration: Migration, _ prepared: Migration.Prepared, to place: DestinationPath, in area: WorkArea,
        appends: Bool, clock: RunClock, checkpoints: CheckpointScheduler, resuming state: JournalRecord.State?
    ) throws {
        (self.migration, self.prepared, self.place, self.area) = (migration, prepared, place, area)
        (self.clock, self.checkpoints, options) = (clock, checkpoints, migration.options)
        old = try appends ? ExistingDestination(locking: place.path, vfs: area.vfsName) : nil
        do {
            existing = try Self.copy(old, of: migration, to: place, in: area, state)
            archive = migration.archive ?? AssociationArchive(directory: area.spills)
            known = archive.mark
            run = migration.migrationRun(prepared, existing, area)
            previous = PreviousModels(run, archive: archive, existing: existing)
            external = try migration.externalFiles(run, existing, area, carries: !options.isDryRun)
            checkpoints.attach(previous, external, appendingTo: old?.identity ?? [])
            if let state {
                try external.resume(noted: state.stagedFiles)
                migration.progress.resume(at: state.progress.work)
            }
            publication = ExternalPublication(files: external, area: area)
            if appends { try publication.noteExisting(area.storePath, resumes: state != nil) }
            permissions = FilePermissions(ofSource: prepared.source.path)
            let permissions = permissions
            rejectFile = try options.rejectFile.map { path throws(MigrationError) in
                try ResultFile(
                    path: path, kind: "reject file", permissions: permissions,
                    first: try Self.keptRejects(state, area).map { [$0] } ?? migration.link?.rejectFiles ?? [])
            }
            idMap = try options.idMap.map { path throws(MigrationError) in
                try ObjectIDMap(path: path, permissions: permissions, previous: migration.link?.idMap)
            }
        } catch {
            old?.release()
            throw error
        }
    }

    /// Copies the store that is appended to into the work area, unless a killed run did, and reads it.
    private static func copy(
        _ old: ExistingDestination?, of migration: Migration, to place: DestinationPath, in area: WorkArea,
        _ state: JournalRecord.State?
    ) throws -> ExistingStore? {
        if let state {
            if let appended = state.appended, appended.identity != old?.identity ?? [] {
                throw MigrationError(
                    "resume.changed", .configuration,
                    "A run to this destination was interrupted, and the destination was written since",
                    remedy: "Give --restart to begin anew", context: .init(path: place.path))
            }
            if old != nil, state.appended == nil { throw StateReader.damaged("nothing of the destination") }
        } else {
            try old?.copy(to: area.storePath) { if let error = migration.cancellation.error { throw error } }
        }
        guard old != nil else { return nil }
        // Read the existing store again under the lock: rows may have been added since the plan was made.
        var existing = try StoreMatch.existing(area.storePath, model: migration.destinationModel)
        guard let appended = state?.appended else { return existing }
        // The store as it was before the killed run added rows to it.
        (existing.highestKeys, existing.hasRows) = (appended.highestKeys, appended.hasRows)
        return existing
    }

    /// Returns the path of the file with the reject lines of the mapping models that a killed run completed; nil if it
    /// has none.
    ///
    /// - Throws: `journal.damaged` if the file is missing, also because the killed run had no reject file. The run then begins
    ///   anew.
    private static func keptRejects(
        _ state: JournalRecord.State?, _ area: WorkArea
    ) throws(MigrationError) -> String? {
        guard let progress = state?.modelProgress, progress.rejects != nil else { return nil }
        let path = area.rejectLinesPath(after: progress.done)
        guard try DestinationPath.status(path) != nil else { throw StateReader.damaged("the rejected objects") }
        return path
    }

    // MARK: - The run

    func migrate() throws -> MigrationReport {
        defer { old?.release() }
        let progress = migration.progress
        progress.expect(bytes: prepared.plan.disk.destination, at: area.storePath)
        // If objects may be rejected, all rows may be loaded twice.
        let (rows, work) = try prepared.expectedRows()
        progress.expect(rows: rows, work: work * (options.onInvalid == .reject ? 2 : 1))
        // Mapping models that have run say nothing of links any more.
        let oneSided = try OneSidedLinkCount.lines(
            in: prepared.source, prepared.layout,
            models: prepared.models.map { Array($0.mappings[$0.previousCount...]) })
        do {
            let gaps = try migration.passesNoFilter(prepared, run)
            try LossRefusal.check(gaps, options)
            var loaded = try StoreLoad(
                migration, prepared, previous, external, existing: existing, area: area, checkpoints: checkpoints,
                previousStepIDs: try migration.previousStepIDs(), mode: .publish(rejectFile)
            ).load()
            try rejectFile?.finish()
            run.services.begin(.publish)
            run.tally.counts.passesNoFilter = gaps
            let left = try migration.leftBehind(prepared)
            try LossRefusal.check(links: loaded.linksNotMade, orders: loaded.ordersNotKept, options)
            loaded.valuesCut = migration.marking(run.tally.counts.valuesCut, prepared)
            run.tally.counts.valuesCut = nil
            try LossRefusal.check(loaded.valuesCut, options)
            let bytes = try check(oneSided)
            progress.complete(bytes: bytes)
            if let error = migration.cancellation.error { throw error }
            try idMap?.write(run, archive, firstMapping: known.count, storePath: area.storePath)
            var report = try report(loaded, left, bytes: bytes)
            if !options.isDryRun {
                try checkpoints.publish(
                    report, store: place.path, results: [rejectFile?.parts, idMap?.parts])
                // Result files may lie elsewhere: they must not survive a power failure that the journal does not.
                if rejectFile != nil || idMap != nil { try DestinationPath.synchronize(folder: place.folder) }
            }
            try rejectFile?.place()
            do {
                try idMap?.place()
                if options.isDryRun { archive.goBack(to: known) } else { try publish() }
            } catch {
                rejectFile?.withdraw()
                idMap?.withdraw()
                throw error
            }
            progress.begin(.done)
            run.services.profile?.end()
            report.seconds = clock.seconds
            report.processorSeconds = clock.processorSeconds
            report.peakMemory = ProcessMemory.peakResident() ?? 0
            report.profile = run.services.profile?.lines
            return report
        } catch {
            archive.goBack(to: known)
            throw error
        }
    }

    /// Checks the counts and the finished file. Returns the file's size in bytes.
    private func check(_ oneSided: [OneSidedLinks]) throws -> Int {
        let tally = run.tally
        try LossRefusal.check(
            made: tally.counts.made, of: prepared.census.total,
            hasPolicies: prepared.mappings.contains { $0.mapping.hasPolicy }, options)
        try prepared.source.checkUnchanged()
        tally.counts.mappings.removeFirst(known.count)
        // A mapping may have a negative count if a later call deleted objects of an earlier one: that is no created object.
        tally.counts.created = tally.counts.created.filter { $0.value > 0 }
        try tally.counts.checkBalance()
        tally.counts.links = tally.linksWritten.reduce(0, +)
        tally.counts.oneSidedLinks = oneSided.isEmpty ? nil : oneSided
        if let changes = run.sourceChanges {
            let changed = changes.count - changes.deleted
            (tally.counts.changedSources, tally.counts.deletedSources) = (
                changed > 0 ? changed : nil, changes.deleted > 0 ? changes.deleted : nil
            )
        }
        try PublicationCheck(run: run, isAppended: appends).run(area.storePath)
        return try DestinationPath.size(of: area.storePath)
    }

    private func report(_ loaded: LoadedStore, _ left: LeftBehind?, bytes: Int) throws -> MigrationReport {
        let plan = prepared.plan
        var rejects = loaded.rejects
        rejects?.file = rejectFile?.path
        let corrected = try migration.correctedBookkeeping(prepared)
        let notes = RunNotes(
            counts: run.tally.counts, tables: loaded.tables, schema: run.inputs.destinationSchema, options: options,
            source: prepared.source, foreign: try prepared.source.foreignTables(beside: prepared.layout),
            existing: existing, missing: external.missing, history: loaded.historyNote,
            mirroring: MirroredSource.note(
                prepared.source, tables: prepared.mirroringTables, isAppended: existing != nil),
            repairs: plan.repairs ?? [], corrected: corrected ?? [], unmapped: plan.unmapped,
            layout: (plan.layout ?? []) + loaded.missing,
            unknownHashes: appends ? [] : migration.unknownHashes(prepared), links: loaded.linksNotMade,
            orders: loaded.ordersNotKept, cuts: loaded.valuesCut ?? []
        ).sentences
        return MigrationReport(
            source: OpenFolders.shown(migration.sourcePath), destination: OpenFolders.shown(migration.destinationPath),
            mappingModels: migration.mappingModels.count, isAppended: appends, counts: run.tally.counts,
            rejects: rejects, passes: loaded.passes, isStaged: loaded.isStaged, keys: loaded.keys,
            seconds: clock.seconds, processorSeconds: clock.processorSeconds,
            peakMemory: ProcessMemory.peakResident() ?? 0, memoryLimit: prepared.limit,
            spilledBytes: area.spills.bytesWritten, destinationBytes: bytes, isDryRun: options.isDryRun,
            notes: notes + plan.unevaluated, unmapped: plan.unmapped.isEmpty ? nil : plan.unmapped,
            repairs: plan.repairs, correctedBookkeeping: corrected, leftBehind: left,
            linksNotMade: loaded.linksNotMade.isEmpty ? nil : loaded.linksNotMade,
            ordersNotKept: loaded.ordersNotKept.isEmpty ? nil : loaded.ordersNotKept,
            valuesCut: loaded.valuesCut,
            sourceObjects: prepared.census.total)
    }

    /// Puts the files of external data and the store at their final paths.
    private func publish() throws {
        try publication.place(
            forStoreAt: area.storePath, existing: old == nil ? nil : DestinationPath.status(place.path))
        do throws(MigrationError) {
            if let old {
                try old.replace(by: area.storePath)
            } else {
                try place.publish(area.storePath, permissions: permissions)
            }
        } catch {
            publication.withdraw()
            throw error
        }
        publication.removeOrphans()
    }
}
