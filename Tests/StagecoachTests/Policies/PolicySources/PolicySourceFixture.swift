import Foundation
import ManagedModel
import Stagecoach
import TestSupport

/// Writers, books and chapters, and a mapping model to authors, books, chapters and genres.
struct PolicySourceFixture {
    let folder: TemporaryFolder
    private(set) var manager: NSMigrationManager
    let mapping: NSMappingModel
    let sourceURL: URL
    let destinationURL: URL

    init() throws {
        folder = try TemporaryFolder()
        let source = try model(
            entity("Writer", [attribute("name", .string)], [toMany("books", "Book", inverse: "writer")]),
            entity(
                "Book",
                [
                    attribute("title", .string), attribute("pages", .integer32), attribute("isbn", .string),
                    attribute("price", .decimal), attribute("tags", .string),
                ],
                [
                    toOne("writer", "Writer", inverse: "books"),
                    toMany("chapters", "Chapter", inverse: "book", ordered: true),
                ]),
            entity("Chapter", [attribute("title", .string)], [toOne("book", "Book", inverse: "chapters")]))
        let destination = try model(
            entity("Author", [attribute("name", .string)], [toMany("books", "Book", inverse: "author")]),
            entity(
                "Book",
                [
                    attribute("title", .string), attribute("pages", .integer32), attribute("isbn", .string),
                    attribute("note", .string), attribute("year", .integer32),
                ],
                [
                    toOne("author", "Author", inverse: "books"),
                    toMany("chapters", "Chapter", inverse: "book", ordered: true),
                    toMany("genres", "Genre", inverse: "books"),
                ]),
            entity("Chapter", [attribute("title", .string)], [toOne("book", "Book", inverse: "chapters")]),
            entity(
                "Genre", [attribute("name", .string), attribute("rank", .integer16)],
                [toMany("books", "Book", inverse: "genres")], unique: [["name"]]))
        let path = folder.file("library.sqlite")
        let store = ReferenceStore.make(source) { store in
            store.insert("Writer", 1, ["name": .text("Austen")])
            store.insert("Writer", 2, ["name": .text("Herbert")])
            store.insert(
                "Book", 1,
                ["title": .text("Emma"), "pages": .integer(474), "isbn": .text("1"), "tags": .text("novel,romance")],
                toOne: ["writer": 1])
            store.insert(
                "Book", 2,
                ["title": .text("Dune"), "pages": .integer(412), "price": .real(9.5), "tags": .text("novel,desert")],
                toOne: ["writer": 2])
            store.insert("Book", 3, ["title": .text("Anon"), "pages": .integer(7)])
            store.insert("Book", 4, ["title": .text("Beowulf"), "pages": .integer(90), "isbn": .text("4")])
            for key in 1...3 as ClosedRange<Int64> { store.insert("Chapter", key, ["title": .text("c\(key)")]) }
            store.setMembers("Book", 1, "chapters", [2, 1, 3])
        }
        try store.write(path: path)
        manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
        // The process of the tests holds more than a migration of its own would.
        manager.options.memoryLimit = 8 << 30
        manager.policies = PolicyRegistry()
        manager.options.fullCheck = true
        mapping = mappings(
            try StagecoachTests.mapping("WriterToAuthor", "Writer", "Author", ["name": "$source.name"]),
            try StagecoachTests.mapping(
                "BookToBook", "Book", "Book",
                [
                    "title": "$source.title", "pages": "$source.pages", "isbn": "$source.isbn", "note": nil,
                    "year": nil,
                ]),
            try StagecoachTests.mapping("ChapterToChapter", "Chapter", "Chapter", ["title": "$source.title"]))
        sourceURL = URL(fileURLWithPath: path)
        destinationURL = URL(fileURLWithPath: folder.file("destination.sqlite"))
    }

    /// The mapping of books.
    var books: NSEntityMapping? { mapping.entityMappingsByName["BookToBook"] }

    /// The same with another manager, which takes over the registry.
    func with(_ other: NSMigrationManager) -> PolicySourceFixture {
        var fixture = self
        other.policies = manager.policies
        fixture.manager = other
        return fixture
    }

    /// Migrates with a policy of the books.
    ///
    /// - Parameter registering: false if the test has registered the class with functions.
    func run(_ policy: NSEntityMigrationPolicy.Type?, registering: Bool = true) throws -> ReferenceStore {
        books?.entityMigrationPolicyClassName = policy.map { "Library.\($0)" }
        if let policy, registering { manager.policies.register(policy) }
        try manager.migrateStore(
            from: sourceURL, sourceType: NSSQLiteStoreType, options: nil, with: mapping,
            toDestinationURL: destinationURL, destinationType: NSSQLiteStoreType, destinationOptions: nil)
        return try ReferenceStore.read(path: destinationURL.path, model: manager.destinationModel)
    }
}

extension ReferenceStore {
    /// Texts of an attribute in the order of keys; NULL is a dash.
    func texts(_ entity: String, _ attribute: String) -> [String] {
        keys(entity).map { key in
            switch value(entity, key, attribute) {
            case .text(let text): text
            case .integer(let number): "\(number)"
            case .real(let number): "\(number)"
            default: "-"
            }
        }
    }
}
