import CoreDataStore
import Foundation
import TestSupport
import Testing

/// What becomes of values, by the command: wider integers, NULL under an old rule, fractions that are cut.
@Suite("Values by the built command")
struct CommandValueTests {
    @Test("Integers that become wider are inferred, by the file of infer too; a narrower one is refused")
    func wider() throws {
        let inputs = try VersionedInputs(
            VersionedInputs.entity(
                "Node", VersionedInputs.attribute("muted", "Boolean"), VersionedInputs.attribute("snr", "Integer 16"),
                VersionedInputs.attribute("heard", "Integer 32")),
            VersionedInputs.entity(
                "Node", VersionedInputs.attribute("state", "Integer 16", "elementID=\"muted\""),
                VersionedInputs.attribute("snr", "Integer 32"), VersionedInputs.attribute("heard", "Integer 64"))
        ) { store in
            store.insert(
                "Node", 1, ["muted": .integer(1), "snr": .integer(-32768), "heard": .integer(2_147_483_647)])
            store.insert("Node", 2, ["muted": .integer(0), "snr": .integer(7)])
        }
        let inferred = try CommandBinary.run(
            ["infer", "--from", "M.xcdatamodeld:1", "--to", "M.xcdatamodeld", "-o", "m.json"], in: inputs.folder.path)
        #expect(inferred.code == 0, "\(inferred.messages)")
        for options in [[], ["--mapping", "m.json"]] {
            try? FileManager.default.removeItem(atPath: inputs.folder.file("new.sqlite"))
            let done = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], options)
            #expect(done.code == 0, "\(done.messages)")
            let sql = "SELECT ZSTATE || ' ' || ZSNR || ' ' || ifnull(ZHEARD, 'NULL') FROM ZNODE ORDER BY Z_PK"
            #expect(
                try StoreQuery.texts(sql, in: inputs.folder.file("new.sqlite")) == ["1 -32768 2147483647", "0 7 NULL"])
            #expect(try inputs.run(["verify", "old.sqlite", "new.sqlite"], options).code == 0)
        }
        let back = try CommandBinary.run(
            ["migrate", "new.sqlite", "back.sqlite", "--to", "M.xcdatamodeld:1"], in: inputs.folder.path)
        #expect(back.code == 78 && back.messages.contains("types are incompatible"), "\(back.messages)")
    }

    @Test("NULL in a required attribute with a default stays as it was, with a warning, at the same version too")
    func required() throws {
        let kind = VersionedInputs.attribute("kind", "Integer 16", "defaultValueString=\"7\"", optional: false)
        let inputs = try VersionedInputs(
            VersionedInputs.entity("Photo", kind),
            VersionedInputs.entity("Photo", kind, VersionedInputs.attribute("more", "String"))
        ) { store in
            store.insert("Photo", 1, ["kind": .null])
            store.insert("Photo", 2, ["kind": .integer(5)])
        }
        for version in ["M.xcdatamodeld:1", "M.xcdatamodeld"] {
            try? FileManager.default.removeItem(atPath: inputs.folder.file("new.sqlite"))
            func run(_ arguments: String...) throws -> CommandBinary.Outcome {
                try CommandBinary.run(arguments + ["--to", version], in: inputs.folder.path)
            }
            let check = try run("check", "old.sqlite")
            #expect(check.code == 0 && check.output.contains("broken in the source already"), "\(check.output)")
            let done = try run("migrate", "old.sqlite", "new.sqlite")
            #expect(
                done.code == 0
                    && done.output.contains("1 object breaks a rule that it broke in the source already: Photo.kind"),
                "\(done.output)")
            #expect(
                try StoreQuery.texts("SELECT ZKIND FROM ZPHOTO ORDER BY Z_PK", in: inputs.folder.file("new.sqlite"))
                    == ["nil", "5"])
            let verified = try run("verify", "old.sqlite", "new.sqlite")
            #expect(verified.code == 0, "\(verified.output)")
        }
    }

    @Test("Fractions that a hint would cut off have a price; those that a mapping cuts are told, refused, or meant")
    func cut() throws {
        let inputs = try VersionedInputs(
            VersionedInputs.entity("Product", VersionedInputs.attribute("price", "Decimal")),
            VersionedInputs.entity("Product", VersionedInputs.attribute("cents", "Integer 64"))
        ) { store in
            store.insert("Product", 1, ["price": .real(12.75)])
            store.insert("Product", 2, ["price": .real(0.99)])
            store.insert("Product", 3, ["price": .integer(3)])
        }
        let hint = "takes its numbers, and cuts the fraction of 2 of 3 values: \"cents\": \"$source.price\""
        let planned = try inputs.run(["plan", "old.sqlite", "new.sqlite"])
        #expect(planned.code == 0 && planned.output.contains(hint), "\(planned.output)")
        func mapping(_ name: String, _ expression: String) throws {
            try inputs.file(
                name,
                #"{"formatVersion": 2, "entityMappings": [{"sourceEntity": "Product", "destinationEntity": "Product", "#
                    + #""attributes": {"cents": "\#(expression)"}}]}"#)
        }
        try mapping("hint.json", "$source.price")
        try mapping("meant.json", "floor:($source.price)")
        let line = "Product.cents: the fraction of 2 values was cut off (Product/p1: 12.75, Product/p2: 0.99)"
        let commands = [
            ["plan", "old.sqlite", "new.sqlite"], ["check", "old.sqlite"], ["migrate", "old.sqlite", "new.sqlite"],
        ]
        for command in commands {
            let refused = try inputs.run(command, ["--mapping", "hint.json", "--on-loss", "refuse"])
            #expect(refused.code == 65 && (refused.output + refused.messages).contains(line), "\(refused)")
            #expect(!FileManager.default.fileExists(atPath: inputs.folder.file("new.sqlite")))
            let page = ["--report", "\(command[0]).html", "--report", "table.csv"]
            let more = command[0] == "plan" ? [] : command[0] == "check" ? page : Array(page.prefix(2))
            let done = try inputs.run(command, ["--mapping", "hint.json"] + more)
            #expect(done.code == 0 && done.output.contains(line), "\(done)")
            if command[0] != "plan" {
                let text = try String(contentsOfFile: inputs.folder.file("\(command[0]).html"), encoding: .utf8)
                #expect(text.contains("Product/p1: 12.75") && text.contains("<div class=\"verdict warn\">"))
            }
            if command[0] == "check" {
                let text = try String(contentsOfFile: inputs.folder.file("table.csv"), encoding: .utf8)
                #expect(text.contains("values cut,,Product.cents,fraction,2,Product/p1 Product/p2"), "\(text)")
            }
            try? FileManager.default.removeItem(atPath: inputs.folder.file("new.sqlite"))
        }
        for command in commands {
            let meant = try inputs.run(command, ["--mapping", "meant.json", "--on-loss", "refuse"])
            #expect(meant.code == 0 && !meant.output.contains("cut off"), "\(meant)")
        }
        let json = try inputs.run(
            ["migrate", "old.sqlite", "json.sqlite"],
            ["--mapping", "hint.json", "--json", "--allow-loss", "Product.price"])
        #expect(json.output.contains("\"valuesCut\"") && json.output.contains("\"isMeant\""), "\(json.output)")
    }
}
