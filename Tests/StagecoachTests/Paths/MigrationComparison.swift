import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// Runs a migration by the engine in one way of cutting and compares the destination with the reference's, row by row
/// and key by key.
struct MigrationComparison {
    /// One way of running the engine.
    struct Variant: CustomStringConvertible {
        var batchSize: Int?
        var passes: Int?
        /// Entity mappings, pass by pass.
        var passNames: [[String]] = []
        /// True to make a plan first, write it, read it, and run it.
        var isPlanned = false
        /// Room above what the test process holds when the run begins, in MiB.
        var room = 48
        var keys: KeyChoice = .auto
        /// True to run everything on the policy path.
        var isStaged = false
        var writer = MigrationComparison.writer

        var description: String {
            "batch \(batchSize.map(String.init) ?? "auto"), passes \(passes.map(String.init) ?? "\(passNames)"), "
                + "room \(room) MiB, keys \(keys.rawValue), \(isStaged ? "staged" : "fused")"
                + "\(isPlanned ? ", planned" : ""), writer \(writer.rawValue)"
        }

        var options: MigrationOptions {
            var options = MigrationOptions()
            options.memoryRoom = room << 20
            options.batchSize = batchSize
            options.passes = passes
            options.passNames = passNames
            options.keys = keys
            options.fullCheck = true
            options.usesStoreSpecificMigrationManager = !isStaged
            options.writer = writer
            options.reader = reader
            // Random filters may let nothing pass, which the reference does not mind.
            options.onLoss = .allow
            return options
        }
    }

    /// The writer that `STAGECOACH_WRITER` names, `pages` or `sqlite`.
    static let writer: StoreWriter =
        ProcessInfo.processInfo.environment["STAGECOACH_WRITER"].flatMap(StoreWriter.init(rawValue:)) ?? .pages

    /// The reader that `STAGECOACH_READER` names, `pages` or `sqlite`.
    static let reader: StoreReader =
        ProcessInfo.processInfo.environment["STAGECOACH_READER"].flatMap(StoreReader.init(rawValue:)) ?? .pages

    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    let mapping: MappingModel
    let sourcePath: String
    let folder: TemporaryFolder

    /// Returns the engine's result: a store and report, or the error.
    func run(_ variant: Variant) throws -> Result<(store: ReferenceStore, report: MigrationReport), any Error> {
        let path = folder.file("out-\(UUID().uuidString).sqlite")
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            var options = variant.options
            if variant.isPlanned { options = try planned(options, path) }
            let report = try Migration(
                from: sourcePath, model: source, mapping: mapping, to: path, model: destination, options: options
            ).run()
            return .success((try ReferenceStore.read(path: path, model: destination), report))
        } catch {
            return .failure(error)
        }
    }

    /// The options with a plan that was made by them, written and read.
    private func planned(_ options: MigrationOptions, _ path: String) throws -> MigrationOptions {
        let text = try Migration(
            from: sourcePath, model: source, mapping: mapping, to: path, model: destination, options: options
        ).plan().json()
        var running = options
        running.plan = try MigrationPlan.read(json: Data(text.utf8))
        running.passes = nil
        running.passNames = []
        running.keys = .auto
        return running
    }

    /// Returns the reference migrator's result.
    func reference(_ keys: ReferenceKeys = .auto) throws -> Result<ReferenceOutcome, ReferenceFailure> {
        let before = try ReferenceStore.read(path: sourcePath, model: source)
        return ReferenceMigrator(source: before, destinationModel: destination, mappingModel: mapping, keys: keys)
            .migrate()
    }

    /// Differences between the engine's result and the reference's; empty if both agree.
    func differences(_ variant: Variant, keys: ReferenceKeys = .auto) throws -> [String] {
        try differences(variant, from: try reference(keys))
    }

    /// The same, where the reference's result is known.
    func differences(_ variant: Variant, from reference: Result<ReferenceOutcome, ReferenceFailure>) throws -> [String]
    {
        switch (reference, try run(variant)) {
        case (.success(let expected), .success(let actual)):
            var lines = actual.store.differences(from: expected.store)
            if actual.report.counts.danglingReferences != expected.report.danglingReferences {
                lines.append(
                    "dangling references: \(actual.report.counts.danglingReferences), expected \(expected.report.danglingReferences)"
                )
            }
            if actual.report.counts.surplusToOne != expected.report.furtherDestinations {
                lines.append(
                    "further objects: \(actual.report.counts.surplusToOne), expected \(expected.report.furtherDestinations)"
                )
            }
            return lines
        case (.failure, .failure(let error as MigrationError)):
            // Both refuse; what the engine says must be a clear error, not a defect.
            return error.category == .internal ? ["internal error: \(error)"] : []
        case (.failure(let failure), .success): return ["the reference refuses: \(failure); the engine does not"]
        case (.success, .failure(let error)): return ["the engine fails: \(error)"]
        case (.failure, .failure(let error)): return ["an error of another kind: \(error)"]
        }
    }
}
