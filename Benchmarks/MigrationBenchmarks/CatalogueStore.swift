import CoreDataStore
import Diagnostics
import ManagedModel

/// Makes a version 1 store of any size, the same for the same seed: about 1.1 KB a book.
///
/// One author for four books, five chapters and up to three tags a book, a publisher and a tag for a hundred. Every
/// fiftieth key is left out. Four chapters in five belong to the book at their own position, the fifth to any; authors
/// and publishers are random; the first tags are used more than the last.
/// Memory: 4 bytes an author, book, publisher and tag.
struct CatalogueStore {
    let books: Int
    let seed: UInt64

    private static let chaptersPerBook = 5
    private static let tagsPerBook = 3
    private static let countries = ["AT", "BE", "CA", "CH", "DK", "FI", "IE", "KR", "MX", "NO", "PT", "ZA"]

    /// Writes the store.
    ///
    /// - Parameters:
    ///   - path: a file that does not exist.
    ///   - model: version 1.
    /// - Throws: `destination.…`, `store.…`.
    /// - Complexity: O(books).
    func write(to path: String, model: ManagedObjectModel) throws(MigrationError) {
        var generator = BenchmarkGenerator(seed: seed)
        var text = RandomText(&generator)
        let authors = keys(books / 4 + 1, &generator)
        let books = keys(books, &generator)
        let publishers = keys(books.count / 100 + 10, &generator)
        let tags = keys(books.count / 100 + 50, &generator)
        let store = try DestinationStore(
            creating: path, schema: StoreSchema(model: model), cacheBytes: 64 << 20, vfs: nil)
        var highest = [Int64](repeating: 0, count: store.schema.tables.count)
        func note(_ name: String, _ key: UInt32) {
            guard let entity = model.entity(named: name) else { return }
            highest[store.schema.tableIndex(of: entity)] = Int64(key)
        }
        try fillAuthors(store, authors, &generator, &text)
        note("Author", authors.last ?? 0)
        try fillBooks(store, books, authors: authors, publishers: publishers, &generator, &text)
        note("Book", books.last ?? 0)
        note("Chapter", try fillChapters(store, books, &generator, &text))
        try fillNames(store, "Publisher", publishers, number: "ZFOUNDED", 1800..<2020, 10...40, &generator, &text)
        note("Publisher", publishers.last ?? 0)
        try fillNames(store, "Tag", tags, number: "ZCOLOR", 0..<(1 << 24), 4...16, &generator, &text)
        note("Tag", tags.last ?? 0)
        try fillLinks(store, books, tags, &generator)
        for table in store.schema.tables.indices { try store.createIndexes(table: table) }
        for table in store.schema.joinTables.indices { try store.createIndexes(joinTable: table) }
        try store.finish(
            metadata: DestinationMetadata(
                uuid: "51A6EC0A-0000-4000-8000-000000000001", sourceProperties: [:],
                versionHashes: model.entityVersionHashesByName.mapValues { Array($0) },
                versionIdentifiers: model.definition.versionIdentifiers),
            maximumKeys: highest, modelCache: try ModelCache.encode(model))
    }

    /// Ascending keys with gaps.
    private func keys(_ count: Int, _ generator: inout BenchmarkGenerator) -> [UInt32] {
        var key: UInt32 = 0
        return (0..<count).map { _ in
            repeat { key += 1 } while generator.below(50) == 0
            return key
        }
    }

    private func fillAuthors(
        _ store: DestinationStore, _ keys: [UInt32], _ generator: inout BenchmarkGenerator, _ text: inout RandomText
    ) throws(MigrationError) {
        var rows = try TableFill(store, entity: "Author")
        let born = rows.slot("ZBORN")
        let country = rows.slot("ZCOUNTRY")
        let email = rows.slot("ZEMAIL")
        let (first, last) = (rows.slot("ZFIRSTNAME"), rows.slot("ZLASTNAME"))
        for (position, key) in keys.enumerated() {
            try rows.begin(key: Int64(key), lock: 1 + generator.below(5))
            rows.set(born, -generator.date())
            text.set(Self.countries[generator.below(12)])
            rows.set(country, text)
            text.make(4...12, &generator)
            rows.set(first, text)
            text.make(5...18, &generator)
            rows.set(last, text)
            guard generator.below(4) > 0 else { continue }
            text.cut(to: 5)
            text.append(".")
            text.append(position)
            text.append("@example.org")
            rows.set(email, text)
        }
        try rows.finish()
    }

    private func fillBooks(
        _ store: DestinationStore, _ keys: [UInt32], authors: [UInt32], publishers: [UInt32],
        _ generator: inout BenchmarkGenerator, _ text: inout RandomText
    ) throws(MigrationError) {
        var rows = try TableFill(store, entity: "Book")
        let (flags, pages, stock) = (rows.slot("ZFLAGS"), rows.slot("ZPAGES"), rows.slot("ZSTOCK"))
        let (author, publisher) = (rows.slot("ZAUTHOR"), rows.slot("ZPUBLISHER"))
        let (added, published) = (rows.slot("ZADDEDAT"), rows.slot("ZPUBLISHEDAT"))
        let (price, rating, warmth) = (rows.slot("ZPRICE"), rows.slot("ZRATING"), rows.slot("ZTEMPF"))
        let (isbn, code) = (rows.slot("ZISBN"), rows.slot("ZLEGACYCODE"))
        let (subtitle, summary, title) = (rows.slot("ZSUBTITLE"), rows.slot("ZSUMMARY"), rows.slot("ZTITLE"))
        for key in keys {
            try rows.begin(key: Int64(key), lock: 1 + generator.below(9))
            rows.set(flags, generator.below(256))
            rows.set(pages, 40 + generator.below(900))
            rows.set(stock, generator.below(50000))
            rows.set(author, Int(authors[generator.below(authors.count)]))
            if generator.below(20) > 0 { rows.set(publisher, Int(publishers[generator.below(publishers.count)])) }
            rows.set(added, generator.date())
            if generator.below(10) > 0 { rows.set(published, generator.date()) }
            rows.set(price, Double(100 + generator.below(9900)) / 100)
            if generator.below(5) > 0 { rows.set(rating, generator.unit() * 5) }
            rows.set(warmth, 20 + generator.unit() * 90)
            text.set("978")
            text.append(generator.below(4_000_000_000), width: 10)
            rows.set(isbn, text)
            text.set("LC-")
            text.append(generator.below(1 << 24), radix: 16, width: 6)
            text.append("-")
            text.append(generator.below(1000), width: 3)
            rows.set(code, text)
            if generator.below(10) >= 3 {
                text.make(10...60, &generator)
                rows.set(subtitle, text)
            }
            text.make(200...200, &generator)
            rows.set(summary, text)
            text.make(10...60, &generator)
            rows.set(title, text)
        }
        try rows.finish()
    }

    /// - Returns: the highest key.
    private func fillChapters(
        _ store: DestinationStore, _ books: [UInt32], _ generator: inout BenchmarkGenerator, _ text: inout RandomText
    ) throws(MigrationError) -> UInt32 {
        var rows = try TableFill(store, entity: "Chapter")
        let (number, pages, words) = (rows.slot("ZNUMBER"), rows.slot("ZPAGECOUNT"), rows.slot("ZWORDCOUNT"))
        let (book, updated) = (rows.slot("ZBOOK"), rows.slot("ZUPDATEDAT"))
        let (note, title) = (rows.slot("ZNOTE"), rows.slot("ZTITLE"))
        var key: UInt32 = 0
        for position in 0..<books.count * Self.chaptersPerBook {
            repeat { key += 1 } while generator.below(50) == 0
            try rows.begin(key: Int64(key), lock: 1 + generator.below(4))
            rows.set(number, position % Self.chaptersPerBook + 1)
            rows.set(pages, 3 + generator.below(60))
            rows.set(words, generator.below(20000))
            let isAtHome = generator.below(5) > 0
            rows.set(book, Int(books[isAtHome ? position / Self.chaptersPerBook : generator.below(books.count)]))
            rows.set(updated, generator.date())
            if generator.below(10) >= 7 {
                text.make(10...60, &generator)
                rows.set(note, text)
            }
            text.make(10...60, &generator)
            rows.set(title, text)
        }
        try rows.finish()
        return key
    }

    /// Publishers and tags: a number and a name.
    private func fillNames(
        _ store: DestinationStore, _ name: String, _ keys: [UInt32], number column: String, _ numbers: Range<Int>,
        _ lengths: ClosedRange<Int>, _ generator: inout BenchmarkGenerator, _ text: inout RandomText
    ) throws(MigrationError) {
        var rows = try TableFill(store, entity: name)
        let (number, label) = (rows.slot(column), rows.slot("ZNAME"))
        for key in keys {
            try rows.begin(key: Int64(key), lock: 1)
            rows.set(number, numbers.lowerBound + generator.below(numbers.count))
            text.make(lengths, &generator)
            rows.set(label, text)
        }
        try rows.finish()
    }

    /// Links of books and tags in the order of the join table's key: book, then tag.
    private func fillLinks(
        _ store: DestinationStore, _ books: [UInt32], _ tags: [UInt32], _ generator: inout BenchmarkGenerator
    ) throws(MigrationError) {
        var rows = try TableFill(store, joinTable: 0)
        let (book, tag) = (rows.slot("Z_2BOOKS"), rows.slot("Z_5TAGS"))
        var chosen: [UInt32] = []
        for key in books {
            chosen.removeAll(keepingCapacity: true)
            for _ in 0..<Self.tagsPerBook {
                let skew = generator.unit()
                chosen.append(tags[Int(skew * skew * Double(tags.count))])
            }
            chosen.sort()
            for (position, other) in chosen.enumerated() where position == 0 || other != chosen[position - 1] {
                try rows.begin()
                rows.set(book, Int(key))
                rows.set(tag, Int(other))
            }
        }
        try rows.finish()
    }
}
