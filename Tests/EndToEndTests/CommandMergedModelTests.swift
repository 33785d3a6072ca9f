import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import TestSupport
import Testing

/// `--to A --to B` by the built command: the models of an app, merged as Core Data merges them.
@Suite("Models that are named together, by the built command")
struct CommandMergedModelTests {
    typealias Inputs = VersionedInputs

    private static let tag = Inputs.entity("Tag", Inputs.text("name"), Inputs.attribute("rank", "Integer 16"))

    private static func book(_ more: String = "") -> String { Inputs.entity("Book", Inputs.text("title"), more) }
    private static func shelf(_ more: String = "") -> String { Inputs.entity("Shelf", Inputs.text("place"), more) }

    /// A folder with the models Books and Shelves in two versions each, which share an entity, and a store of both first ones.
    private static func folder(secondTag: String = tag) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for (name, entities) in [
            ("Books1", book() + tag), ("Shelves1", shelf() + tag),
            ("Books2", book(Inputs.attribute("pages", "Integer 32")) + tag),
            ("Shelves2", shelf(Inputs.text("room")) + secondTag),
        ] {
            let place = folder.file("\(name).xcdatamodel")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            try Inputs.model(entities).write(toFile: place + "/contents", atomically: true, encoding: .utf8)
        }
        let parts = try ["Books1", "Shelves1"].map {
            (name: $0, model: try ModelLocator.load(folder.file("\($0).xcdatamodel")).model)
        }
        let model = try ManagedObjectModel(merging: parts)
        try ReferenceStore.make(model) { store in
            store.insert("Book", 1, ["title": .text("Emma")])
            store.insert("Shelf", 1, ["place": .text("A1")])
            store.insert("Tag", 1, ["name": .text("new"), "rank": .integer(3)])
        }.write(path: folder.file("old.sqlite"))
        let connection = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        try connection.execute("DELETE FROM Z_MODELCACHE")
        let insert = try connection.prepare("INSERT INTO Z_MODELCACHE VALUES (?)")
        insert.bind(try ModelCache.encode(model), at: 1)
        try insert.run()
        return folder
    }

    private static let from = ["--from", "Books1.xcdatamodel", "--from", "Shelves1.xcdatamodel"]
    private static let to = ["--to", "Books2.xcdatamodel", "--to=Shelves2.xcdatamodel"]

    private static func run(_ arguments: [String], in folder: TemporaryFolder) throws -> CommandBinary.Outcome {
        try CommandBinary.run(arguments, in: folder.path)
    }

    @Test("Each command that takes a model takes several, and a shared entity counts once")
    func commands() throws {
        let folder = try Self.folder()
        for arguments in [
            ["plan", "old.sqlite", "new.sqlite"] + Self.to, ["check", "old.sqlite"] + Self.to,
            ["explain", "old.sqlite", "Book/p1"] + Self.to, ["migrate", "old.sqlite", "new.sqlite"] + Self.to,
            ["verify", "old.sqlite", "new.sqlite"] + Self.to,
            ["migrate", "old.sqlite", "other.sqlite"] + Self.to + Self.from,
            ["batch", "o*d.sqlite", "--into", "all"] + Self.to + Self.from,
            ["infer", "-o", "m.json"] + Self.from + Self.to,
            ["convert", "m.json", "-o", "n.json"] + Self.from + Self.to,
            ["migrate", "old.sqlite", "third.sqlite", "--mapping", "m.json"] + Self.to,
            ["show", "old.sqlite", "Book/p1", "--model", "Books1.xcdatamodel", "--model", "Shelves1.xcdatamodel"],
            ["inspect", "old.sqlite", "--model", "Books1.xcdatamodel", "--model", "Shelves1.xcdatamodel"],
        ] {
            let outcome = try Self.run(arguments, in: folder)
            #expect(outcome.code == 0, "\(arguments): \(outcome.output)\(outcome.messages)")
        }
        for name in ["new", "other", "all/old", "third"] {
            let connection = try Connection(path: folder.file("\(name).sqlite"), flags: 1)
            #expect(
                try connection.firstColumn("SELECT Z_NAME FROM Z_PRIMARYKEY ORDER BY 1") == ["Book", "Shelf", "Tag"])
            #expect(try connection.firstColumn("SELECT ZTITLE FROM ZBOOK WHERE ZPAGES IS NULL") == ["Emma"])
            #expect(try connection.firstColumn("SELECT ZPLACE FROM ZSHELF WHERE ZROOM IS NULL") == ["A1"])
            #expect(try connection.firstColumn("SELECT ZNAME || ZRANK FROM ZTAG") == ["new3"])
        }
        let inspected = try Self.run(["inspect", "Books2.xcdatamodel", "Shelves2.xcdatamodel", "--json"], in: folder)
        #expect(inspected.code == 0, "\(inspected.messages)")
        for name in ["\"Book\"", "\"Shelf\"", "\"Tag\""] {
            #expect(inspected.output.contains(name), "\(inspected.output)")
        }
        let written = try Self.run(
            ["model", "Books2.xcdatamodel", "Shelves2.xcdatamodel", "-o", "All.xcdatamodel"], in: folder)
        #expect(written.code == 0, "\(written.messages)")
        let merged = try ModelLocator.load(folder.file("All.xcdatamodel")).model
        #expect(merged.entities.map(\.definition.name) == ["Book", "Shelf", "Tag"])
    }

    @Test("A manifest names several models as a list")
    func manifest() throws {
        let folder = try Self.folder()
        let line = """
            {"source": "old.sqlite", "destination": "new.sqlite", "model": ["Books2.xcdatamodel", "Shelves2.xcdatamodel"], \
            "from": ["Books1.xcdatamodel", "Shelves1.xcdatamodel"]}
            """
        try (line + "\n").write(toFile: folder.file("stores.jsonl"), atomically: true, encoding: .utf8)
        let outcome = try Self.run(["batch", "stores.jsonl"], in: folder)
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.messages)")
        let again = try Self.run(["batch", "stores.jsonl", "--jobs", "2"], in: folder)
        #expect(again.code == 0, "\(again.output)\(again.messages)")
        let connection = try Connection(path: folder.file("new.sqlite"), flags: 1)
        #expect(try connection.firstColumn("SELECT ZPLACE FROM ZSHELF") == ["A1"])
    }

    @Test(
        "An entity that two models define differently is named with both and the first difference",
        arguments: [
            (Inputs.entity("Tag", Inputs.text("name"), Inputs.attribute("rank", "Integer 32")), "attribute rank: type"),
            (Inputs.entity("Tag", Inputs.text("name")), "attribute rank"),
            (
                Inputs.entity("Tag", Inputs.text("name"), Inputs.attribute("rank", "Integer 16"), Inputs.text("note")),
                "attribute note"
            ),
            (
                Inputs.entity(
                    "Tag", Inputs.text("name"), Inputs.attribute("rank", "Integer 16", "defaultValueString=\"4\"")),
                "attribute rank: default value"
            ),
        ])
    func conflict(tag: String, says: String) throws {
        let folder = try Self.folder(secondTag: tag)
        for arguments in [
            ["migrate", "old.sqlite", "new.sqlite"] + Self.to, ["infer"] + Self.from + Self.to,
            ["inspect", "Books2.xcdatamodel", "Shelves2.xcdatamodel"],
        ] {
            let outcome = try Self.run(arguments, in: folder)
            #expect(outcome.code == 78, "\(arguments): \(outcome.messages)")
            for word in ["Tag", "Books2.xcdatamodel", "Shelves2.xcdatamodel", says] {
                #expect(outcome.messages.contains(word), "\(word): \(outcome.messages)")
            }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
    }

    @Test("A model of them that is missing is named")
    func missing() throws {
        let folder = try Self.folder()
        let outcome = try Self.run(
            ["plan", "old.sqlite", "new.sqlite", "--to", "Books2.xcdatamodel", "--to", "Other.xcdatamodel"], in: folder)
        #expect(outcome.code == 66 && outcome.messages.contains("Other.xcdatamodel"), "\(outcome.messages)")
    }
}
