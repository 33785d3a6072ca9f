import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Mapping
import PersistentStore
import SpillStorage

/// What a run does about an earlier one to the same destination that did not end: goes on from it, refuses to, or begins
/// anew.
struct Resumption {
    let checkpoints: RunCheckpoints
    /// Where the load goes on; nil where it begins.
    let state: RunRecord.State?
    /// The report of the earlier run where it had published its store.
    let published: MigrationReport?
    /// What the report says of it: a sentence, or nothing.
    var notes: [String] {
        if state != nil {
            let note = "The run went on from where an earlier one was that did not end"
            return [
                passed.reason.map { "\(note), from a state before its last one, which could not be used: \($0)" }
                    ?? note
            ]
        }
        var reason = passed.reason
        if reason == nil, area.hasDamagedJournal { reason = "it is damaged, or of another version of this program" }
        if reason == nil, checkpoints.isResumable, let earlier = area.earlier, !earlier.states.isEmpty {
            reason = "no state of it fits the store that the run left"
        }
        return reason.map {
            ["The journal of the killed run could not be used: \($0); the migration began anew"]
        } ?? []
    }
    let area: WorkArea
    /// What of the earlier run is passed over.
    let passed: PassedOver
    /// Whether a run may leave anything.
    private let mayKeep: Bool

    /// - Throws: `resume.changed` (78) where the inputs differ from those that the earlier run was begun with; `store.io` (74).
    init(
        _ migration: Migration, _ prepared: Migration.Prepared, _ area: WorkArea, appends: Bool, passing: PassedOver
    ) throws {
        self.area = area
        passed = passing
        let options = migration.options
        mayKeep = !options.isDryRun && migration.archive == nil
        let started = EvaluationScope.time
        let uuid = area.earlier?.header.uuid ?? UUID().uuidString
        if options.newUUID { migration.newUUID = uuid }
        // Digests of models take a millisecond or two: made when they are asked for, and once.
        var known: RunRecord.Header?
        let header = {
            if let known { return known }
            let made = try RunRecord.Header(migration, prepared, appends: appends, started: started, uuid: uuid)
            known = made
            return made
        }
        let isResumable = migration.archive == nil && !options.isDryRun
        checkpoints = RunCheckpoints(
            area, earlier: area.earlier, isResumable: isResumable, cancellation: migration.cancellation,
            options: options, header: header)
        guard let earlier = area.earlier else {
            (state, published) = (nil, nil)
            return
        }
        let differences = earlier.header.differences(from: try header())
        if try earlier.isPublished(), let publication = earlier.publication {
            // All but the cleaning up was done; another run has nothing to do with it.
            (state, published) = (nil, differences.isEmpty ? publication.report : nil)
            area.removeFiles()
            if !differences.isEmpty, !appends { try DestinationPath(path: migration.destinationPath).checkFresh() }
            return
        }
        published = nil
        guard differences.isEmpty else {
            throw MigrationError(
                "resume.changed", .configuration,
                "An earlier run to this destination did not end, and this one differs from it: "
                    + differences.prefix(5).joined(separator: "; ")
                    + (differences.count > 5 ? "; and \(differences.count - 5) more" : ""),
                remedy: "Run the earlier command to go on, or give --restart to begin anew",
                context: .init(path: area.path))
        }
        // Files that had their names already, before the store had its own: they are made again.
        for file in earlier.publication?.results ?? [] where try file.isPlaced() { unlink(file.path) }
        state = try checkpoints.findState(vfs: area.vfsName, before: passed.bound)
        if state == nil {
            unlink(area.runJournalPath)
            area.removeFiles()
        }
    }

    /// Whether a run that ends with an error can be gone on from.
    func keeps(_ error: MigrationError) -> Bool {
        let canGoOn =
            error.category == .io || error.code == "interrupted"
            || error.category == .temporary && error.code != "store.moved" && checkpoints.isActive
        guard canGoOn, mayKeep else { return false }
        // A full disk gets back what is of no use to a later run.
        if !checkpoints.isActive { area.removeFiles() }
        return checkpoints.keep()
    }

    /// The error, saying where the work is.
    func kept(_ error: MigrationError) -> MigrationError {
        var error = error
        let place = "What is done so far is kept in \(area.path): the same command goes on from there"
        error.remedy = error.remedy.map { "\($0). \(place)" } ?? place
        return error
    }
}

extension RunRecord.Header {
    /// What the run counted, where it was begun with the source as it is now; nil elsewhere. A run of other models is refused.
    func census(of source: SourceStore, _ layout: StoreLayout) -> SourceCensus? {
        guard inputs.source == .init(source.fingerprint, uuid: source.metadata.uuid) else { return nil }
        return SourceCensus(counted: sourceRows, strays: strays, layout: layout)
    }

    /// What a run is begun with.
    init(
        _ migration: Migration, _ prepared: Migration.Prepared, appends: Bool, started: Double, uuid: String
    ) throws(MigrationError) {
        let options = migration.options
        inputs = prepared.plan.inputs
        inputs.sourceModel = InputDigest.hashes(migration.sourceModel)
        inputs.destinationModel = InputDigest.hashes(migration.destinationModel)
        inputs.mappingModels = migration.mappingModels.map(InputDigest.digests)
        // A store that is appended to is copied again, whatever its -wal came to be.
        inputs.destination = nil
        // What a run may be gone on with although it was begun with another.
        inputs.options["--memory-limit"] = nil
        inputs.options["--batch-size"] = nil
        var lines: [String: String] = [:]
        if options.keys != .auto { lines["--keys"] = options.keys.rawValue }
        if options.newUUID { lines["--new-uuid"] = "given" }
        if options.isDryRun { lines["--dry-run"] = "given" }
        if options.history != .auto { lines["--history"] = options.history.rawValue }
        if options.cloudKit != .refuse { lines["--cloudkit"] = options.cloudKit.rawValue }
        if options.externalThreshold != ExternalFiles.defaultThreshold {
            lines["--external-threshold"] = String(options.externalThreshold)
        }
        if options.writer != .pages { lines["--writer"] = options.writer.rawValue }
        self.options = lines
        var policies: [String: String] = [:]
        for (number, model) in migration.mappingModels.enumerated() {
            for mapping in model.entityMappings ?? [] {
                guard let name = mapping.entityMigrationPolicyClassName else { continue }
                policies["\(number + 1):\(mapping.name ?? "")"] = name
            }
        }
        self.policies = policies
        if !policies.isEmpty, !options.policyCode.isEmpty { policyCode = options.policyCode }
        (sourceRows, strays) = (prepared.census.rows, prepared.census.strays)
        destinationBytes = prepared.plan.disk.destination
        models = [migration.sourceModel, migration.destinationModel].map { $0.definitionDigest.hexadecimal }
        var steps = StateWriter()
        for turn in prepared.turns {
            for pass in turn.work.passes {
                steps.write(pass.steps.count)
                for step in pass.steps {
                    steps.write(step.table)
                    steps.write(words: step.mappings.map { UInt64($0) })
                    steps.write(step.after)
                    steps.write(step.through)
                    steps.write(step.isLast)
                }
                steps.write(words: pass.joinTables.map { UInt64($0) })
            }
        }
        work = SHA256.hash(steps.bytes).prefix(8).hexadecimal
        self.started = started
        self.uuid = uuid
    }
}

extension RunCheckpoints {
    /// Notes which files are about to get their names, and what the run will say.
    ///
    /// - Parameters:
    ///   - store: the destination.
    ///   - built: the private store.
    ///   - results: result files, with where each is until it is placed.
    func publish(
        _ report: MigrationReport, store: String, built: String, results: [(path: String, part: String)?]
    ) throws {
        try publish(
            RunRecord.Publication(
                store: RunRecord.Publication.File(store, part: built),
                results: results.compactMap { $0 }.map { try .init($0.path, part: $0.part) }, report: report))
    }
}
