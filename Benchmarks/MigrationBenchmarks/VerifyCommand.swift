import Diagnostics
import Foundation
import SpillStorage
import Stagecoach

/// `verify --store FILE --output FILE [--memory-limit 64M]`: one verification of the benchmark's work in this process, which
/// tells its own peak memory at exit.
enum VerifyCommand {
    /// - Throws: `benchmark.failed` (70) if the destination differs.
    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["store", "output", "memory-limit"], flags: [])
        var options = MigrationOptions()
        options.memoryLimit = try arguments.bytes("memory-limit")
        let catalogue = try Catalogue()
        let base = ProcessMemory.currentResident() ?? 0
        let migration = Migration(
            from: try arguments.required("store"), model: catalogue.source, mapping: catalogue.mapping,
            to: try arguments.required("output"), model: catalogue.destination, options: options)
        let report = try StoreVerification(migration).run()
        guard report.isEqual, report.isComplete else {
            throw MigrationError("benchmark.failed", .internal, "\(report.differenceCount) differences were found")
        }
        let rows = report.compared.objects + report.relationships.reduce(0) { $0 + $1.foundLinks }
        var outcome = MigrateCommand.Outcome(peakMemory: 0, baseMemory: base, spilledBytes: 0, rows: rows)
        outcome.peakMemory = ProcessMemory.peakResident() ?? 0
        print(String(decoding: try JSONEncoder().encode(outcome), as: UTF8.self))
    }
}
