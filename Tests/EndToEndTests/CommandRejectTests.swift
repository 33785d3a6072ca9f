import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import TestSupport
import Testing

/// Invalid objects with the built command: fail, reject, check.
@Suite("Invalid objects with the built command")
struct CommandRejectTests {
    private static let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld")
        .path
    private static let from = models + ":Orders"

    /// A store of orders with one object for each rule, and those that need them.
    ///
    /// Customer 1 is fine; 2 has no name, 3 is too old, 4 has no email address, 5 has that of 1. Orders 1 to 5 are theirs,
    /// with two lines each; order 6 has no customer, 7 one line, 8 four, 9 was placed too early, 10 has no number.
    private func store(in folder: TemporaryFolder) throws -> String {
        let path = folder.file("old.sqlite")
        let loaded = try ModelLocator.load(Self.from)
        try ReferenceStore.make(loaded.model) { store in
            for key in 1...5 as ClosedRange<Int64> {
                store.insert(
                    "Customer", key,
                    [
                        "age": .integer(key == 3 ? 200 : 30), "name": key == 2 ? .null : .text("Customer \(key)"),
                        "email": .text(["", "a@b", "c@d", "e@f", "nowhere", "a@b"][Int(key)]),
                    ])
            }
            var line: Int64 = 0
            for key in 1...10 as ClosedRange<Int64> {
                store.insert(
                    "Order", key,
                    [
                        "number": key == 10 ? .null : .integer(key * 100),
                        "placedAt": .real(key == 9 ? -86_400 : 86_400),
                    ],
                    toOne: key == 6 ? [:] : ["customer": key < 6 ? key : 1])
                for _ in 0..<(key == 7 ? 1 : key == 8 ? 4 : 2) {
                    line += 1
                    store.insert("Line", line, ["code": .text("L\(line)")], toOne: ["order": key])
                }
            }
        }.write(path: path)
        return path
    }

    /// Source objects that are left out, with property and rule.
    private static let expected = [
        "Customer/p2 name required", "Customer/p3 age maximum", "Customer/p4 email pattern", "Customer/p5 email unique",
        "Line/p3 order reference", "Line/p4 order reference", "Line/p5 order reference", "Line/p6 order reference",
        "Line/p7 order reference", "Line/p8 order reference", "Line/p9 order reference", "Line/p10 order reference",
        "Line/p11 order reference", "Line/p12 order reference", "Line/p13 order reference", "Line/p14 order reference",
        "Line/p15 order reference", "Line/p16 order reference", "Line/p17 order reference", "Line/p18 order reference",
        "Line/p19 order reference", "Line/p20 order reference", "Line/p21 order reference",
        "Order/p2 customer reference", "Order/p3 customer reference", "Order/p4 customer reference",
        "Order/p5 customer reference", "Order/p6 customer required", "Order/p7 lines minimumCount",
        "Order/p8 lines maximumCount", "Order/p9 placedAt minimum", "Order/p10 number required",
    ]

    @Test("fail names the object, its source, property, value and mapping, and writes nothing")
    func fail() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder)
        let before = try CommandBinary.contents(of: folder.path)
        let outcome = try CommandBinary.run(
            ["migrate", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.models])
        #expect(outcome.code == 65)
        #expect(outcome.output.isEmpty)
        #expect(
            outcome.messages.contains(
                "A required attribute has no value (source object Customer/p2, entity mapping IEM_Transform_Customer, "
                    + "entity Customer, object Customer/p2, property name)"), "\(outcome.messages)")
        #expect(outcome.messages.contains("--on-invalid reject"))
        #expect(try CommandBinary.contents(of: folder.path) == before)
    }

    @Test(
        "reject leaves objects out with all that needs them, lists and counts them", arguments: ["kept", "sequential"])
    func reject(keys: String) throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder)
        let outcome = try CommandBinary.run(
            [
                "migrate", source, "new.sqlite", "--from", Self.from, "--to", Self.models, "--on-invalid", "reject",
                "--reject-file", "rejects.jsonl", "--max-rejects", "32", "--keys", keys, "--check", "full", "--json",
            ], in: folder.path)
        #expect(outcome.code == 0 && outcome.messages.isEmpty, "\(outcome.messages)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                == ["new.sqlite", "old.sqlite", "rejects.jsonl"])
        let text = try String(contentsOfFile: folder.file("rejects.jsonl"), encoding: .utf8)
        let objects = try text.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let found = objects.map { "\($0["sourceID"] ?? "") \($0["property"] ?? "") \($0["rule"] ?? "")" }
        #expect(found == Self.expected)
        #expect(
            text.hasPrefix(
                #"{"entity":"Customer","id":"Customer/p2","sourceID":"Customer/p2","property":"name","rule":"required","value":null,"mapping":"IEM_Transform_Customer"}"#
            ), "\(text.prefix(200))")
        #expect(objects[1]["value"] as? String == "200")
        #expect(objects[3]["value"] as? String == "a@b")
        #expect(objects[4]["value"] as? String == "Order/p2")

        let report = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        let rejects = try #require(report["rejects"] as? [String: Any])
        #expect(rejects["objects"] as? Int == Self.expected.count)
        #expect(
            rejects["byRule"] as? [String: Int] == [
                "required": 3, "maximum": 1, "pattern": 1, "unique": 1, "reference": 23, "minimumCount": 1,
                "maximumCount": 1, "minimum": 1,
            ])
        #expect(rejects["byEntity"] as? [String: Int] == ["Customer": 4, "Order": 9, "Line": 19])
        let counts = try #require(report["counts"] as? [String: Any])
        let mappings = try #require(counts["mappings"] as? [[String: Any]])
        for line in mappings {
            func figure(_ name: String) -> Int { line[name] as? Int ?? -1 }
            #expect(
                figure("sourceObjects")
                    == figure("migrated") + figure("filtered") + figure("droppedByPolicy") + figure("rejected"))
            #expect(figure("rejected") > 0 && figure("created") == figure("migrated"))
        }
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM ZCUSTOMER") == 1)
        #expect(try connection.integer("SELECT count(*) FROM ZORDER") == 1)
        #expect(try connection.integer("SELECT count(*) FROM ZLINE") == 2)
        #expect(try connection.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Line'") == 21)
    }

    @Test("more rejects than allowed end the run without a store, and the reject file says which")
    func limit() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder)
        var before = try CommandBinary.contents(of: folder.path)
        func run(_ limit: Int, _ file: String?) throws -> CommandBinary.Outcome {
            try CommandBinary.run(
                [
                    "migrate", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.models,
                    "--on-invalid=reject", "--max-rejects=\(limit)",
                ] + (file.map { ["--reject-file", folder.file($0)] } ?? []))
        }
        let bare = try run(31, nil)
        #expect(bare.code == 65 && bare.messages.contains("stagecoach check"), "\(bare.messages)")
        #expect(try CommandBinary.contents(of: folder.path) == before)
        let outcome = try run(31, "rejects.jsonl")
        #expect(outcome.code == 65)
        #expect(outcome.messages.contains("32 objects would be rejected"), "\(outcome.messages)")
        #expect(outcome.messages.contains("and 31 are allowed"))
        #expect(outcome.messages.contains(folder.file("rejects.jsonl")), "\(outcome.messages)")
        let written = try String(contentsOfFile: folder.file("rejects.jsonl"), encoding: .utf8)
        before["rejects.jsonl"] = Data(written.utf8)
        #expect(try CommandBinary.contents(of: folder.path) == before)
        // The file is the one that a run without the limit writes.
        #expect(try run(32, "all.jsonl").code == 0)
        #expect(try String(contentsOfFile: folder.file("all.jsonl"), encoding: .utf8) == written)
    }

    @Test("a survivor keeps the objects that a rejected one claimed too, and verify agrees")
    func survivors() throws {
        let folder = try TemporaryFolder()
        func entities(_ rule: String, _ player: String) -> String {
            """
            <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0"><entity name="Team" syncable="YES">
            <attribute name="code" attributeType="Integer 16" optional="YES"/>
            <relationship name="players" optional="YES" toMany="YES" inverseName="team" inverseEntity="Player" \
            deletionRule="Nullify" destinationEntity="Player"/>\(rule)</entity><entity name="Player" syncable="YES">
            <relationship name="team" \(player) inverseName="players" inverseEntity="Team" deletionRule="Nullify" \
            destinationEntity="Team"/></entity></model>
            """
        }
        let constraint =
            "<uniquenessConstraints><uniquenessConstraint><constraint value=\"code\"/>"
            + "</uniquenessConstraint></uniquenessConstraints>"
        for (name, text) in [
            ("Club", entities("", "optional=\"YES\" toMany=\"YES\"")),
            // A player needs a team: one who would lose it is not rejected while another team claims the player.
            ("Club 2", entities(constraint, "maxCount=\"1\"")),
        ] {
            let version = folder.url.appendingPathComponent("Club.xcdatamodeld/\(name).xcdatamodel")
            try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: version.appendingPathComponent("contents"))
        }
        try Data(
            """
            {"formatVersion": 2, "entityMappings": [
                {"sourceEntity": "Team", "destinationEntity": "Team", "relationships": {"players": "FUNCTION($manager, \
            'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Players', $source.players)"}},
                {"name": "Players", "sourceEntity": "Player", "destinationEntity": "Player",
                 "relationships": {"team": null}}]}
            """.utf8
        ).write(to: folder.url.appendingPathComponent("map.json"))
        let models = folder.file("Club.xcdatamodeld")
        try ReferenceStore.make(ModelLocator.load(models + ":Club").model) { store in
            for player in 1...4 as ClosedRange<Int64> { store.insert("Player", player) }
            for (key, members) in [(1, [1, 2]), (2, [2, 3]), (3, [1, 3, 4])] as [(Int64, [Int64])] {
                store.insert("Team", key, ["code": .integer(key % 2)])
                store.setMembers("Team", key, "players", members)
            }
        }.write(path: folder.file("old.sqlite"))
        let arguments =
            ["old.sqlite", "new.sqlite", "--from", models + ":Club", "--to", models + ":Club 2"]
            + ["--mapping", "map.json", "--on-invalid", "reject", "--reject-file", "rejects.jsonl"]
        let outcome = try CommandBinary.run(["migrate"] + arguments, in: folder.path)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let rejects = try String(contentsOfFile: folder.file("rejects.jsonl"), encoding: .utf8).split(separator: "\n")
        #expect(rejects.count == 2 && rejects[0].contains("Player/p4") && rejects[1].contains("Team/p3"), "\(rejects)")
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        // The last of the remaining teams has each player.
        for (player, team) in [(1, 1), (2, 2), (3, 2)] as [(Int64, Int64)] {
            #expect(try connection.integer("SELECT ZTEAM FROM ZPLAYER WHERE Z_PK = \(player)") == team)
        }
        try connection.close()
        let verified = try CommandBinary.run(["verify"] + arguments, in: folder.path)
        #expect(verified.code == 0, "\(verified.output)\(verified.messages)")
    }

    @Test("an existing reject file is refused and stays")
    func fileExists() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder)
        try Data("mine".utf8).write(to: folder.url.appendingPathComponent("rejects.jsonl"))
        let before = try CommandBinary.contents(of: folder.path)
        let outcome = try CommandBinary.run([
            "migrate", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.models,
            "--on-invalid", "reject", "--reject-file", folder.file("rejects.jsonl"),
        ])
        #expect(outcome.code == 73, "\(outcome.messages)")
        #expect(try CommandBinary.contents(of: folder.path) == before)
    }

    @Test("the options for rejects need each other")
    func usage() throws {
        for option in [["--reject-file", "x"], ["--max-rejects", "3"]] {
            let outcome = try CommandBinary.run(["migrate", "a", "b", "--to", "m"] + option)
            #expect(outcome.code == 64)
            #expect(outcome.messages.contains("option '\(option[0])' needs '--on-invalid reject'"))
        }
    }

    @Test("check counts every broken rule and touches nothing")
    func check() throws {
        let folder = try TemporaryFolder()
        let temporary = try TemporaryFolder()
        let source = try store(in: folder)
        let before = try CommandBinary.contents(of: folder.path)
        let environment = ["TMPDIR": temporary.path]
        let outcome = try CommandBinary.run(
            ["check", source, "--from", Self.from, "--to", Self.models], in: folder.path, environment: environment)
        #expect(outcome.code == 65)
        #expect(
            outcome.messages == "stagecoach: A migration would fail: rules are broken 9 times\n", "\(outcome.messages)")
        for line in [
            "Customer  name", "maximum ", "Customer/p3 '200'", "Order/p9 '2000-12-31T00:00:00Z'",
            "A migration would fail; --on-invalid reject would leave out 32 objects.",
        ] {
            #expect(outcome.output.contains(line), "\(line)\n\(outcome.output)")
        }
        let json = try CommandBinary.run(
            [
                "check", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.models, "--json",
                "--on-invalid", "reject",
            ], environment: environment)
        #expect(json.code == 0, "\(json.messages)")
        let report = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect(report["fails"] as? Bool == false)
        #expect(report["rejectedObjects"] as? Int == 32)
        let violations = try #require(report["violations"] as? [[String: Any]])
        #expect(
            violations.map { "\($0["entity"] ?? "").\($0["property"] ?? "") \($0["rule"] ?? "") \($0["count"] ?? "")" }
                == [
                    "Customer.age maximum 1", "Customer.email pattern 1", "Customer.email unique 1",
                    "Customer.name required 1", "Order.customer required 1", "Order.lines maximumCount 1",
                    "Order.lines minimumCount 1", "Order.number required 1", "Order.placedAt minimum 1",
                ])
        #expect(try CommandBinary.contents(of: folder.path) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
    }

    @Test("check of a valid store is 0")
    func checkValid() throws {
        let outcome = try CommandBinary.run([
            "check", try CommandBinary.librarySource(), "--to", CommandBinary.models, "--memory-limit",
            Instrumentation.limit("64M"),
        ])
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(outcome.output.contains("No object breaks a rule."), "\(outcome.output)")
    }
}
