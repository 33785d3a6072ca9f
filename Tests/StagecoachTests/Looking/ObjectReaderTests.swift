import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

@Suite("Objects of a store, looked at one by one")
struct ObjectReaderTests {
    private static let types: [AttributeDefinition] = [
        attribute("flag", .boolean), attribute("i16", .integer16), attribute("real", .double),
        attribute("single", .float), attribute("decimal", .decimal), attribute("text", .string),
        attribute("date", .date), attribute("data", .binaryData), attribute("uuid", .uuid), attribute("uri", .uri),
        attribute("object", .transformable),
    ]

    private let folder: TemporaryFolder
    private let version: ManagedObjectModel
    private var path: String { folder.file("store.sqlite") }

    /// Shelves 1 and 2; books 1 to 30 on shelf 1 in falling order, every third a novel; a thing of every type.
    init() throws {
        folder = try TemporaryFolder()
        version = try model(
            entity("Shelf", [attribute("place", .string)], [toMany("books", "Book", inverse: "shelf", ordered: true)]),
            entity(
                "Book", [attribute("title", .string), attribute("pages", .integer32)],
                [
                    toOne("shelf", "Shelf", inverse: "books"), toOne("sequel", "Book"),
                    toMany("tags", "Tag", inverse: "books"),
                ]),
            entity("Novel", parent: "Book", [attribute("genre", .string)]),
            entity("Tag", [attribute("word", .string)], [toMany("books", "Book", inverse: "tags")]),
            entity("Thing", Self.types))
        try ReferenceStore.make(version) { store in
            store.insert("Shelf", 1, ["place": .text("a \"b\"\n")])
            store.insert("Shelf", 2)
            for key in 1...30 as ClosedRange<Int64> {
                store.insert(
                    key % 3 == 0 ? "Novel" : "Book", key, ["title": .text("Book \(key)"), "pages": .integer(key)])
            }
            store.setMembers("Shelf", 1, "books", (1...30).reversed())
            store.setMembers("Book", 1, "tags", [7, 99])
            store.setToOne("Book", 2, "sequel", 77)
            store.insert("Tag", 7, ["word": .text("x")])
            store.insert("Thing", 1)
            store.insert(
                "Thing", 2,
                [
                    "flag": .integer(1), "i16": .integer(-3), "real": .real(0.5), "single": .real(Double(Float(0.1))),
                    "decimal": .real(12.5), "text": .text("t"), "date": .real(0.25), "data": .blob([1, 2, 255]),
                    "uuid": .blob(Array(1...16)), "uri": .text("https://a.b/c"),
                    "object": .blob([0, 1]),
                ])
        }.write(path: path)
    }

    private func reader() throws -> ObjectReader { try ObjectReader(path: path, model: version) }

    @Test("Values are shown by their types")
    func values() throws {
        let reader = try reader()
        let found = try reader.object("Thing/p2")
        #expect(found["none"] == nil)
        #expect(found["flag"] == .boolean(true))
        #expect(found["i16"] == .integer(-3))
        #expect(found["real"] == .real(0.5))
        #expect(found["single"] == .real(0.1))
        #expect(found["decimal"] == .decimal(12.5))
        #expect(found["text"] == .text("t"))
        #expect(found["date"] == .date(0.25))
        #expect(found["data"] == .data(.init(count: 3, first: [1, 2, 255])))
        #expect(found["uuid"] == .uuid(try #require(UUID(uuidString: "01020304-0506-0708-090A-0B0C0D0E0F10"))))
        #expect(found["uri"] == .uri("https://a.b/c"))
        // No archive: the bytes themselves.
        #expect(found["object"] == .data(.init(count: 2, first: [0, 1])))
        #expect(try reader.object("Thing/p1").attributes.allSatisfy { $0.value == .null })
        try reader.close()
    }

    @Test("Relationships have their counts, first members in order, and what is missing")
    func relationships() throws {
        let reader = try reader()
        let books = try #require(try reader.object("Shelf/p1").relationships.first)
        #expect(books.isToMany && books.isOrdered && books.count == 30 && books.missing.isEmpty)
        #expect(try reader.object("Shelf/p1")["books"] == books.value)
        #expect(
            books.members == ["Novel/p30", "Book/p29"]
                + [28, 27, 26, 25, 24, 23, 22, 21].map { "\($0 % 3 == 0 ? "Novel" : "Book")/p\($0)" })
        reader.mostMembers = 0
        #expect(try reader.object("Shelf/p1").relationships.first?.count == 30)
        #expect(try reader.object("Shelf/p2").relationships.first?.count == 0)
        reader.mostMembers = 10
        let first = try reader.object("Book/p1").relationships
        #expect(first.first { $0.name == "tags" }?.members == ["Tag/p7", "Tag/p99"])
        #expect(first.first { $0.name == "tags" }?.missing == ["Tag/p99"])
        #expect(first.first { $0.name == "shelf" }?.value == .object("Shelf/p1"))
        let second = try reader.object("Book/p2").relationships
        #expect(second.first { $0.name == "sequel" }?.missing == ["Book/p77"])
        try reader.close()
    }

    @Test("An object is found by its entity, by one that it inherits from, and by its URI")
    func identity() throws {
        let reader = try reader()
        #expect(try reader.object("Novel/p3").id == "Novel/p3")
        let novel = try reader.object("Book/p3")
        #expect(novel.id == "Novel/p3" && novel.attributes.map(\.name) == ["genre", "pages", "title"])
        let uuid = try SourceStore(path: path).metadata.uuid
        #expect(try reader.object("x-coredata://\(uuid)/Book/p1").id == "Book/p1")
        func code(_ id: String) throws -> (String?, MigrationError.Category?) {
            let error = #expect(throws: MigrationError.self) { try reader.object(id) }
            return (error?.code.rawValue, error?.category)
        }
        #expect(try code("Book/p31") == ("object.unknown", .noInput))
        // A book is no novel.
        #expect(try code("Novel/p1") == ("object.unknown", .noInput))
        #expect(try code("Shelve/p1") == ("object.unknownEntity", .noInput))
        #expect(try code("x-coredata://\(UUID().uuidString)/Book/p1") == ("object.otherStore", .noInput))
        // The entity is one, the rest is no key.
        for slip in ["Book/p99999999999999999999", "Book/777", "Book/p 1"] {
            #expect(try code(slip) == ("object.unknown", .noInput))
        }
        try reader.close()
    }

    private func ids(_ entity: String, _ predicate: String? = nil, most: Int = .max) throws -> [String] {
        let reader = try reader()
        var found: [String] = []
        try reader.forEach(of: entity, where: predicate) { object in
            found.append(object.id)
            return found.count < most
        }
        try reader.close()
        return found
    }

    @Test(
        "Predicates choose objects, over relationships and with aggregates, as a source filter does",
        arguments: [
            ("pages > 28", ["Book/p29", "Novel/p30"]), ("title == 'Book 3'", ["Novel/p3"]),
            ("ANY tags.word == 'x'", ["Book/p1"]), ("tags.@count > 0 AND pages < 2", ["Book/p1"]),
            ("shelf.place BEGINSWITH 'a' AND pages IN {4, 6}", ["Book/p4", "Novel/p6"]),
            ("SUBQUERY(shelf.books, $b, $b.pages == 1).@count == 1 AND pages == 7", ["Book/p7"]),
            ("SELF.shelf.books.@max.pages == pages", ["Novel/p30"]), ("shelf == nil", []),
        ] as [(String, [String])])
    func predicates(predicate: String, expected: [String]) throws {
        #expect(try ids("Book", predicate) == expected)
    }

    @Test("Objects of an entity come by key, those of subentities too, and end where they are enough")
    func listing() throws {
        #expect(try ids("Book", most: 3) == ["Book/p1", "Book/p2", "Novel/p3"])
        #expect(try ids("Novel").count == 10)
        #expect(try ids("Tag", "word == nil") == [])
    }

    @Test("A predicate that is wrong is refused with its place")
    func wrongPredicates() throws {
        let unknown = #expect(throws: MigrationError.self) { try ids("Book", "titel == 'x'") }
        #expect(unknown?.code == "mapping.unknownKeyPath" && unknown?.message.contains("titel") == true)
        #expect(throws: MigrationError.self) { try ids("Book", "title ==") }
        let type = #expect(throws: MigrationError.self) { try ids("Book", "title > 5") }
        // Types that never fit are refused before an object is read, as in a source filter.
        #expect(type?.code == "expression.type" && type?.context.objectID == nil)
    }

    @Test("JSON keeps types, and nests what belongs together")
    func json() throws {
        let reader = try reader()
        func object(_ id: String) throws -> NSDictionary {
            try #require(
                try JSONSerialization.jsonObject(with: JSONEncoder().encode(reader.object(id))) as? NSDictionary)
        }
        let thing = try object("Thing/p2")
        #expect(thing["id"] as? String == "Thing/p2" && thing["entity"] as? String == "Thing")
        #expect(thing["key"] as? Int == 2)
        let attributes = try #require(thing["attributes"] as? [String: Any])
        #expect(attributes["date"] as? String == "2001-01-01T00:00:00.25Z")
        #expect(attributes["flag"] as? Bool == true && attributes["decimal"] as? Double == 12.5)
        #expect((attributes["data"] as? [String: Any])?["first"] as? String == "0102ff")
        #expect((attributes["data"] as? [String: Any])?["bytes"] as? Int == 3)
        let book = try object("Book/p1")
        let links = try #require(book["relationships"] as? [String: Any])
        #expect(links["shelf"] as? String == "Shelf/p1" && links["sequel"] is NSNull)
        #expect((links["tags"] as? [String: Any])?["count"] as? Int == 2)
        #expect(book["missing"] as? [String] == ["Tag/p99"])
        try reader.close()
    }

    @Test(
        "Dates are in ISO 8601, to the microsecond",
        arguments: [
            (0, "2001-01-01T00:00:00Z"), (-0.5, "2000-12-31T23:59:59.5Z"), (1.000001, "2001-01-01T00:00:01.000001Z"),
            (0.9999999, "2001-01-01T00:00:01Z"), (1e300, "1e+300 s since 2001"),
        ] as [(Double, String)])
    func dates(seconds: Double, text: String) { #expect(ShownValue.text(ofDate: seconds) == text) }

    @Test("A model of another version is refused, unless only tables tell")
    func otherModel() throws {
        let other = try model(entity("Shelf", [attribute("place", .string), attribute("more", .string)]))
        let error = #expect(throws: MigrationError.self) { try ObjectReader(path: path, model: other) }
        #expect(error?.code == "store.otherModel")
    }

    @Test("Data in files is shown with its place, size and first bytes")
    func external() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        let reader = try ObjectReader(path: fixture.sourcePath, model: fixture.source)
        func data(_ key: Int) throws -> ShownValue? {
            try reader.object("Photo/p\(key)").attributes.first { $0.name == "data" }?.value
        }
        guard case .data(let large)? = try data(2), case .data(let small)? = try data(1) else {
            Issue.record("no data")
            return
        }
        #expect(large.count == 200_000 && large.first.count == 16 && large.file?.hasPrefix(fixture.files) == true)
        #expect(small.count == 30 && small.file == nil)
        #expect(try data(4) == .null)
        try FileManager.default.removeItem(atPath: try #require(large.file))
        #expect(try data(2) == .data(.init(count: nil, first: [], file: large.file)))
        try reader.close()
    }

    @Test("Values larger than memory are shown by their size and beginning, and stay unread in a scan")
    func huge() throws {
        let fixture = try HugeValueFixture(blobBytes: 20 << 20, textBytes: 11 << 20)
        let model = try ModelLocator.load(fixture.folder.file("one.xcdatamodel")).model
        // No memory: values above 1 MiB are too large.
        let reader = try ObjectReader(path: fixture.sourcePath, model: model, memoryLimit: 1)
        var sizes: [Int] = []
        try reader.forEach(of: "Document", where: "number > 0") { object in
            for attribute in object.attributes {
                switch attribute.value {
                case .data(let bytes) where bytes.count ?? 0 > 1 << 20: sizes.append(bytes.count ?? 0)
                case .longText(let beginning, let bytes):
                    #expect(!beginning.isEmpty)
                    sizes.append(bytes)
                default: break
                }
            }
            return true
        }
        #expect(Set(sizes) == [20 << 20, 11 << 20, 2 << 20, (11 << 20) / 10])
        let error = #expect(throws: MigrationError.self) {
            try reader.forEach(of: "Document", where: "note CONTAINS 'zz'") { _ in true }
        }
        #expect(error?.code == "store.valueTooLarge" && error?.remedy?.contains("--memory-limit") == true)
        try reader.close()
    }

    @Test("Composite attributes are shown by their elements")
    func composites() throws {
        let fixture = try CompositeFixture()
        let reader = try ObjectReader(path: fixture.sourcePath, model: fixture.old)
        let author = try reader.object("Book/p1").attributes.first { $0.name == "author" }?.value
        guard case .composite(let elements)? = author else {
            Issue.record("\(String(describing: author))")
            return
        }
        #expect(elements.map(\.name) == ["name", "id", "home", "born"])
        #expect(elements[0].value == .text("Ada") && elements[3].value == .date(5.5))
        guard case .composite(let home) = elements[2].value else {
            Issue.record("no composite in the composite")
            return
        }
        #expect(home.map(\.value) == [.text("London"), .integer(123)])
        try reader.close()
    }
}
