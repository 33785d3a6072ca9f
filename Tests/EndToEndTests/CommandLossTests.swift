import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import StagecoachCommand

@Suite("The command's words for data that stays behind")
struct CommandLossTests {
    /// Fifty authors, of whom forty have a name, and the next version without that name's identifier.
    private struct Fixture {
        let folder: TemporaryFolder
        let store: String
        let old: String
        let model: String

        init() throws {
            folder = try TemporaryFolder()
            store = folder.file("old.sqlite")
            old = folder.file("old.mom")
            model = folder.file("new.mom")
            let versions = try ["name", "fullName"].map { name in
                var author = EntityDefinition(name: "Author")
                author.attributes = [AttributeDefinition(name: name, type: .string)]
                author.attributes[0].isOptional = true
                var definition = ModelDefinition()
                definition.entities = [author]
                return try ManagedObjectModel(definition)
            }
            try ReferenceStore.make(versions[0]) { store in
                for key in 1...Int64(50) {
                    store.insert("Author", key, ["name": key % 5 == 0 ? .null : .text("name \(key)")])
                }
            }.write(path: store)
            for (version, path) in zip(versions, [old, model]) {
                try Data(try ModelArchive.encode(version)).write(to: URL(fileURLWithPath: path))
            }
        }

        func run(_ command: String, _ arguments: String...) throws -> CommandBinary.Outcome {
            try CommandBinary.run(
                [command, store, folder.file("new.sqlite"), "--from", old, "--to", model] + arguments)
        }
    }

    @Test("migrate: summary, page and JSON name the values and how to keep them")
    func migrate() throws {
        let fixture = try Fixture()
        let page = fixture.folder.file("report.html")
        let done = try fixture.run("migrate", "--report", page, "--report", fixture.folder.file("report.json"))
        #expect(done.code == 0)
        #expect(done.output.contains("Left behind, 40 values"))
        #expect(done.output.contains("40 values  Author.name  is read by no entity mapping"))
        #expect(done.output.contains(#""fullName": "$source.name" in the entity mapping"#))
        let text = try String(contentsOfFile: page, encoding: .utf8)
        #expect(text.contains(#"<div class="verdict warn">Migrated: 40 values left out</div>"#))
        #expect(text.contains("in all, of 50 objects of the store"))
        let json = try #require(
            try JSONSerialization.jsonObject(
                with: Data(contentsOf: URL(fileURLWithPath: fixture.folder.file("report.json")))) as? [String: Any])
        let left = try #require(json["leftBehind"] as? [String: Any])
        #expect(left["values"] as? Int == 40 && json["sourceObjects"] as? Int == 50)
    }

    @Test("allow gives no warning")
    func allowed() throws {
        let fixture = try Fixture()
        let page = fixture.folder.file("report.html")
        #expect(try fixture.run("migrate", "--on-loss", "allow", "--report", page).code == 0)
        #expect(
            try String(contentsOfFile: page, encoding: .utf8).contains(#"<div class="verdict good">Migrated</div>"#))
    }

    @Test("plan, check and migrate refuse what they are told to refuse", arguments: ["plan", "check", "migrate"])
    func refused(command: String) throws {
        let fixture = try Fixture()
        let refused = try fixture.run(command, "--on-loss", "refuse")
        #expect(refused.code == 65)
        #expect(refused.messages.contains("Author.name, 40 values, is read by no entity mapping"))
        #expect(refused.messages.contains("--on-loss warn"))
        #expect(!FileManager.default.fileExists(atPath: fixture.folder.file("new.sqlite")))
    }

    @Test("check does not say that all is well alone")
    func check() throws {
        let checked = try Fixture().run("check")
        #expect(checked.code == 0)
        #expect(
            checked.output.contains("No object breaks a rule, and the migration would leave 40 values behind."))
    }

    @Test("batch: lines, columns, and the stores with losses", arguments: [1, 2])
    func batch(jobs: Int) throws {
        let fixture = try Fixture()
        let results = fixture.folder.file("results.jsonl")
        let table = fixture.folder.file("batch.csv")
        let arguments = [
            "batch", fixture.store, "--into", fixture.folder.file("out"), "--from", fixture.old, "--to", fixture.model,
            "--results", results, "--jobs", "\(jobs)", "--memory-limit", Instrumentation.limit("400M"),
        ]
        let done = try CommandBinary.run(arguments + ["--report", table])
        #expect(done.code == 0)
        #expect(done.output.contains("done, left out") && done.output.contains("40 values left out"))
        #expect(done.output.contains("with losses") && done.output.contains("1 store, 40 values left out"))
        let rows = try CommaSeparatedValues.rows(String(contentsOfFile: table, encoding: .utf8)).map(\.fields)
        let column = try #require(rows[0].firstIndex(of: "leftOutValues"))
        #expect(rows[1][column] == "40" && rows[0].contains("nilReferences") && rows[0].contains("rejected"))
        let again = try CommandBinary.run(arguments)
        #expect(again.output.contains("skipped") && again.output.contains("1 store, 40 values left out"))
        #expect(try CommandBinary.run(["merge-reports", results]).output.contains("1 store, 40 values left out"))
    }

    @Test("What --allow-loss names is left out on purpose, in an option and in a manifest")
    func meant() throws {
        let fixture = try Fixture()
        for command in ["plan", "check", "migrate"] {
            let page = fixture.folder.file("\(command).html")
            let reports = command == "plan" ? [] : ["--report", page]
            let done = try CommandBinary.run(
                [
                    command, fixture.store, fixture.folder.file("new.sqlite"), "--from", fixture.old, "--to",
                    fixture.model,
                ]
                    + ["--on-loss", "refuse", "--allow-loss", "Author.name"] + reports)
            #expect(done.code == 0, "\(done.messages)")
            #expect(done.output.contains("Left out on purpose: Author.name (40 values)"))
            #expect(!done.output.contains("Left behind"))
            guard command != "plan" else { continue }
            let text = try String(contentsOfFile: page, encoding: .utf8)
            #expect(text.contains(#"<div class="verdict good">"#) && text.contains(#"id="left-on-purpose""#))
        }
        let wrong = try fixture.run("plan", "--allow-loss", "Author.nam")
        #expect(wrong.code == 78 && wrong.messages.contains("Did you mean 'name'?"))
        let manifest = fixture.folder.file("stores.jsonl")
        let line = #"{"source": "\#(fixture.store)", "destination": "many.sqlite", "allowLoss": ["Author.name"]}"#
        try line.write(toFile: manifest, atomically: false, encoding: .utf8)
        let batch = try CommandBinary.run([
            "batch", manifest, "--from", fixture.old, "--to", fixture.model, "--on-loss", "refuse",
        ])
        #expect(batch.code == 0, "\(batch.output)")
    }

    @Test(
        "Objects that pass no filter: plan, check, migrate, page and JSON", arguments: [nil, "--allow-loss", "losses"])
    func passesNoFilter(declared: String?) throws {
        let fixture = try Fixture()
        let file = fixture.folder.file("map.json")
        func mapping(_ name: String, _ filter: String) -> String {
            #"{"name": "\#(name)", "sourceEntity": "Author", "destinationEntity": "Author", "sourceFilter": "\#(filter)","#
                + #" "attributes": {"fullName": "$source.name"}}"#
        }
        let losses = declared == "losses" ? #" "losses": ["Author"],"# : ""
        let parts = [mapping("A", "name < 'name 3'"), mapping("B", "name >= 'name 3'")].joined(separator: ", ")
        try #"{"formatVersion": 2,\#(losses) "entityMappings": [\#(parts)]}"#
            .write(toFile: file, atomically: false, encoding: .utf8)
        let allowed = declared == "--allow-loss" ? ["--allow-loss", "Author"] : []
        let sentence =
            "10 Author pass no filter and become nothing\(declared == nil ? "" : ", on purpose") "
            + "(Author/p5, Author/p10, Author/p15, Author/p20, Author/p25, …)"
        for command in ["plan", "check", "migrate"] {
            func run(_ more: [String]) throws -> CommandBinary.Outcome {
                try CommandBinary.run(
                    [command, fixture.store, fixture.folder.file("new.sqlite"), "--from", fixture.old]
                        + ["--to", fixture.model, "--mapping", file] + allowed + more)
            }
            let refused = try run(["--on-loss", "refuse"] + (command == "migrate" ? ["--dry-run"] : []))
            #expect(refused.code == (declared == nil ? 65 : 0))
            #expect((refused.output + refused.messages).contains(sentence))
            #expect(!FileManager.default.fileExists(atPath: fixture.folder.file("new.sqlite")))
            let page = fixture.folder.file("\(command).html")
            let done = try run(command == "plan" ? [] : ["--report", page])
            #expect(done.code == 0 && done.output.contains(sentence))
            guard command != "plan" else { continue }
            let text = try String(contentsOfFile: page, encoding: .utf8)
            #expect(text.contains(#"<div class="verdict \#(declared == nil ? "warn" : "good")">"#))
            #expect(text.contains(#"id="passes-no-filter""#))
        }
    }

    /// Person 1 is in two clubs, and in the next version a person has one.
    private static func clubs(_ command: String, _ arguments: String...) throws -> (CommandBinary.Outcome, page: String)
    {
        let folder = try TemporaryFolder()
        func version(_ name: String, isToMany: Bool) throws -> ManagedObjectModel {
            var (person, club) = (EntityDefinition(name: "Person"), EntityDefinition(name: "Club"))
            var clubs = RelationshipDefinition(name: name, destinationEntityName: "Club")
            (clubs.inverseName, clubs.isOptional, clubs.isToMany) = ("members", true, isToMany)
            if !isToMany { clubs.maximumCount = 1 }
            var members = RelationshipDefinition(name: "members", destinationEntityName: "Person")
            (members.inverseName, members.isOptional, members.isToMany) = (name, true, true)
            (person.relationships, club.relationships) = ([clubs], [members])
            var definition = ModelDefinition()
            definition.entities = [person, club]
            return try ManagedObjectModel(definition)
        }
        let old = try version("clubs", isToMany: true)
        try ReferenceStore.make(old) { store in
            store.insert("Person", 1)
            for key in 1...Int64(2) { store.insert("Club", key) }
            store.setMembers("Person", 1, "clubs", [1, 2])
        }.write(path: folder.file("old.sqlite"))
        for (name, model) in [("old.mom", old), ("new.mom", try version("club", isToMany: false))] {
            try Data(try ModelArchive.encode(model)).write(to: URL(fileURLWithPath: folder.file(name)))
        }
        try Data(
            """
            {"formatVersion": 2, "entityMappings": [
            {"name": "Person", "sourceEntity": "Person", "destinationEntity": "Person", "relationships": {"club": null}},
            {"name": "Club", "sourceEntity": "Club", "destinationEntity": "Club", "relationships": {"members":
            "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Person', $source.members)"}}]}
            """.utf8
        ).write(to: URL(fileURLWithPath: folder.file("map.json")))
        let stores = [folder.file("old.sqlite")] + (command == "check" ? [] : [folder.file("new.sqlite")])
        let outcome = try CommandBinary.run(
            [command] + stores + [
                "--from", folder.file("old.mom"), "--to", folder.file("new.mom"), "--mapping", folder.file("map.json"),
                "--report", folder.file("report.html"),
            ] + arguments)
        return (outcome, try String(contentsOfFile: folder.file("report.html"), encoding: .utf8))
    }

    @Test("A lost link is in the verdict of migrate and of check, and no warning where it is allowed")
    func lostLinks() throws {
        let (migrated, page) = try Self.clubs("migrate")
        #expect(migrated.code == 0 && page.contains(#"<div class="verdict warn">Migrated: 1 link not made</div>"#))
        let (checked, checkPage) = try Self.clubs("check")
        #expect(checked.output.contains("No object breaks a rule, and 1 link would not be made."))
        #expect(checkPage.contains(#"<div class="verdict warn">"#))
        let (allowed, allowedPage) = try Self.clubs("migrate", "--on-loss", "allow")
        #expect(allowed.code == 0 && allowedPage.contains(#"<div class="verdict good">Migrated</div>"#))
    }
}
