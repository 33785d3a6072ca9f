import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@Suite("Stores of type XML and binary on the command line")
struct CommandAtomicTests {
    @Test("A store through XML and back is the same store")
    func roundTrip() throws {
        let fixture = try AtomicFixture()
        try fixture.make()
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
        let fixture = try AtomicFixture()
        try fixture.make()
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
        let fixture = try AtomicFixture()
        try fixture.make()
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
        let fixture = try AtomicFixture()
        try fixture.make()
        let new = fixture.folder.file("new")
        let kinds: [(code: Int32, words: String, arguments: [String])] = [
            (78, "The store is of type XML, not SQLite", [fixture.xml, new, "--source-type", "sqlite"]),
            (78, "The store is of type SQLite, not XML", [fixture.sqlite, new, "--source-type", "xml"]),
            (64, "--append", [fixture.xml, new, "--append", "--destination-type", "xml"]),
            (64, "knows sqlite, xml, binary, not 'memory'", [fixture.xml, new, "--destination-type", "memory"]),
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

    @Test("Messages about an XML store name it, not its private one, and say how its numbers become keys")
    func words() throws {
        let fixture = try AtomicFixture()
        try fixture.make()
        let missing = try CommandBinary.run(
            ["explain", fixture.xml, "Book/p2", "--from", fixture.model(1), "--to", fixture.model(2)])
        #expect(missing.code == 66 && missing.messages.contains("\(fixture.xml): The store has no object Book/p2"))
        let new = fixture.folder.file("new.sqlite")
        let planned = try CommandBinary.run(["plan", fixture.xml, new, "--to", fixture.model(1)])
        #expect(planned.output.contains("keep their numbers as keys: z102 becomes key 102"), "\(planned)")
        #expect(planned.output.contains("its version hashes"))
        let inferred = try CommandBinary.run(["infer", "--from", fixture.xml, "--to", fixture.model(1)])
        #expect(inferred.code == 0 && inferred.output.contains("entityMappings"), "\(inferred)")
        let copy = fixture.folder.file("copy.xml")
        try FileManager.default.copyItem(atPath: fixture.xml, toPath: copy)
        let verified = try fixture.run("verify", fixture.xml, copy, 1, 1, "--destination-type", "sqlite")
        #expect(verified.code == 78 && verified.messages.contains("The store is of type XML, not SQLite"))
    }

    @Test(
        "Keys that two tables share become numbers of one series, and are verified as keys",
        arguments: ["xml", "binary"])
    func sharedKeys(type: String) throws {
        let fixture = try AtomicFixture()
        try fixture.make()
        let (sqlite, made) = (fixture.folder.file("shared.sqlite"), fixture.folder.file("made." + type))
        #expect(try fixture.run("migrate", fixture.xml, sqlite, 1, 1, "--keys", "sequential").code == 0)
        let migrated = try fixture.run("migrate", sqlite, made, 1, 2, "--destination-type", type)
        #expect(migrated.code == 0 && migrated.output.contains("given by root entity"), "\(migrated)")
        let verified = try fixture.run("verify", sqlite, made, 1, 2)
        #expect(verified.code == 0 && verified.output.contains("All 53 objects recomputed"), "\(verified)")
        let sequential = fixture.folder.file("sequential." + type)
        #expect(
            try fixture.run(
                "migrate", fixture.xml, sequential, 1, 2, "--destination-type", type, "--keys", "sequential"
            ).code == 0)
        #expect(try fixture.run("verify", fixture.xml, sequential, 1, 2, "--keys", "sequential").code == 0)
        #expect(try fixture.run("verify", fixture.xml, sequential, 1, 2).code == 65)
    }

    @Test(
        "A chain, a mapping model with a filter, rejects and losses from a store of each type",
        arguments: ["xml", "binary"])
    func kinds(type: String) throws {
        let fixture = try AtomicFixture()
        let source = try fixture.make(type)
        let mapping = fixture.folder.file("books.json")
        try #"""
        {"formatVersion": 2, "unlisted": "infer", "entityMappings": [
          {"name": "Books", "sourceEntity": "Book", "destinationEntity": "Book", "sourceFilter": "title != 'Book 20'",
           "attributes": {"code": "$source.pages * 2", "pages": "$source.pages", "title": "uppercase($source.title)"}}
        ]}
        """#.write(toFile: mapping, atomically: true, encoding: .utf8)
        let lines: [(name: String, arguments: [String])] = [
            ("chain", ["--to", fixture.model(3), "--via", fixture.model(2)]),
            ("mapping", ["--to", fixture.model(3), "--mapping", mapping, "--set", "Book.note='seen'"]),
            ("sequential", ["--to", fixture.model(2), "--keys", "sequential"]),
        ]
        for line in lines {
            var results: [[String: Data]] = []
            for (path, name) in [(fixture.sqlite, "direct"), (source, "atomic")] {
                let folder = fixture.folder.file("\(line.name)-\(name)")
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                let rejects = ["--on-invalid", "reject", "--reject-file", "rejects.jsonl", "--from", fixture.model(1)]
                let outcome = try CommandBinary.run(
                    ["migrate", path, "new.sqlite", "--id-map", line.name + ".csv"] + line.arguments + rejects,
                    in: folder)
                #expect(outcome.code == 0, "\(line.name): \(outcome.messages)")
                if name == "atomic" {
                    let verified = try CommandBinary.run(
                        ["verify", path, "new.sqlite"] + line.arguments + rejects, in: folder)
                    #expect(line.name == "chain" || verified.code == 0, "\(verified)")
                }
                results.append(try CommandBinary.contents(of: folder))
            }
            let stores = try ["direct", "atomic"].map { name in
                try ReferenceStore.read(
                    path: fixture.folder.file("\(line.name)-\(name)/new.sqlite"),
                    model: fixture.versions[line.name == "sequential" ? 1 : 2])
            }
            #expect(stores[0].differences(from: stores[1]) == [], "\(line.name)")
            for name in ["rejects.jsonl", line.name + ".csv"] where results[0][name] != nil {
                #expect(results[0][name] == results[1][name], "\(line.name): \(name)")
            }
        }
        let rejects = try String(
            contentsOfFile: fixture.folder.file("chain-atomic/rejects.jsonl"), encoding: .utf8)
        #expect(rejects.contains("Book/p14") && !rejects.contains("Book/p15"))
        #expect(
            try String(contentsOfFile: fixture.folder.file("chain-atomic/chain.csv"), encoding: .utf8).contains("60"))
    }

    @Test("Losses of an XML store are refused before anything is written")
    func losses() throws {
        let fixture = try AtomicFixture()
        try fixture.make()
        let new = fixture.folder.file("new.xml")
        let mapping = fixture.folder.file("shelves.json")
        try #"""
        {"formatVersion": 2, "entityMappings": [
          {"name": "Shelves", "sourceEntity": "Shelf", "destinationEntity": "Shelf"}]}
        """#.write(toFile: mapping, atomically: true, encoding: .utf8)
        func run(_ more: String...) throws -> CommandBinary.Outcome {
            try CommandBinary.run(
                [
                    "migrate", fixture.xml, new, "--from", fixture.model(1), "--to", fixture.model(2), "--mapping",
                    mapping, "--destination-type", "xml",
                ] + more)
        }
        let refused = try run("--on-loss", "refuse")
        #expect(refused.code == 65 && refused.messages.contains("Book"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: new))
        #expect(try run("--on-loss", "allow").code == 0)
        #expect(try !String(contentsOfFile: new, encoding: .utf8).contains("Book 20"))
    }

    @Test("A batch reads XML stores, and writes them with their reports", arguments: ["xml", "binary"])
    func batch(type: String) throws {
        let fixture = try AtomicFixture()
        try fixture.make()
        let manifest = fixture.folder.file("stores.jsonl")
        let lines = ["first", "second"].map {
            #"{"source": "old.xml", "destination": "\#($0).made", "report": "\#($0).json", "from": "v1.mom"}"#
        }
        try lines.joined(separator: "\n").write(toFile: manifest, atomically: true, encoding: .utf8)
        func run() throws -> CommandBinary.Outcome {
            try CommandBinary.run(["batch", manifest, "--to", fixture.model(2), "--destination-type", type])
        }
        let outcome = try run()
        #expect(outcome.code == 0, "\(outcome)")
        for name in ["first", "second"] {
            let verified = try fixture.run("verify", fixture.xml, fixture.folder.file(name + ".made"), 1, 2)
            #expect(verified.code == 0, "\(verified)")
            let report = try String(contentsOfFile: fixture.folder.file(name + ".json"), encoding: .utf8)
            let size = try Data(contentsOf: URL(fileURLWithPath: fixture.folder.file(name + ".made"))).count
            #expect(report.contains(#""destinationBytes" : \#(size)"#) && report.contains("\(name).made"))
        }
        let again = try run()
        #expect(again.code == 0 && again.output.contains("skipped"), "\(again)")
    }

    @Test("A binary store is the same after a way through SQLite and XML")
    func binary() throws {
        let fixture = try AtomicFixture()
        let binary = try fixture.make("binary")
        #expect(try CommandBinary.run(["inspect", binary]).output.contains("a store of type Binary"))
        let (sqlite, xml, again) = (
            fixture.folder.file("b.sqlite"), fixture.folder.file("b.xml"), fixture.folder.file("b.binary")
        )
        #expect(try fixture.run("migrate", binary, sqlite, 1, 1).code == 0)
        #expect(try fixture.run("migrate", sqlite, xml, 1, 1, "--destination-type", "xml").code == 0)
        #expect(try fixture.run("migrate", xml, again, 1, 1, "--destination-type", "binary").code == 0)
        let files = try [binary, again].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        #expect(files[0] == files[1])
        let differences = try ReferenceStore.read(path: sqlite, model: fixture.versions[0])
            .differences(from: ReferenceStore.read(path: fixture.sqlite, model: fixture.versions[0]))
        #expect(differences == [])
    }

    @Test("A run that was killed with another destination in mind begins anew")
    func others() throws {
        let fixture = try AtomicFixture(last: 600)
        try fixture.make()
        func arguments(_ more: [String]) -> [String] {
            ["migrate", fixture.xml, "new.xml", "--from", fixture.model(1), "--to", fixture.model(2)]
                + ["--destination-type", "xml", "--batch-size", "20"] + more
        }
        let killed = try CommandBinary.run(
            arguments([]), in: fixture.folder.path,
            environment: FaultInjection.kill(atRecord: 3, in: fixture.folder.path))
        #expect(killed.code == -SIGKILL)
        let other = try CommandBinary.run(arguments(["--set", "Book.title='x'"]), in: fixture.folder.path)
        #expect(other.code == 75 || other.code == 78 || other.code == 65, "\(other)")
        #expect(other.messages.contains("--restart"), "\(other)")
        let anew = try CommandBinary.run(
            arguments(["--set", "Book.title='x'", "--restart"]), in: fixture.folder.path)
        #expect(anew.code == 0, "\(anew)")
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path)
        #expect(names.filter { $0.hasPrefix(".") || $0.hasPrefix("stagecoach") } == [])
    }

    @Test(
        "A real document of version 3 becomes one of version 4 with every value and link, as XML and through SQLite",
        .enabled(if: SharedStores.isPresent))
    func paw() throws {
        let folder = try TemporaryFolder()
        let shared = SharedStores.url.appendingPathComponent("xml")
        for (version, name) in [("3", "Paw-fw526-reconstructed"), ("4", "Paw-fw641-reconstructed")] {
            try FileManager.default.copyItem(
                atPath: shared.appendingPathComponent("\(name).contents").path,
                toPath: folder.file("Paw.xcdatamodeld/\(version).xcdatamodel/contents", making: true))
        }
        let source = shared.appendingPathComponent("pwabuilder.paw").path
        func migrate(_ source: String, _ destination: String, _ type: String) throws {
            let outcome = try CommandBinary.run(
                ["migrate", source, destination, "--to", "Paw.xcdatamodeld:4", "--destination-type", type],
                in: folder.path)
            #expect(outcome.code == 0, "\(outcome)")
        }
        try migrate(source, "direct.xml", "xml")
        try migrate(source, "new.sqlite", "sqlite")
        try migrate("new.sqlite", "second.xml", "xml")
        // The new attributes have no values. Attributes and links come in any order.
        func objects(_ path: String) throws -> Set<[String]> {
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let body = text.components(separatedBy: "</databaseInfo>").last ?? ""
            let parts = body.replacing(/idrefs="([^"]*)"/) { match in
                match.1.split(separator: " ").sorted().joined(separator: " ")
            }.components(separatedBy: "</object>")
            return Set(parts.dropLast().map { $0.components(separatedBy: "\n").sorted() })
        }
        let original = try objects(source)
        #expect(original.count == 31)
        #expect(try objects(folder.file("direct.xml")) == original)
        #expect(try objects(folder.file("second.xml")) == original)
    }
}
