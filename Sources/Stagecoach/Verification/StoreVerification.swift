import Diagnostics
import Foundation
import Mapping
import SpillStorage

/// Checks independently that a migration's destination is what the mapping model makes of its source.
///
/// It uses neither the records of a run nor the programs that compute rows: filters and value expressions are evaluated
/// object by object; keys, links and ordering keys are worked out again from the documented rules. Both stores are read in
/// the order of their keys and merged. Objects made by a policy cannot be worked out. They are checked against the
/// model's rules or, with ``runsPolicies``, compared with a second run of the policies. ``VerificationReport/compared``
/// tells which objects were compared in which way, ``VerificationReport/notRecomputed`` lists everything else that was
/// not worked out.
///
///     open both → the file's pages, schema and metadata
///       → expected objects and their keys                       (``ExpectedObjects``)
///         with the groups of objects that share one             (``ExpectedGroups``)
///       → rows, table by table: objects, attributes, rules      (``RowVerification``)
///       → links, with the rows or by sums; only where these     (``LinkScreen``)
///         do not tell, link by link                             (``ExpectedLinks``, ``LinkVerification``)
///       → the links of the source: there, or why not            (``SourceLinkCount``)
///       → objects of policies, if the policies run again       (``RerunVerification``)
///       → references, uniqueness, keys, external files          (``StructureVerification``)
///
/// Memory: page caches, rows, keys and links, within the limit. What outgrows it is in the work directory or the folder for
/// temporary files, and is removed afterwards.
///
/// ```swift
/// let migration = Migration(from: "Library.sqlite", model: old, mapping: mappingModel, to: "New.sqlite", model: new)
/// _ = try migration.run()
/// let report = try StoreVerification(migration).run()
/// for difference in report.differences { print(difference.kind.label, difference.objectID ?? "") }
/// ```
public final class StoreVerification {
    private let migration: ChainedMigration
    /// The reject file of the run. The source objects that it lists are left out.
    public var rejectFile: String?
    /// True to run the policies again, into a private store, and to compare the objects that they make row by row. This
    /// trusts the policies. If the store was appended to, they do not run, because nothing tells what they found there
    /// at the time.
    public var runsPolicies = false
    /// The number of differences kept for each kind, entity and property; all are counted.
    public var limit = 10

    /// Creates the verification of a chain.
    ///
    /// - Parameter migration: the chain as it was run; keys, appending and rejects depend on its options.
    public init(_ migration: ChainedMigration) {
        self.migration = migration
        rejectFile = migration.options.rejectFile
    }

    /// Creates the verification of a migration.
    ///
    /// - Parameter migration: the migration between two versions, as it was run.
    public convenience init(_ migration: Migration) {
        let step = MigrationStep(
            from: ModelVersion(name: nil, model: migration.sourceModel),
            to: ModelVersion(name: nil, model: migration.destinationModel), mappingModels: migration.mappingModels)
        let chain = ChainedMigration(
            from: migration.sourcePath, steps: [step], to: migration.destinationPath, options: migration.options,
            progress: migration.progress, cancellation: migration.cancellation)
        chain.manager = migration.manager
        self.init(chain)
    }

    /// Verifies the destination. Neither store is changed.
    ///
    /// - Throws: ``MigrationError`` if a store or the reject file cannot be read; differences are no errors.
    /// - Complexity: O(rows + links), with sorts of links on disk.
    public func run() throws -> VerificationReport {
        ProcessMemory.returnFreedBlocks()
        let folder = try CheckFolder(in: migration.options.workDirectory)
        defer { folder.remove() }
        let runs = migration.runs
        let hasPolicies = runs.dropLast().contains { run in
            run.mappingModels.contains { ($0.entityMappings ?? []).contains(where: \.hasPolicy) }
        }
        guard runs.count > 1, !hasPolicies else {
            let rejects = try rejectFile.map { path throws(MigrationError) in try VerificationRejects(path: path) }
            return try verify(migration, rejects: rejects, folder: folder.path)
        }
        return try verifySteps(runs, folder: folder.path)
    }

    /// Verifies a chain whose steps do not compose: the stores between them are made again, and each is verified.
    ///
    /// - Complexity: that of the chain's runs, and a verification of each.
    private func verifySteps(_ runs: [ChainRun], folder: String) throws -> VerificationReport {
        let options = try migration.optionsByRun(runs)
        var whole = VerificationReport(source: migration.sourcePath, destination: migration.destinationPath)
        var place = migration.sourcePath
        var rejected = 0
        for (index, run) in runs.enumerated() {
            let isLast = index == runs.count - 1
            let next = isLast ? migration.destinationPath : "\(folder)/step-\(index + 1).sqlite"
            var own = options[index]
            var rejects: VerificationRejects?
            if isLast {
                rejects = try rejectFile.map { path throws(MigrationError) in
                    try VerificationRejects(path: path, skipping: rejected)
                }
            } else {
                own.rejectFile = own.onInvalid == .reject ? next + ".rejects" : nil
                own.idMap = nil
                own.workDirectory = folder
                own.isDryRun = false
                try migration.migration(run, from: place, to: next, options: own).run()
                rejects = try own.rejectFile.map { path throws(MigrationError) in try VerificationRejects(path: path) }
                rejected += rejects?.count ?? 0
            }
            let step = ChainedMigration(
                from: place,
                steps: [MigrationStep(from: run.source, to: run.destination, mappingModels: run.mappingModels)],
                to: next, options: own, cancellation: migration.cancellation)
            step.policies = migration.policies
            let part = "\(folder)/verify-\(index + 1)"
            guard mkdir(part, 0o700) == 0 else {
                throw MigrationError(
                    "work.create", .cannotCreate, "A folder cannot be made", context: .init(path: part))
            }
            migration.progress.enter(step: index + 1, of: runs.count)
            let report = try verify(step, rejects: rejects, folder: part)
            whole.add(report, label: "\(run.source.label) → \(run.destination.label)", isLast: isLast)
            if index > 0 { try? FileManager.default.removeItem(atPath: place) }
            place = next
        }
        return whole
    }

    private func verify(
        _ migration: ChainedMigration, rejects: VerificationRejects?, folder: String
    ) throws -> VerificationReport {
        let findings = VerificationFindings(
            VerificationReport(source: migration.sourcePath, destination: migration.destinationPath),
            limit: max(1, limit))
        let again = try runsPolicies ? rerun(migration, findings, in: folder) : nil
        let cancellation = migration.cancellation
        let context = try VerificationContext(
            migration, folder: folder, findings: findings, rejects: rejects, again: again
        ) {
            if let error = cancellation.error { throw error }
        }
        defer { context.close() }
        try context.verify()
        return findings.report
    }

    /// Runs the migration once more, policies included, into a private store.
    ///
    /// - Returns: its path; nil if everything can be worked out from the source, or if the store was appended to.
    /// - Throws: the errors of the migration.
    private func rerun(
        _ migration: ChainedMigration, _ findings: VerificationFindings, in folder: String
    ) throws -> String? {
        let mappings = migration.runs.flatMap(\.mappingModels).flatMap { $0.entityMappings ?? [] }
        let needsRun = mappings.contains { mapping in
            if case .other = mapping.sourceFetch { return true }
            return mapping.hasPolicy
        }
        guard needsRun else { return nil }
        guard !migration.options.appendsToExisting else {
            findings.note(
                "The policies did not run again: what they found in the destination before the append is not known")
            return nil
        }
        var options = migration.options
        options.rejectFile = options.onInvalid == .reject ? folder + "/again.rejects" : nil
        options.idMap = nil
        options.workDirectory = folder
        options.isDryRun = false
        options.fullCheck = false
        let path = folder + "/again.sqlite"
        do {
            let chain = ChainedMigration(
                from: migration.sourcePath, steps: migration.steps, to: path, options: options,
                progress: migration.progress, cancellation: migration.cancellation)
            chain.manager = migration.manager
            chain.policies = migration.policies
            chain.fusesSteps = migration.fusesSteps
            chain.savedPlan = migration.savedPlan
            try chain.run()
        } catch var error as MigrationError {
            error.message = "The migration cannot be run again to see what its policies make: " + error.message
            throw error
        }
        ProcessMemory.returnFreedBlocks()
        return path
    }
}

extension VerificationReport {
    /// Adds the report of a step. The counts of the destination are those of the last step.
    fileprivate mutating func add(_ step: VerificationReport, label: String, isLast: Bool) {
        differences += step.differences
        differenceCount += step.differenceCount
        countByKind.merge(step.countByKind) { $0 + $1 }
        notRecomputed += step.notRecomputed
        notes += step.notes.map { "\(label): \($0)" }
        sourceLinks += step.sourceLinks
        if !isLast {
            notes.append(
                "\(label): made again and verified, \(step.differenceCount == 0 ? "equal" : step.differenceCount.counted("difference"))"
            )
        }
        guard isLast else { return }
        compared = step.compared
        ranPolicies = step.ranPolicies
        mappings = step.mappings
        relationships = step.relationships
    }
}
