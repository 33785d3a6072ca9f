import Diagnostics
import Foundation
import Glibc
import SpillStorage
import Stagecoach

/// `small [--stores 1000] [--books 20] [--folder FOLDER]`: migrates many small stores one after the other in this process,
/// with the models and the mapping model read once, and prints processor and wall milliseconds a store.
enum SmallCommand {
    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["stores", "books", "folder"])
        let count = try arguments.number("stores") ?? 1000
        let books = try arguments.number("books") ?? 20
        let folder = arguments.text("folder") ?? "small-\(getpid()).bench"
        try BenchmarkFolder.make(folder)
        defer { rmdir(folder) }
        let catalogue = try Catalogue()
        let source = "\(folder)/source.sqlite"
        defer { unlink(source) }
        try CatalogueStore(books: books, seed: 1).write(to: source, model: catalogue.source)
        var (processor, wall) = (0.0, 0.0)
        for _ in 0..<count {
            let output = "\(folder)/output.sqlite"
            let report = try Migration(
                from: source, model: catalogue.source, mapping: catalogue.mapping, to: output,
                model: catalogue.destination, options: MigrationOptions()
            ).run()
            processor += report.processorSeconds
            wall += report.seconds
            guard unlink(output) == 0 else { throw Arguments.usage("The store that was made cannot be removed") }
        }
        func milliseconds(_ seconds: Double) -> String { String(format: "%.2f", seconds * 1000 / Double(count)) }
        print(
            "\(count) stores of \(books) books: \(milliseconds(processor)) ms of processor time a store, "
                + "\(milliseconds(wall)) ms of wall time; VmHWM \((ProcessMemory.peakResident() ?? 0) >> 20) MiB")
    }
}
