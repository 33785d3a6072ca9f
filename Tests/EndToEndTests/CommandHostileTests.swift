import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import TestSupport
import Testing

/// Hostile contents of stores, models and mapping models, with the built command: an error or a right result, never a crash
/// or a hang, and nothing outside the destination.
@Suite("Hostile inputs with the built command")
struct CommandHostileTests {
    private static let bundle = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld")
        .path
    private static let from = bundle + ":Orders"

    private func store(in folder: TemporaryFolder, _ sql: String = "") throws -> String {
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(try ModelLocator.load(Self.from).model) { store in
            store.insert(
                "Customer", 1,
                ["age": .integer(30), "name": .text("it's \"a\"; DROP--"), "email": .text("a@b")])
            for key in 1...3 as ClosedRange<Int64> {
                store.insert(
                    "Order", key, ["number": .integer(key), "placedAt": .real(86_400)], toOne: ["customer": 1])
                for line in 0..<2 as Range<Int64> {
                    store.insert("Line", key * 2 + line, ["code": .text("L\(key)\(line)")], toOne: ["order": key])
                }
            }
        }.write(path: path)
        if !sql.isEmpty {
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
            try connection.execute(sql)
            try connection.close()
        }
        return path
    }

    private func migrate(
        _ source: String, _ folder: TemporaryFolder, _ more: [String] = []
    ) throws -> CommandBinary.Outcome {
        try CommandBinary.run(
            ["migrate", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.bundle] + more)
    }

    @Test("Values with quotes, NULs and SQL come over as they are, and verify agrees")
    func values() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder, "UPDATE ZLINE SET ZCODE = 'a' || char(0) || ''' OR 1=1; --' WHERE Z_PK = 3")
        let migrated = try migrate(source, folder)
        #expect(migrated.code == 0, "\(migrated.messages)")
        let verified = try CommandBinary.run(
            ["verify", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.bundle])
        #expect(verified.code == 0, "\(verified.output)\(verified.messages)")
        #expect(verified.output.contains("The destination is what the migration makes."))
    }

    @Test("verify exits with 65 and names object, property, expected and found")
    func damaged() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder)
        let migrated = try migrate(source, folder)
        #expect(migrated.code == 0, "\(migrated.messages)")
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
        try connection.execute("UPDATE ZCUSTOMER SET ZAGE = 31")
        try connection.close()
        let arguments = ["verify", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.bundle]
        let outcome = try CommandBinary.run(arguments)
        #expect(outcome.code == 65)
        #expect(outcome.output.contains("wrong value: Customer/p1 age: expected 30, found 31"), "\(outcome.output)")
        let json = try CommandBinary.run(arguments + ["--json"])
        #expect(json.code == 65)
        let report = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        let first = (report?["differences"] as? [[String: Any]])?.first
        #expect(first?["objectID"] as? String == "Customer/p1" && first?["found"] as? String == "31")
    }

    @Test("verify shows no value's bytes that a terminal would obey")
    func terminal() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder)
        let migrated = try migrate(source, folder)
        #expect(migrated.code == 0, "\(migrated.messages)")
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
        try connection.execute("UPDATE ZCUSTOMER SET ZNAME = 'a' || char(27) || '[2J' || char(10) || 'b'")
        try connection.close()
        let outcome = try CommandBinary.run(
            ["verify", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.bundle])
        #expect(outcome.code == 65)
        #expect(outcome.output.contains("found \"a [2J b\""), "\(outcome.output)")
        #expect(!outcome.output.contains("\u{1b}"))
    }

    @Test("Triggers, views and virtual tables of a store do not run")
    func schema() throws {
        for sql in [
            "CREATE TRIGGER t AFTER INSERT ON ZORDER BEGIN DELETE FROM ZLINE; END",
            "CREATE VIEW v AS SELECT load_extension('x') AS y",
            "CREATE VIRTUAL TABLE f USING fts4(a)",
            "ALTER TABLE ZLINE RENAME TO REAL; CREATE VIEW ZLINE AS SELECT * FROM REAL",
            "ALTER TABLE ZLINE RENAME TO REAL; CREATE VIEW ZLINE AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM r) SELECT x AS Z_PK, 1 AS Z_ENT, 1 AS Z_OPT, x AS ZORDER, 'a' AS ZCODE FROM r",
        ] {
            let folder = try TemporaryFolder()
            let source = try store(in: folder, sql)
            let before = try Data(contentsOf: URL(fileURLWithPath: source))
            let outcome = try migrate(source, folder)
            #expect([0, 65].contains(outcome.code), "\(sql): \(outcome.code) \(outcome.messages)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: source)) == before)
            guard outcome.code == 0 else { continue }
            let made = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
            #expect(try made.integer("SELECT count(*) FROM ZLINE") == 6, "\(sql)")
            // They may be taken over unchanged; nothing else comes with them, and a verification does not run them either.
            try made.execute("ATTACH '\(source)' AS old")
            let others = "SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')"
            #expect(try made.integer(others + " AND sql NOT IN (SELECT sql FROM old.sqlite_master)") == 0)
            let checked = try CommandBinary.run(
                ["verify", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.bundle])
            #expect(checked.code == 0, "\(sql): \(checked.output)\(checked.messages)")
            #expect(try made.integer("SELECT count(*) FROM ZLINE") == 6, "\(sql)")
        }
    }

    @Test("A model whose names are SQL, external entities and billion laughs are refused")
    func models() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder)
        let secret = folder.file("secret")
        try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
        let head = "<?xml version=\"1.0\"?>"
        for (number, text) in [
            "\(head)<model><entity name=\"a&quot;; DROP TABLE x; --\"><attribute name=\"b\" attributeType=\"String\"/></entity></model>",
            "\(head)<model><entity name=\"A\"><attribute name=\"b') --\" attributeType=\"String\"/></entity></model>",
            "\(head)<!DOCTYPE model [<!ENTITY x SYSTEM \"file://\(secret)\">]><model><entity name=\"&x;\"/></model>",
            "\(head)<!DOCTYPE m [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]><model><entity name=\"&b;\"/></model>",
            "\(head)<model><entity name=\"A&#0;\"/></model>",
        ].enumerated() {
            let model = folder.file("m\(number).xcdatamodel")
            try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: model + "/contents"))
            let outcome = try CommandBinary.run(
                ["migrate", source, folder.file("new.sqlite"), "--from", Self.from, "--to", model])
            #expect(outcome.code == 78, "\(number): \(outcome.messages)")
            #expect(!outcome.messages.contains("secret\n"))
            #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
        }
    }

    @Test("Numbers at the end of their range, and a pattern that explodes, end in an error or a result")
    func numbers() throws {
        for (sql, expression) in [
            ("UPDATE ZORDER SET ZNUMBER = 9223372036854775807", "$source.number + 1"),
            ("UPDATE ZORDER SET ZNUMBER = -9223372036854775807 - 1", "$source.number * -1"),
            ("UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807", "$source.number"),
            ("UPDATE ZORDER SET Z_PK = 9223372036854775807 WHERE Z_PK = 3", "$source.number"),
            (
                "UPDATE ZLINE SET ZCODE = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'",
                "TERNARY($source.customer.name MATCHES '(a+)+$', 1, 2)"
            ),
        ] {
            let folder = try TemporaryFolder()
            let source = try store(in: folder, sql)
            let mapping = folder.file("m.json")
            let inferred = try CommandBinary.run(["infer", "--from", Self.from, "--to", Self.bundle])
            var json = try JSONSerialization.jsonObject(with: Data(inferred.output.utf8)) as? [String: Any] ?? [:]
            var mappings = json["entityMappings"] as? [[String: Any]] ?? []
            for index in mappings.indices where mappings[index]["destinationEntity"] as? String == "Order" {
                var attributes = mappings[index]["attributes"] as? [String: Any] ?? [:]
                attributes["number"] = expression
                mappings[index]["attributes"] = attributes
            }
            json["entityMappings"] = mappings
            try JSONSerialization.data(withJSONObject: json).write(to: URL(fileURLWithPath: mapping))
            for more in [[], ["--keys", "sequential"]] {
                let outcome = try CommandBinary.run(
                    [
                        "migrate", source, folder.file("new.sqlite"), "--from", Self.from, "--to", Self.bundle,
                        "--mapping", mapping,
                    ]
                        + more)
                #expect([0, 65, 78].contains(outcome.code), "\(sql): \(outcome.code) \(outcome.messages)")
                try? FileManager.default.removeItem(atPath: folder.file("new.sqlite"))
            }
        }
    }
}
