import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@Suite("Stores of type XML on the command line")
struct CommandAtomicTests {
    /// Shelves with books in two versions, of which the second has a name for the shelf's place and a note of the book.
    private struct Fixture {
        let folder: TemporaryFolder
        let versions: [ManagedObjectModel]

        init() throws {
            folder = try TemporaryFolder()
            versions = try [1, 2].map { number in
                var shelf = EntityDefinition(name: "Shelf")
                shelf.attributes = [AttributeDefinition(name: number == 1 ? "place" : "room", type: .string)]
                shelf.attributes[0].renamingIdentifier = "place"
                var books = RelationshipDefinition(name: "books", destinationEntityName: "Book")
                (books.inverseName, books.isToMany) = ("shelf", true)
                shelf.relationships = [books]
                var book = EntityDefinition(name: "Book")
                book.attributes = [
                    AttributeDefinition(name: "title", type: .string),
                    AttributeDefinition(name: "pages", type: .integer32),
                    AttributeDefinition(name: "read", type: .date),
                ]
                if number == 2 { book.attributes.append(AttributeDefinition(name: "note", type: .string)) }
                var owner = RelationshipDefinition(name: "shelf", destinationEntityName: "Shelf")
                owner.inverseName = "books"
                book.relationships = [owner]
                for index in book.attributes.indices { book.attributes[index].isOptional = true }
                var definition = ModelDefinition()
                definition.entities = [shelf, book]
                return try ManagedObjectModel(definition)
            }
            for (number, version) in versions.enumerated() {
                try Data(try ModelArchive.encode(version)).write(to: URL(fileURLWithPath: model(number + 1)))
            }
            // One store has one series of numbers in XML, so these do not collide.
            try ReferenceStore.make(versions[0]) { store in
                for key in 1...Int64(3) { store.insert("Shelf", key, ["place": .text("room \(key) <&\\>")]) }
                for key in 11...Int64(60) {
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

        var sqlite: String { folder.file("old.sqlite") }
        var xml: String { folder.file("old.xml") }
        func model(_ number: Int) -> String { folder.file("v\(number).mom") }

        /// Writes the store as XML, in its own version.
        func makeXML() throws {
            let made = try run("migrate", sqlite, xml, 1, 1, "--destination-type", "xml")
            #expect(made.code == 0, "\(made.messages)")
        }

        func run(
            _ command: String, _ source: String, _ destination: String, _ from: Int, _ to: Int, _ more: String...
        ) throws -> CommandBinary.Outcome {
            try CommandBinary.run(
                [command, source, destination, "--from", model(from), "--to", model(to)] + more)
        }
    }

    @Test("A store through XML and back is the same store")
    func roundTrip() throws {
        let fixture = try Fixture()
        try fixture.makeXML()
        #expect(try String(contentsOfFile: fixture.xml, encoding: .utf8).contains("room 1 \\u3c00\\u2600\\\\\\u3e00"))
        let back = fixture.folder.file("back.sqlite")
        #expect(try fixture.run("migrate", fixture.xml, back, 1, 1).code == 0)
        let differences = try ReferenceStore.read(path: back, model: fixture.versions[0])
            .differences(from: ReferenceStore.read(path: fixture.sqlite, model: fixture.versions[0]))
        #expect(differences == [])
        let again = fixture.folder.file("again.xml")
        #expect(try fixture.run("migrate", back, again, 1, 1, "--destination-type", "xml").code == 0)
        let bodies = try [fixture.xml, again].map { path in
            try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "</databaseInfo>").last
        }
        #expect(bodies[0] == bodies[1])
    }

    @Test("The next version is made to SQLite and to XML, and verified there")
    func migrates() throws {
        let fixture = try Fixture()
        try fixture.makeXML()
        let (direct, made, text) = (
            fixture.folder.file("direct.sqlite"), fixture.folder.file("made.sqlite"), fixture.folder.file("made.xml")
        )
        #expect(try fixture.run("migrate", fixture.sqlite, direct, 1, 2).code == 0)
        #expect(try fixture.run("migrate", fixture.xml, made, 1, 2).code == 0)
        #expect(try fixture.run("migrate", fixture.xml, text, 1, 2, "--destination-type", "xml").code == 0)
        let differences = try ReferenceStore.read(path: made, model: fixture.versions[1])
            .differences(from: ReferenceStore.read(path: direct, model: fixture.versions[1]))
        #expect(differences == [])
        for path in [made, text] {
            let verified = try fixture.run("verify", fixture.xml, path, 1, 2)
            #expect(verified.code == 0 && verified.output.contains("All 53 objects recomputed"), "\(verified)")
        }
        // A value of the destination is not the one that the migration makes.
        let changed = try String(contentsOfFile: text, encoding: .utf8).replacing(">Book 20<", with: ">Book 2<")
        try changed.write(toFile: text, atomically: true, encoding: .utf8)
        #expect(try fixture.run("verify", fixture.xml, text, 1, 2).code == 65)
        let left = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path).filter {
            $0.hasPrefix(".") || $0.hasPrefix("stagecoach")
        }
        #expect(left == [])
    }

    @Test("Other commands read an XML store as they read its private one")
    func otherCommands() throws {
        let fixture = try Fixture()
        try fixture.makeXML()
        let shown = try [fixture.sqlite, fixture.xml].map { store in
            try CommandBinary.run(
                [
                    "show", store, "Book", "--json", "--limit", "all", "--where", "pages > 200", "--model",
                    fixture.model(1),
                ]
            ).output
        }
        #expect(shown[0] == shown[1] && shown[0].contains(#""title":"Book 30""#))
        let inspected = try CommandBinary.run(["inspect", fixture.xml, "--model", fixture.model(1)])
        #expect(inspected.code == 0 && inspected.output.contains("a store of type XML"), "\(inspected)")
        let planned = try fixture.run("plan", fixture.xml, fixture.folder.file("new.sqlite"), 1, 2)
        #expect(planned.code == 0, "\(planned.messages)")
        let checked = try CommandBinary.run(
            ["check", fixture.xml, "--from", fixture.model(1), "--to", fixture.model(2)])
        #expect(checked.code == 0, "\(checked.messages)")
        let explained = try CommandBinary.run(
            ["explain", fixture.xml, "Book/p30", "--from", fixture.model(1), "--to", fixture.model(2)])
        #expect(explained.code == 0 && explained.output.contains("Book 30"))
    }

    @Test("Types that disagree, wrong models and existing files are refused; nothing is written")
    func refusals() throws {
        let fixture = try Fixture()
        try fixture.makeXML()
        let new = fixture.folder.file("new")
        let kinds: [(code: Int32, words: String, arguments: [String])] = [
            (78, "The store is of type XML, not SQLite", [fixture.xml, new, "--source-type", "sqlite"]),
            (78, "The store is of type SQLite, not XML", [fixture.sqlite, new, "--source-type", "xml"]),
            (64, "--append", [fixture.xml, new, "--append", "--destination-type", "xml"]),
            (64, "knows sqlite, xml, not 'memory'", [fixture.xml, new, "--destination-type", "memory"]),
            (73, "exists", [fixture.sqlite, fixture.xml, "--destination-type", "xml"]),
        ]
        for kind in kinds {
            let outcome = try CommandBinary.run(
                ["migrate"] + kind.arguments + ["--from", fixture.model(1), "--to", fixture.model(2)])
            #expect(outcome.code == kind.code && outcome.messages.contains(kind.words), "\(kind): \(outcome)")
        }
        let other = try fixture.run("migrate", fixture.xml, new, 2, 2)
        #expect(other.code == 78 && other.messages.contains("The model did not write the store"), "\(other)")
        try Data(contentsOf: URL(fileURLWithPath: fixture.xml)).prefix(4000).write(
            to: URL(fileURLWithPath: fixture.folder.file("cut.xml")))
        let cut = try fixture.run("migrate", fixture.folder.file("cut.xml"), new, 1, 2)
        #expect(cut.code == 65 && cut.messages.contains("cut.xml"), "\(cut)")
        #expect(!FileManager.default.fileExists(atPath: new))
    }
}
