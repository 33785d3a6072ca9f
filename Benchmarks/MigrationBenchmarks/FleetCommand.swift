import Diagnostics
import Foundation
import Glibc

/// `fleet [--stores 1000] [--most 1000] [--seed 1] FOLDER`: makes many small stores of version 1, `FOLDER/in/1.sqlite` and
/// so on, and `FOLDER/stores.jsonl`, a manifest for `stagecoach batch` that leads them to `FOLDER/out`.
///
/// Their sizes are spread evenly over some 60 objects to `--most`.
enum FleetCommand {
    /// Objects of the smallest store, which has one book.
    private static let least = 67
    /// Objects that another book brings: itself, its chapters, a quarter of an author; a hundred bring a publisher and a
    /// tag.
    private static let perBook = 6.27

    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["stores", "most", "seed"])
        guard arguments.plain.count == 1, let folder = arguments.plain.first else {
            throw Arguments.usage("Name one folder to make")
        }
        let count = try arguments.number("stores") ?? 1000
        let most = max(least, try arguments.number("most") ?? 1000)
        guard most <= 10_000_000, count <= 1_000_000 else { throw Arguments.usage("That is no fleet of small stores") }
        var generator = BenchmarkGenerator(seed: UInt64(try arguments.number("seed") ?? 1))
        try BenchmarkFolder.make(folder)
        for name in ["in", "out"] { try BenchmarkFolder.make("\(folder)/\(name)") }
        let catalogue = try Catalogue()
        let books = Int(Double(most - least) / perBook) + 1
        var lines = ""
        for number in 1...count {
            let store = CatalogueStore(books: 1 + generator.below(books), seed: UInt64(number))
            try store.write(to: "\(folder)/in/\(number).sqlite", model: catalogue.source)
            lines += "{\"source\": \"in/\(number).sqlite\", \"destination\": \"out/\(number).sqlite\"}\n"
        }
        try Data(lines.utf8).write(to: URL(fileURLWithPath: "\(folder)/stores.jsonl"))
        print("\(folder)/stores.jsonl: \(count) stores of \(least) to \(most) objects")
    }
}
