import Diagnostics
import Foundation
import ManagedModel
import Mapping
import PersistentStore
import SpillStorage

/// An independent reading of a migration's source and destination: whether the one is what the mapping model makes of the
/// other.
///
/// Nothing that a run wrote down is used, nor the programs by which it computes rows: filters and value expressions are
/// evaluated object by object, keys, links and ordering keys are worked out again from the documented rules, and both
/// stores are read through SQLite. What a policy makes cannot be worked out: it is checked against the model's rules, and
/// ``VerificationReport/notRecomputed`` says so.
///
///     open both → the file's pages, schema and metadata
///       → expected objects and keys, into a private ledger      (``ExpectedObjects``)
///       → rows, table by table: objects, attributes, rules      (``RowVerification``)
///       → links, pair by pair, both sides                       (``ExpectedLinks``, ``LinkVerification``)
///       → references, uniqueness, keys, external files          (``StructureVerification``)
///
/// Memory: page caches and rows, within the limit; the ledger, about 40 bytes an object and a link, lies in the work
/// directory or the folder for temporary files, and goes with the verification.
public final class StoreVerification {
    private let migration: ChainedMigration
    /// Source objects that the run rejected are left out, as this file of the run lists them.
    public var rejectFile: String?
    /// Differences that are kept of each kind, entity and property; all are counted.
    public var limit = 10

    /// - Parameter migration: as it was run; its options say where keys, appending and rejects depend on them.
    public init(_ migration: ChainedMigration) {
        self.migration = migration
        rejectFile = migration.options.rejectFile
    }

    /// - Parameter migration: one between two versions, as it was run.
    public convenience init(_ migration: Migration) {
        let step = MigrationStep(
            from: ModelVersion(name: nil, model: migration.sourceModel),
            to: ModelVersion(name: nil, model: migration.destinationModel), mappingModels: migration.mappingModels)
        self.init(
            ChainedMigration(
                from: migration.sourcePath, steps: [step], to: migration.destinationPath, options: migration.options,
                cancellation: migration.cancellation))
    }

    /// Verifies. Neither store is changed.
    ///
    /// - Throws: ``MigrationError`` where a store or the reject file cannot be read; differences are no errors.
    /// - Complexity: O(rows + links), with sorts of links on disk.
    public func run() throws -> VerificationReport {
        ProcessMemory.returnFreedBlocks()
        let folder = try CheckFolder(in: migration.options.workDirectory)
        defer { folder.remove() }
        let findings = VerificationFindings(
            VerificationReport(source: migration.sourcePath, destination: migration.destinationPath),
            limit: max(1, limit))
        let cancellation = migration.cancellation
        let scene = try VerificationScene(
            migration, folder: folder.path, findings: findings,
            rejects: try rejectFile.map { path throws(MigrationError) in try VerificationRejects(path: path) }
        ) { if let error = cancellation.error { throw error } }
        defer { scene.close() }
        try scene.verify()
        return findings.report
    }
}
