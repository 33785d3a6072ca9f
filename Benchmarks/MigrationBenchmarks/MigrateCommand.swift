import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage
import Stagecoach

/// `migrate --store FILE --output FILE …`: one migration in this process, which tells its own peak memory at exit.
///
/// Without models the benchmark's own are taken; with models and no mapping model one is inferred. A failure ends with
/// the exit code of its category.
enum MigrateCommand {
    /// The line of JSON that the child prints on standard output.
    struct Outcome: Codable {
        /// VmHWM in bytes, read as the last thing.
        var peakMemory: Int
        /// VmRSS in bytes before the migration began: runtime, libraries, models.
        var baseMemory: Int
        var spilledBytes: Int
        /// Objects and links written.
        var rows: Int
    }

    static func run(_ list: [String]) throws {
        let arguments = try Arguments(
            list,
            options: [
                "store", "output", "from", "to", "mapping", "memory-limit", "keys", "batch-size", "passes", "work-dir",
                "policy", "writer", "reader", "on-invalid",
            ], flags: ["staged", "append"])
        var options = MigrationOptions()
        options.memoryLimit = try arguments.bytes("memory-limit")
        options.batchSize = try arguments.number("batch-size")
        options.passes = try arguments.number("passes")
        options.workDirectory = arguments.text("work-dir")
        options.appendsToExisting = arguments.has("append")
        options.usesStoreSpecificMigrationManager = !arguments.has("staged")
        if let text = arguments.text("keys") {
            guard let keys = KeyChoice(rawValue: text) else { throw Arguments.usage("--keys auto, kept or sequential") }
            options.keys = keys
        }
        if let text = arguments.text("on-invalid") {
            guard let choice = InvalidObjects(rawValue: text) else {
                throw Arguments.usage("--on-invalid fail or reject")
            }
            options.onInvalid = choice
        }
        if let text = arguments.text("writer") {
            guard let writer = StoreWriter(rawValue: text) else { throw Arguments.usage("--writer pages or sqlite") }
            options.writer = writer
        }
        if let text = arguments.text("reader") {
            guard let reader = StoreReader(rawValue: text) else { throw Arguments.usage("--reader pages or sqlite") }
            options.reader = reader
        }
        let (source, destination, mapping) = try work(arguments)
        if let policy = arguments.text("policy") { try BenchmarkPolicies.use(policy, in: mapping) }
        let store = try arguments.required("store")
        let output = try arguments.required("output")
        let base = ProcessMemory.currentResident() ?? 0
        let report = try Migration(
            from: store, model: source, mapping: mapping, to: output, model: destination, options: options
        ).run()
        let rows = report.counts.mappings.reduce(report.counts.links) { $0 + $1.created }
        var outcome = Outcome(peakMemory: 0, baseMemory: base, spilledBytes: report.spilledBytes, rows: rows)
        outcome.peakMemory = ProcessMemory.peakResident() ?? 0
        print(String(decoding: try JSONEncoder().encode(outcome), as: UTF8.self))
    }

    private static func work(
        _ arguments: Arguments
    ) throws -> (ManagedObjectModel, ManagedObjectModel, MappingModel) {
        guard arguments.text("from") != nil || arguments.text("to") != nil else {
            let catalogue = try Catalogue()
            return (catalogue.source, catalogue.destination, catalogue.mapping)
        }
        let source = try ModelLocator.load(try arguments.required("from")).model
        let destination = try ModelLocator.load(try arguments.required("to")).model
        let mapping =
            if let path = arguments.text("mapping") {
                try Catalogue.readMapping(path, from: source, to: destination)
            } else {
                try MappingModel.inferred(from: source, to: destination)
            }
        return (source, destination, mapping)
    }
}
