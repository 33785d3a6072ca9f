import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `--set`: one line of the mapping model is changed, by every command that takes one.
@Suite("Changes of single lines by the built command")
struct CommandChangeTests {
    private static func inputs() throws -> VersionedInputs {
        let text = #"attributeType="String" optional="YES""#
        let number = #"optional="YES" usesScalarValueType="YES""#
        return try VersionedInputs(
            """
            <entity name="Client"><attribute name="name" \(text)/>
            <relationship name="orders" toMany="YES" optional="YES" deletionRule="Nullify" destinationEntity="Order" \
            inverseName="client" inverseEntity="Order"/></entity>
            <entity name="Order"><attribute name="memo" \(text)/>
            <attribute name="price" attributeType="Double" \(number)/>
            <relationship name="client" maxCount="1" optional="YES" deletionRule="Nullify" destinationEntity="Client" \
            inverseName="orders" inverseEntity="Client"/></entity>
            """,
            """
            <entity name="Customer"><attribute name="name" \(text)/>
            <relationship name="orders" toMany="YES" optional="YES" deletionRule="Nullify" destinationEntity="Order" \
            inverseName="client" inverseEntity="Order"/></entity>
            <entity name="Order"><attribute name="note" \(text)/>
            <attribute name="price" attributeType="Integer 64" \(number)/>
            <relationship name="client" maxCount="1" optional="YES" deletionRule="Nullify" destinationEntity="Customer" \
            inverseName="orders" inverseEntity="Customer"/></entity>
            """
        ) { store in
            store.insert("Client", 1, ["name": .text("A")])
            store.insert("Order", 1, ["memo": .text("m"), "price": .real(3)])
            store.insert("Order", 2, ["memo": .text("n"), "price": .real(4)])
            store.setMembers("Client", 1, "orders", [1, 2])
        }
    }

    private static let lines = [
        "--set", "Customer=Client", "--set", "Order.price=$source.price", "--set",
        "Order.note=uppercase:($source.memo)",
    ]

    private static func rows(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: 1)
        return try connection.firstColumn(
            "SELECT ZNOTE || ' ' || ZPRICE || ' ' || ZNAME FROM ZORDER AS o JOIN ZCUSTOMER AS c ON c.Z_PK = o.ZCLIENT ORDER BY o.Z_PK"
        )
    }

    @Test("All commands take the same lines, and infer writes them down")
    func commands() throws {
        let inputs = try Self.inputs()
        let outcomes = try inputs.all("Order/p1", Self.lines + ["--on-loss", "refuse"])
        for (name, outcome) in outcomes { #expect(outcome.code == 0, "\(name): \(outcome.words)") }
        #expect(outcomes["plan"]?.words.contains("--set 'Customer=Client'") == true)
        #expect(outcomes["explain"]?.words.contains("note = \"M\"") == true, "\(outcomes["explain"]?.words ?? "")")
        #expect(try Self.rows(inputs.folder.file("new.sqlite")) == ["M 3 A", "N 4 A"])
        #expect(try Self.rows(inputs.folder.file("all/old.sqlite")) == ["M 3 A", "N 4 A"])
        #expect(try inputs.run(["verify", "old.sqlite", "new.sqlite"], Self.lines).code == 0)
        #expect(try inputs.run(["verify", "old.sqlite", "new.sqlite"], Array(Self.lines.prefix(4))).code != 0)
        let slowly = try inputs.run(["verify", "old.sqlite", "new.sqlite", "--reader", "sqlite"], Self.lines)
        #expect(slowly.code == 0 && slowly.output.contains("SQLite read all rows of both stores"), "\(slowly.output)")
        let inferred = try inputs.run(["infer", "--from", "M.xcdatamodeld:1", "-o", "m.json"], Self.lines)
        #expect(inferred.code == 0, "\(inferred.messages)")
        let done = try inputs.run(["migrate", "old.sqlite", "file.sqlite"], ["--mapping", "m.json", "--json"])
        #expect(done.code == 0, "\(done.messages)")
        #expect(try Self.rows(inputs.folder.file("file.sqlite")) == ["M 3 A", "N 4 A"])
        let changed = try inputs.run(
            ["migrate", "old.sqlite", "changed.sqlite"], ["--mapping", "m.json", "--set", "Order.note=$source.memo"])
        #expect(changed.code == 0, "\(changed.messages)")
        #expect(try Self.rows(inputs.folder.file("changed.sqlite")) == ["m 3 A", "n 4 A"])
    }

    @Test("The lines that refusals and the account of losses print mend what they are about, pasted as they stand")
    func pasted() throws {
        let inputs = try Self.inputs()
        var options: [String] = []
        var outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], ["--on-loss", "refuse"])
        for _ in 0..<5 where outcome.code != 0 {
            let printed = (outcome.messages + outcome.output).matches(of: /--set '([^']+)'/).map { String($0.output.1) }
            let check = try inputs.run(["check", "old.sqlite"], options)
            let suggested = check.output.matches(of: /--set '([^']+)'/).map { String($0.output.1) }
            let line = try #require(
                (printed + suggested).first { !options.contains($0) }, "\(outcome.messages) \(check.output)")
            options += ["--set", line]
            outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], options + ["--on-loss", "refuse"])
        }
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(options.count == 6)
        #expect(try Self.rows(inputs.folder.file("new.sqlite")) == ["m 3 A", "n 4 A"])
    }

    @Test("A loss that is meant passes --on-loss refuse; a run under other lines does not resume this one")
    func meant() throws {
        let inputs = try Self.inputs()
        let lines = Array(Self.lines.prefix(4))
        let refused = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], lines + ["--on-loss", "refuse"])
        #expect(refused.code == 65 && refused.messages.contains("memo"), "\(refused.messages)")
        let meant = try inputs.run(
            ["migrate", "old.sqlite", "new.sqlite"], lines + ["--set", "Order.memo=", "--on-loss", "refuse"])
        #expect(meant.code == 0, "\(meant.messages)")
        let report = try inputs.run(
            ["migrate", "old.sqlite", "again.sqlite"], lines + ["--set", "Order.memo=", "--json"])
        #expect(report.output.contains("Order.memo="), "\(report.output)")
    }

    @Test("Lines that are none, name nothing, or could be for several files are refused, and nothing is written")
    func wrong() throws {
        let inputs = try Self.inputs()
        for (line, code, words) in [
            ("Order.note", 64, "'--set' needs a line"), ("Ordr.note=$source.memo", 78, "no entity Ordr"),
            ("Order.nte=$source.memo", 78, "nte"), ("Order.note=$source.", 78, "--set 'Order.note=$source.'"),
        ] {
            let outcome = try inputs.run(
                ["migrate", "old.sqlite", "new.sqlite"], Array(Self.lines.prefix(4)) + ["--set", line])
            #expect(outcome.code == Int32(code) && outcome.messages.contains(words), "\(outcome.messages)")
        }
        for name in ["a.json", "b.json"] {
            try inputs.file(name, #"{"formatVersion": 2, "unlisted": "infer", "entityMappings": []}"#)
        }
        let several = try inputs.run(
            ["migrate", "old.sqlite", "new.sqlite"],
            ["--mapping", "a.json", "--mapping", "b.json", "--set", "Order.note=$source.memo"])
        #expect(several.code == 78 && several.messages.contains("which one --set changes"), "\(several.messages)")
        #expect(!FileManager.default.fileExists(atPath: inputs.folder.file("new.sqlite")))
    }

    @Test("Types are converted on request where no value loses anything, and verify agrees")
    func converted() throws {
        func attribute(_ name: String, _ type: String) -> String {
            "<attribute name=\"\(name)\" attributeType=\"\(type)\" optional=\"YES\"/>"
        }
        let pairs = [
            ("count", "Integer 64", "String"), ("ratio", "Double", "String"), ("exact", "Integer 64", "Decimal"),
            ("small", "Integer 16", "Double"), ("key", "UUID", "String"), ("flag", "Boolean", "String"),
        ]
        let inputs = try VersionedInputs(
            "<entity name=\"E\">\(pairs.map { attribute($0.0, $0.1) }.joined())</entity>",
            "<entity name=\"E\">\(pairs.map { attribute($0.0, $0.2) }.joined())</entity>"
        ) { store in
            store.insert(
                "E", 1,
                [
                    "count": .integer(.max), "ratio": .real(0.1), "exact": .integer(.min), "small": .integer(-7),
                    "key": .blob([UInt8](repeating: 0xAB, count: 16)), "flag": .integer(1),
                ])
            store.insert("E", 2)
        }
        let refused = try inputs.run(["migrate", "old.sqlite", "new.sqlite"])
        #expect(refused.code == 78 && refused.messages.contains("--unmappable convert"), "\(refused.messages)")
        let done = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], ["--unmappable", "convert"])
        #expect(done.code == 0, "\(done.messages)")
        let connection = try Connection(path: inputs.folder.file("new.sqlite"), flags: 1)
        let statement = try connection.prepare(
            "SELECT ZCOUNT || ' ' || ZRATIO || ' ' || ZEXACT || ' ' || ZSMALL || ' ' || ZKEY || ' ' || ZFLAG FROM ZE ORDER BY Z_PK"
        )
        #expect(try statement.step())
        #expect(
            statement.text(0)
                == "9223372036854775807 0.1 -9223372036854775808 -7.0 ABABABAB-ABAB-ABAB-ABAB-ABABABABABAB 1")
        #expect(try statement.step() && statement.text(0) == nil)
        #expect(
            try inputs.run(["verify", "old.sqlite", "new.sqlite"], ["--unmappable", "convert"]).code == 0)
    }

    @Test("Where a bundle has no way, the lines that mend it are printed too")
    func wayless() throws {
        func version(_ type: String, _ more: String = "") -> String {
            "<entity name=\"E\"><attribute name=\"n\" attributeType=\"\(type)\" optional=\"YES\"/>\(more)</entity>"
        }
        let more = "<attribute name=\"m\" attributeType=\"String\" optional=\"YES\"/>"
        let inputs = try VersionedInputs(
            version("Integer 64"), version("Integer 64", more), version("Integer 16", more)
        ) { store in
            store.insert("E", 1, ["n": .integer(7)])
        }
        let refused = try inputs.run(["migrate", "old.sqlite", "new.sqlite"])
        #expect(refused.code == 78 && refused.messages.contains("There is no way"), "\(refused.messages)")
        let lines = refused.messages.matches(of: /--set '([^']+)'/).map { String($0.output.1) }
        #expect(lines == ["E.n=$source.n"], "\(refused.messages)")
        let done = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], lines.flatMap { ["--set", $0] })
        #expect(done.code == 0, "\(done.messages)")
    }
}
