import CSQLite
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import PersistentStore
import SpillStorage
import Stagecoach
import TestSupport

/// Runs a migration by the engine in one way of cutting and compares the destination with the reference's, row by row
/// and key by key.
struct MigrationComparison {
    /// One way of running the engine.
    struct Variant: CustomStringConvertible {
        var batchSize: Int?
        var passes: Int?
        /// Room above what the test process holds, in MiB.
        var room = 48
        var keys: KeyChoice = .auto
        /// Whether everything goes through the stages with barriers.
        var isStaged = false
        var writer = MigrationComparison.writer

        var description: String {
            "batch \(batchSize.map(String.init) ?? "auto"), passes \(passes.map(String.init) ?? "auto"), room \(room) MiB, "
                + "keys \(keys.rawValue), \(isStaged ? "staged" : "fused"), "
                + "writer \(writer.rawValue)"
        }

        var options: MigrationOptions {
            var options = MigrationOptions()
            options.memoryLimit = (ProcessMemory.currentResident() ?? 0) + room << 20
            options.batchSize = batchSize
            options.passes = passes
            options.keys = keys
            options.fullCheck = true
            options.usesStoreSpecificMigrationManager = !isStaged
            options.writer = writer
            return options
        }
    }

    /// What `STAGECOACH_WRITER` names, `pages` or `sqlite`.
    static let writer: StoreWriter =
        ProcessInfo.processInfo.environment["STAGECOACH_WRITER"].flatMap(StoreWriter.init(rawValue:)) ?? .pages

    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    let mapping: MappingModel
    let sourcePath: String
    let folder: TemporaryFolder

    /// What the engine gave: a store, or the error.
    func run(_ variant: Variant) throws -> Result<(store: ReferenceStore, report: MigrationReport), any Error> {
        let path = folder.file("out-\(UUID().uuidString).sqlite")
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let report = try Migration(
                from: sourcePath, model: source, mapping: mapping, to: path, model: destination,
                options: variant.options
            ).run()
            return .success((try ReferenceStore.read(path: path, model: destination), report))
        } catch {
            return .failure(error)
        }
    }

    /// Differences between the engine's result and the reference's; empty where both agree.
    func differences(_ variant: Variant, keys: ReferenceKeys = .auto) throws -> [String] {
        let before = try ReferenceStore.read(path: sourcePath, model: source)
        let reference = ReferenceMigrator(
            source: before, destinationModel: destination, mappingModel: mapping, keys: keys
        ).migrate()
        switch (reference, try run(variant)) {
        case (.success(let expected), .success(let actual)):
            var lines = actual.store.differences(from: expected.store)
            if actual.report.counts.danglingReferences != expected.report.danglingReferences {
                lines.append(
                    "dangling references: \(actual.report.counts.danglingReferences), expected \(expected.report.danglingReferences)"
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
