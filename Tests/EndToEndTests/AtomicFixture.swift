import Foundation
import ManagedModel
import TestSupport

/// Shelves with books in three versions: the second has another name for the shelf's place and a note of the book, the third asks
/// for at least 100 pages.
struct AtomicFixture {
    let folder: TemporaryFolder
    let versions: [ManagedObjectModel]
    /// The place of the files in the folder.
    private let place: String

    /// - Parameter last: the highest number of a book; the first is 11.
    init(in folder: TemporaryFolder? = nil, place: String = "", last: Int64 = 60) throws {
        self.folder = try folder ?? TemporaryFolder()
        self.place = place
        versions = try (1...3).map(Self.version)
        for (number, version) in versions.enumerated() {
            try Data(try ModelArchive.encode(version)).write(to: URL(fileURLWithPath: model(number + 1)))
        }
        // One store has one series of numbers in XML, so these do not collide.
        try ReferenceStore.make(versions[0]) { store in
            for key in 1...Int64(3) { store.insert("Shelf", key, ["place": .text("room \(key) <&\\>")]) }
            for key in 11...last {
                store.insert(
                    "Book", key,
                    [
                        "title": .text("Book \(key)"), "pages": .integer(key * 7),
                        "read": key % 2 == 0 ? .real(0.5) : .null,
                    ])
                store.setToOne("Book", key, "shelf", key % 4 == 0 ? nil : key % 4)
            }
        }.write(path: sqlite)
    }

    private static func version(_ number: Int) throws -> ManagedObjectModel {
        var shelf = EntityDefinition(name: "Shelf")
        shelf.attributes = [AttributeDefinition(name: number == 1 ? "place" : "room", type: .string)]
        shelf.attributes[0].renamingIdentifier = "place"
        var books = RelationshipDefinition(name: "books", destinationEntityName: "Book")
        (books.inverseName, books.isToMany) = ("shelf", true)
        shelf.relationships = [books]
        var book = EntityDefinition(name: "Book")
        book.attributes = [
            AttributeDefinition(name: "title", type: .string), AttributeDefinition(name: "pages", type: .integer32),
            AttributeDefinition(name: "read", type: .date),
        ]
        if number > 1 { book.attributes.append(AttributeDefinition(name: "note", type: .string)) }
        if number == 3 {
            book.attributes.append(AttributeDefinition(name: "code", type: .integer64))
            book.attributes[1].minimum = .integer(100)
        }
        var owner = RelationshipDefinition(name: "shelf", destinationEntityName: "Shelf")
        owner.inverseName = "books"
        book.relationships = [owner]
        for index in book.attributes.indices { book.attributes[index].isOptional = true }
        var definition = ModelDefinition()
        definition.entities = [shelf, book]
        return try ManagedObjectModel(definition)
    }

    var sqlite: String { folder.file(place + "old.sqlite") }
    var xml: String { folder.file(place + "old.xml") }
    func model(_ number: Int) -> String { folder.file(place + "v\(number).mom") }

    /// Writes the store as XML or binary, in its own version, and returns its path.
    @discardableResult
    func make(_ type: String = "xml") throws -> String {
        let path = folder.file(place + "old." + type)
        let made = try run("migrate", sqlite, path, 1, 1, "--destination-type", type)
        guard made.code == 0 else { throw Failure(messages: made.messages) }
        return path
    }
    private struct Failure: Error { let messages: String }

    func run(
        _ command: String, _ source: String, _ destination: String, _ from: Int, _ to: Int, _ more: String...
    ) throws -> CommandBinary.Outcome {
        try CommandBinary.run([command, source, destination, "--from", model(from), "--to", model(to)] + more)
    }
}
