import Diagnostics
import Glibc

/// `store --books N [--seed N] OUT.sqlite`: makes a version 1 store; 98,000 books are 0.9 million rows and 100 MB.
enum StoreCommand {
    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["books", "seed"])
        guard arguments.plain.count == 1, let path = arguments.plain.first else {
            throw Arguments.usage("Name one file to make")
        }
        let books = try arguments.number("books") ?? 98000
        guard books <= 500_000_000 else { throw Arguments.usage("--books ends at 500000000") }
        let seed = try arguments.number("seed") ?? 1
        try CatalogueStore(books: books, seed: UInt64(seed)).write(to: path, model: try Catalogue().source)
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        print("\(path): \(books) books, \(Int(status.st_size) >> 20) MiB")
    }
}
