import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import Stagecoach

/// The store that `demo` migrates: 200,000 objects of a library, the same in every run.
struct DemoStore {
    /// The number of objects of each entity.
    static let authors = 5_000
    static let items = 45_000
    static let chapters = 149_800
    static let tags = 200
    /// Every ninth item is an article, the others are books.
    static let articles = items / 9
    static let books = items - articles
    static var objects: Int { authors + items + chapters + tags }

    private let schema: StoreSchema
    private let store: DestinationStore
    private let cancellation: CancellationFlag

    /// Makes a store of the older model version.
    ///
    /// - Complexity: O(objects) time; memory is a page cache of 1 MB and one batch.
    static func create(at path: String, model: ManagedObjectModel, cancellation: CancellationFlag) throws {
        let demo = try DemoStore(path: path, model: model, cancellation: cancellation)
        do {
            try demo.fill()
        } catch {
            demo.store.abandon()
            throw error
        }
    }

    private init(path: String, model: ManagedObjectModel, cancellation: CancellationFlag) throws(MigrationError) {
        schema = StoreSchema(model: model)
        store = try DestinationStore(creating: path, schema: schema, cacheBytes: 1 << 20, vfs: nil)
        self.cancellation = cancellation
    }

    private func fill() throws {
        try table("Author", count: Self.authors) { key, rows in
            let born = key % 10 == 0 ? nil : DemoValue.real(-1_000_000_000 + Double(key) * 86_400)
            rows.add("Author", key: key, ["name": .text(DemoWords.name(key)), "bornOn": born])
        }
        try table("Item", count: Self.items) { key, rows in
            let isArticle = key % 9 == 0
            rows.add(
                isArticle ? "Article" : "Book", key: key,
                [
                    "title": .text(DemoWords.title(key)), "acquiredAt": .real(600_000_000 + Double(key) * 3_600),
                    "identifier": .blob(DemoWords.identifier(key)),
                    "journal": isArticle ? .text("Journal of \(DemoWords.subject(key))") : nil,
                    "wordCount": isArticle ? .integer(1_000 + key % 9_000) : nil,
                    "isbn": isArticle ? nil : .text("978-\(1_000_000_000 + key)"),
                    "pageCount": isArticle ? nil : .integer(80 + key * 37 % 720),
                    "price": isArticle ? nil : .integer(5 + key % 60),
                    "author": isArticle ? nil : .key(1 + key * 31 % Self.authors),
                ])
        }
        try fillChapters()
        try table("Tag", count: Self.tags) { key, rows in
            rows.add("Tag", key: key, ["name": .text("\(DemoWords.subject(key)) \(key)")])
        }
        try fillLinks()
        for join in schema.joinTables.indices { try store.createIndexes(joinTable: join) }
        try finish()
    }

    /// Writes three or four chapters a book, in order, distributed so that they add up to the total.
    private func fillChapters() throws {
        var book = 1
        var place = 0
        var ordinal = 0
        let more = Self.chapters - 3 * Self.books
        try table("Chapter", count: Self.chapters) { key, rows in
            let wanted = ordinal * 7_919 % Self.books < more ? 4 : 3
            if place == wanted {
                place = 0
                ordinal += 1
                book += 1
            }
            if book % 9 == 0 { book += 1 }
            place += 1
            rows.add(
                "Chapter", key: key,
                [
                    "heading": .text("\(DemoWords.subject(key)), part \(place)"), "number": .integer(place),
                    "book": .key(book, order: 2048 + 1024 * (place - 1)),
                ])
        }
    }

    /// Writes one or two tags an item.
    private func fillLinks() throws {
        guard let items = schema.model.entity(named: "Item")?.relationship(named: "tags"),
            case .join(let join, let itemSide) = schema.storage(of: items)
        else { return }
        let writer = try store.joinWriter(join)
        var batch = RowBatch(slots: schema.joinTables[join].columnNames.count, rowCapacity: 1_000, byteTarget: 1 << 16)
        var links = 0
        func add(_ item: Int, _ tag: Int) throws {
            links += 1
            let row = batch.appendRow(key: Int64(links))
            batch[row, itemSide] = .integer(Int64(item))
            batch[row, 1 - itemSide] = .integer(Int64(tag))
            guard batch.isFull else { return }
            try checkCancelled()
            try writer.append(batch)
            batch.removeAll()
        }
        func isLinked(_ item: Int, _ tag: Int) -> Bool {
            tag == 1 + item % Self.tags || (item % 2 == 0 && tag == 1 + (item + 37) % Self.tags)
        }
        // Ascending by the first column, then by the second.
        for first in 1...(itemSide == 0 ? Self.items : Self.tags) {
            for second in 1...(itemSide == 0 ? Self.tags : Self.items) {
                let (item, tag) = itemSide == 0 ? (first, second) : (second, first)
                if isLinked(item, tag) { try add(item, tag) }
            }
        }
        try writer.append(batch)
        try writer.finish()
    }

    /// Writes the table of a root entity, with keys from 1.
    private func table(_ root: String, count: Int, _ add: (Int, inout DemoRows) -> Void) throws {
        guard let index = schema.tables.firstIndex(where: { schema.entityName(of: $0) == root }) else { return }
        let writer = try store.tableWriter(index)
        var rows = DemoRows(schema.tables[index], schema: schema)
        for key in 1...count {
            add(key, &rows)
            guard rows.batch.isFull || key == count else { continue }
            try checkCancelled()
            try writer.append(rows.batch)
            rows.batch.removeAll()
        }
        try writer.finish()
        try store.createIndexes(table: index)
    }

    private func finish() throws(MigrationError) {
        let hashes = VersionHash.entityHashes(of: schema.model).compactMapValues(\.bytes)
        let counts = ["Author": Self.authors, "Item": Self.items, "Chapter": Self.chapters, "Tag": Self.tags]
        try store.createTriggers()
        try store.finish(
            metadata: DestinationMetadata(
                uuid: "5D0C6F1E-3A4B-4C8D-9E2F-7A6B5C4D3E2F", sourceProperties: [:], versionHashes: hashes,
                versionIdentifiers: schema.model.definition.versionIdentifiers),
            maximumKeys: schema.tables.map { Int64(counts[schema.entityName(of: $0)] ?? 0) },
            modelCache: try ModelCache.encode(schema.model))
    }

    private func checkCancelled() throws {
        if let error = cancellation.error { throw error }
    }
}
