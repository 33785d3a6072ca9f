import Foundation
import ManagedModel
import TestSupport
import Testing

/// Migrations to models that only Swift sources declare.
@Suite("Models from Swift sources")
struct SwiftSourcesCommandTests {
    private static let trips = SharedStores.repository.appendingPathComponent("Fixtures/SwiftDataTrips").path

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func run(_ arguments: String...) throws -> CommandBinary.Outcome {
        try CommandBinary.run(arguments, in: folder.path)
    }

    private func write(_ name: String, _ text: String) throws {
        let path = folder.file(name)
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    /// The model of a version, as `model` writes it.
    private func model(_ argument: String) throws -> ManagedObjectModel {
        let place = "model-\(argument.filter { $0.isLetter || $0.isNumber }.suffix(24)).xcdatamodel"
        if !FileManager.default.fileExists(atPath: folder.file(place)) {
            let outcome = try run("model", argument, "-o", place)
            #expect(outcome.code == 0, "\(outcome.messages)")
        }
        return try ModelLocator.load(folder.file(place)).model
    }

    /// Makes a store of the trips' first version.
    private func makeTrips(_ name: String = "old.store", count: Int64 = 20) throws {
        try ReferenceStore.make(model(Self.trips + ":SchemaV1")) { store in
            for key in 1...count {
                store.insert(
                    "Trip", key,
                    [
                        "id": .blob((0..<16).map { UInt8(($0 + Int(key)) % 256) }), "title": .text("Trip \(key)"),
                        "notes": key % 3 == 0 ? .null : .text("Notes of \(key)"), "budget": .integer(100 * key),
                        "startsOn": .real(700_000_000 + Double(key)), "state.state": .text("booked"),
                    ])
                store.insert(
                    "Stop", 2 * key,
                    [
                        "name": .text("Stop \(key)"), "nights": .integer(2), "position.latitude": .real(47.5),
                        "position.longitude": .real(8.25), "position.label": .text("Home"),
                    ],
                    toOne: ["trip": key])
            }
        }.write(path: folder.file(name))
    }

    @Test("A store of version 1 becomes one of version 2, and verify agrees")
    func trips() throws {
        try makeTrips()
        let seen = try run("inspect", "old.store", "--model", Self.trips)
        #expect(seen.output.contains("SchemaV1: the version hashes are equal"), "\(seen.output)\(seen.messages)")
        let refused = try run("migrate", "old.store", "new.store", "--to", Self.trips)
        #expect(refused.code == 78 && refused.messages.contains("Traveller, Trip of SchemaV2"), "\(refused.messages)")
        #expect(refused.messages.contains("SchemaV2.swift:"))
        let plan = try run("plan", "old.store", "new.store", "--to", Self.trips)
        #expect(
            plan.code == 0 && plan.output.contains("Stop equal to old.store; Traveller, Trip unchecked"),
            "\(plan.output)")
        let made = try run(
            "migrate", "old.store", "new.store", "--to", Self.trips, "--unchecked", "allow", "--on-loss", "refuse")
        #expect(made.code == 0, "\(made.messages)")
        let verified = try run("verify", "old.store", "new.store", "--to", Self.trips)
        #expect(verified.code == 0, "\(verified.output)\(verified.messages)")
        let rows = try ReferenceStore.read(path: folder.file("new.store"), model: model(Self.trips + ":2.0.0"))
        let table = try #require(rows.schema.tables.firstIndex { $0.name == "ZTRIP" })
        #expect(rows.tables[table].count == 20)
        let columns = rows.schema.tables[table].columns.map(\.name)
        let summary = try #require(columns.firstIndex(of: "ZSUMMARY"))
        #expect(rows.tables[table][4]?.values[summary] == .text("Notes of 4"))
        let favourite = try #require(columns.firstIndex(of: "ZISFAVOURITE"))
        #expect(rows.tables[table][4]?.values[favourite] == .integer(0))
    }

    @Test("A store or a list of hashes confirms what is written")
    func like() throws {
        try makeTrips()
        try ReferenceStore.make(model(Self.trips)) { _ in }.write(path: folder.file("empty.store"))
        let made = try run("migrate", "old.store", "a.store", "--to", Self.trips, "--like", "empty.store")
        #expect(
            made.code == 0 && made.output.contains("Traveller, Trip equal to empty.store"),
            "\(made.output)\(made.messages)")
        let hashes = try model(Self.trips).entityVersionHashesByName
        let lines = hashes.sorted { $0.key < $1.key }.map {
            "    \"\($0.key)\": \"\($0.value.base64EncodedString())\","
        }
        try write("hashes.txt", "let hashes = [\n\(lines.joined(separator: "\n"))\n]\n")
        let listed = try run("migrate", "old.store", "b.store", "--to", Self.trips, "--like", "hashes.txt")
        #expect(listed.code == 0 && listed.output.contains("equal to hashes.txt"), "\(listed.messages)")
        // Expectations of a test, with the hashes of both versions.
        let old = try model(Self.trips + ":SchemaV1").entityVersionHashesByName
        let expectations = [old, hashes].joined().map {
            "#expect(hashes[\"\($0.key)\"] == \"\($0.value.hexadecimal)\")"
        }
        try write("HashTests.swift", expectations.joined(separator: "\n"))
        let tested = try run("plan", "old.store", "d.store", "--to", Self.trips, "--like", "HashTests.swift")
        #expect(tested.output.contains("Traveller, Trip equal to HashTests.swift"), "\(tested.output)")
        try write("none.txt", "nothing\n")
        #expect(try run("migrate", "old.store", "c.store", "--to", Self.trips, "--like", "none.txt").code == 78)
        #expect(try run("migrate", "old.store", "c.store", "--to", Self.trips, "--like", "absent").code == 66)
    }

    @Test("The model of a version is written as Xcode keeps it, with the same hashes")
    func modelCommand() throws {
        let shown = try run("inspect", Self.trips, "--json")
        let described = try #require(
            try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any])
        #expect(described["version"] as? String == "SchemaV2")
        #expect(described["versions"] as? [String] == ["SchemaV1", "SchemaV2"])
        let sources = try #require(described["sources"] as? [String: Any])
        #expect((sources["stages"] as? [[String: Any]])?.first?["isCustom"] as? Bool == false)
        let outcome = try run("model", Self.trips, "-o", "Trips.xcdatamodeld")
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(try ModelLocator.versions(in: folder.file("Trips.xcdatamodeld")) == ["SchemaV1", "SchemaV2"])
        let entities = try #require(described["entities"] as? [[String: Any]])
        let written = try ModelLocator.load(folder.file("Trips.xcdatamodeld")).model.entityVersionHashesByName
        for entity in entities {
            let name = try #require(entity["name"] as? String)
            #expect(written[name]?.hexadecimal == entity["versionHash"] as? String, "\(name)")
        }
    }

    private static let custom = """
        import SwiftData
        enum Plan: SchemaMigrationPlan {
            static let schemas: [any VersionedSchema.Type] = [V1.self, V2.self, V3.self]
            static let stages: [MigrationStage] = [
                .lightweight(fromVersion: V1.self, toVersion: V2.self),
                .custom(fromVersion: V2.self, toVersion: V3.self, willMigrate: nil) { context in
                    for note in try context.fetch(FetchDescriptor<V3.Note>()) { note.length = note.text.count }
                },
            ]
        }
        enum V1: VersionedSchema {
            static let versionIdentifier = Schema.Version(1, 0, 0)
            static let models: [any PersistentModel.Type] = [Note.self]
            @Model final class Note { var text: String = "" }
        }
        enum V2: VersionedSchema {
            static let versionIdentifier = Schema.Version(2, 0, 0)
            static let models: [any PersistentModel.Type] = [Note.self]
            @Model final class Note { var text: String = ""; var mark: Int = 1 }
        }
        enum V3: VersionedSchema {
            static let versionIdentifier = Schema.Version(3, 0, 0)
            static let models: [any PersistentModel.Type] = [Note.self]
            @Model final class Note { var text: String = ""; var mark: Int = 1; var length: Int = 0 }
        }

        """

    private func makeNotes() throws {
        try write("App/Notes.swift", Self.custom)
        try ReferenceStore.make(model("App:V1")) { store in
            for key in Int64(1)...3 { store.insert("Note", key, ["text": .text("abc")]) }
        }.write(path: folder.file("old.store"))
    }

    @Test("A custom stage is refused by its line, unless a mapping model stands for it or structure is enough")
    func customStage() throws {
        try makeNotes()
        let to = ["--to", "App", "--unchecked", "allow"]
        let refused = try CommandBinary.run(["migrate", "old.store", "new.store"] + to, in: folder.path)
        #expect(refused.code == 78 && refused.messages.contains("App/Notes.swift:6"), "\(refused.messages)")
        #expect(refused.messages.contains("--mapping 'V2..V3=stage.json'"))
        #expect(
            try CommandBinary.run(
                ["migrate", "old.store", "two.store", "--to", "App:V2", "--unchecked", "allow"], in: folder.path
            ).code == 0)
        let structure = try CommandBinary.run(
            ["migrate", "old.store", "structure.store"] + to + ["--unmapped-stages", "structure"], in: folder.path)
        #expect(structure.code == 0, "\(structure.messages)")
        #expect(
            structure.output.contains(
                "the custom stage from V2 to V3 (App/Notes.swift:6) is migrated by structure only"))
        let inferred = try run("infer", "--from", "App:V2", "--to", "App:V3", "-o", "stage.json")
        #expect(inferred.code == 0, "\(inferred.messages)")
        let text = try String(contentsOfFile: folder.file("stage.json"), encoding: .utf8)
        #expect(text.contains("Notes.swift:6 mentions length, text"), "\(text)")
        try write(
            "stage.json", text.replacing("\"length\": null", with: "\"length\": \"$source.mark + 41\"")
        )
        let mapped = try CommandBinary.run(
            ["migrate", "old.store", "new.store"] + to + ["--mapping", "V2..V3=stage.json"], in: folder.path)
        #expect(mapped.code == 0, "\(mapped.messages)")
        let rows = try ReferenceStore.read(path: folder.file("new.store"), model: model("App:V3"))
        let length = try #require(rows.schema.tables[0].columns.firstIndex { $0.name == "ZLENGTH" })
        #expect(rows.tables[0][2]?.values[length] == .integer(42))
    }

    @Test("A store of no version is told as one that the sources have left behind")
    func drift() throws {
        try makeNotes()
        // A store with a cached model, as SwiftData writes them.
        #expect(try run("migrate", "old.store", "kept.store", "--to", "App:V1", "--unchecked", "allow").code == 0)
        try write(
            "App/Notes.swift",
            Self.custom.replacing("{ var text: String = \"\" }", with: "{ var text: String = \"\"; var late: Int = 2 }")
        )
        let seen = try run("plan", "kept.store", "new.store", "--to", "App", "--unmapped-stages", "structure")
        #expect(seen.output.contains("The store is of no version of App"), "\(seen.output)\(seen.messages)")
        #expect(seen.output.contains("the nearest is V2, which differs in Note"), "\(seen.output)")
        #expect(seen.output.contains("Note.mark is in the model only"), "\(seen.output)")
        #expect(seen.code == 0)
        let refused = try run("plan", "kept.store", "new.store", "--to", "App")
        #expect(
            refused.code == 78 && refused.messages.contains("nobody knows if it lies before"), "\(refused.messages)")
    }

    @Test("A required property whose initial value is an expression is asked for by name")
    func expressions() throws {
        try makeNotes()
        try write("App/Notes.swift", Self.custom.replacing("var length: Int = 0", with: "var mine: UUID = UUID()"))
        let outcome = try run(
            "migrate", "old.store", "new.store", "--to", "App", "--unchecked", "allow", "--unmapped-stages",
            "structure")
        #expect(outcome.code == 65 && outcome.messages.contains("property mine"), "\(outcome.messages)")
        #expect(outcome.messages.contains("The sources give it UUID()"), "\(outcome.messages)")
        // What the message offers is an expression that gives each object a UUID.
        let offered =
            "\"mine\": \"FUNCTION($stagecoach, 'uuidFromName:', $source.objectID.URIRepresentation.absoluteString)\""
        #expect(outcome.messages.contains(offered), "\(outcome.messages)")
        #expect(try run("infer", "--from", "App:V2", "--to", "App:V3", "-o", "stage.json").code == 0)
        let text = try String(contentsOfFile: folder.file("stage.json"), encoding: .utf8)
        try write("stage.json", text.replacing("\"mine\": null", with: offered))
        let mapped = try run(
            "migrate", "old.store", "new.store", "--to", "App", "--unchecked", "allow", "--mapping",
            "V2..V3=stage.json")
        #expect(mapped.code == 0, "\(mapped.messages)")
    }

    @Test("The case that an enumeration begins with is its default, and one that no column has is named")
    func cases() throws {
        try makeNotes()
        let kinds = "enum Kind: String, Codable { case plain = \"p\", rich }\nenum Day: Codable { case first, last }\n"
        let members = "var kind: Kind = Kind.plain; var day: Day = Day.first"
        try write("App/Notes.swift", Self.custom.replacing("var length: Int = 0", with: members) + kinds)
        let outcome = try run(
            "migrate", "old.store", "new.store", "--to", "App", "--unchecked", "allow", "--unmapped-stages",
            "structure")
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(outcome.output.contains("Note.day begins with Day.first in the sources"), "\(outcome.output)")
        #expect(!outcome.output.contains("Note.kind begins"))
        let rows = try ReferenceStore.read(path: folder.file("new.store"), model: model("App:V3"))
        let kind = try #require(rows.schema.tables[0].columns.firstIndex { $0.name == "ZKIND" })
        #expect(rows.tables[0][2]?.values[kind] == .text("p"))
        #expect(try run("verify", "old.store", "new.store", "--to", "App", "--unmapped-stages", "structure").code == 0)
    }

    @Test("A required structure whose initial value is an expression is asked for by the name of its element")
    func expressionsOfStructures() throws {
        try makeNotes()
        let place = "struct Place: Codable { var height: Double }\n"
        let text = Self.custom.replacing("var length: Int = 0", with: "var place: Place = Place(height: 1)")
        try write("App/Notes.swift", text + place)
        let outcome = try run(
            "migrate", "old.store", "new.store", "--to", "App", "--unchecked", "allow", "--unmapped-stages",
            "structure")
        #expect(outcome.code == 65 && outcome.messages.contains("property place.height"), "\(outcome.messages)")
        #expect(outcome.messages.contains("The sources give it Place(height: 1)"), "\(outcome.messages)")
    }

    @Test("A refusal of the sources names file and line, and other folders are no models")
    func refusals() throws {
        try makeNotes()
        try write("Bad/Spot.swift", "import SwiftData\n@Model final class Spot {\n    var place: CLLocation\n}\n")
        let spot = try run("inspect", "Bad")
        #expect(spot.code == 78 && spot.messages.contains("Bad/Spot.swift:3"), "\(spot.messages)")
        try write("Plain/A.swift", "struct A {}\n")
        #expect(try run("inspect", "Plain").code == 78)
        #expect(try run("migrate", "old.store", "new.store", "--to", "App:V9", "--unchecked", "allow").code == 66)
    }
}
