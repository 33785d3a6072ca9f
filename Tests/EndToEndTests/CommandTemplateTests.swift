import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `infer --template` by the built command: all that can be mapped, and what is to be decided.
@Suite("A template of a mapping model, by the built command")
struct CommandTemplateTests {
    typealias Inputs = VersionedInputs

    private static func relationship(_ name: String, to entity: String, inverse: String, _ more: String) -> String {
        """
        <relationship name="\(name)" \(more) deletionRule="Nullify" destinationEntity="\(entity)" \
        inverseName="\(inverse)" inverseEntity="\(entity)"/>
        """
    }

    private static func inputs() throws -> VersionedInputs {
        let tag = { (more: String) in
            Inputs.entity("Tag", Inputs.text("name"), relationship("orders", to: "Order", inverse: "tags", more))
        }
        return try VersionedInputs(
            Inputs.entity(
                "Order", Inputs.text("total"), Inputs.text("note"), Inputs.attribute("code", "Integer 16"),
                relationship("tags", to: "Tag", inverse: "orders", "toMany=\"YES\" optional=\"YES\""))
                + tag("toMany=\"YES\" optional=\"YES\""),
            Inputs.entity(
                "Order", Inputs.attribute("total", "Integer 32"), Inputs.text("note"),
                Inputs.attribute("code", "Integer 32"),
                Inputs.attribute("serial", "Integer 64", "", optional: false),
                relationship("tags", to: "Tag", inverse: "orders", "toMany=\"YES\" optional=\"YES\""))
                + tag("maxCount=\"1\" optional=\"YES\"")
        ) { store in
            store.insert("Order", 1, ["total": .text("17"), "note": .text("n"), "code": .integer(4)])
            store.insert("Order", 2, ["total": .text("5"), "code": .integer(6)])
            store.insert("Tag", 1, ["name": .text("t")])
        }
    }

    private static let from = ["--from", "M.xcdatamodeld:1"]

    private static func template(_ inputs: VersionedInputs, _ more: [String] = []) throws -> String {
        let outcome = try inputs.run(["infer", "--template"], from + more)
        #expect(outcome.code == 0, "\(outcome.messages)")
        return outcome.output
    }

    /// The texts of "why" by property.
    private static func questions(_ text: String) throws -> [String: String] {
        let root = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        var found: [String: String] = [:]
        for mapping in root["entityMappings"] as? [[String: Any]] ?? [] {
            for kind in ["attributes", "relationships"] {
                for (name, value) in mapping[kind] as? [String: Any] ?? [:] {
                    guard let value = value as? [String: Any], let why = value["why"] as? String else { continue }
                    #expect(value["expression"] is NSNull, "\(name)")
                    found["\(mapping["destinationEntity"] as? String ?? "").\(name)"] = why
                }
            }
        }
        return found
    }

    @Test("What can be mapped is mapped; each open place is null and says what is to be decided")
    func places() throws {
        let inputs = try Self.inputs()
        let text = try Self.template(inputs)
        let questions = try Self.questions(text)
        #expect(questions.keys.sorted() == ["Order.serial", "Order.tags", "Order.total", "Tag.orders"], "\(text)")
        #expect(questions["Order.total"]?.contains("String became Integer 32") == true, "\(questions)")
        #expect(questions["Order.total"]?.contains("CAST($source.total, 'Int32')") == true, "\(questions)")
        #expect(questions["Order.serial"]?.contains("new and required") == true, "\(questions)")
        #expect(questions["Tag.orders"]?.contains("a to-many became a to-one") == true, "\(questions)")
        for line in [#""note": "$source.note""#, #""code": "$source.code""#, #""name": "$source.name""#] {
            #expect(text.contains(line), "\(line): \(text)")
        }
    }

    @Test("A change answers a question; a template and --unmappable exclude each other")
    func changes() throws {
        let inputs = try Self.inputs()
        let text = try Self.template(
            inputs, ["--set", #"Order.total=CAST($source.total, "Int32")"#, "--set", "Tag.orders="])
        #expect(try Self.questions(text).keys.sorted() == ["Order.serial", "Order.tags"], "\(text)")
        let both = try inputs.run(["infer", "--template", "--unmappable", "leave"], Self.from)
        #expect(both.code == 64, "\(both.messages)")
    }

    @Test("Every command reads the file as it is written; with the answers pasted in, it migrates")
    func pasted() throws {
        let inputs = try Self.inputs()
        let text = try Self.template(inputs)
        try inputs.file("template.json", text)
        let mapping = ["--mapping", "template.json"]
        // The file is read; the new required attribute has no value yet.
        for (arguments, codes) in [
            (["plan", "old.sqlite", "new.sqlite"] + mapping, [65]),
            (["check", "old.sqlite"] + mapping, [0, 65]), (["explain", "old.sqlite", "Order/p1"] + mapping, [65]),
            (["convert", "template.json", "-o", "again.json"] + Self.from, [0]),
            (["migrate", "old.sqlite", "new.sqlite"] + mapping, [65]),
        ] as [([String], [Int32])] {
            let outcome = try inputs.run(arguments)
            #expect(codes.contains(outcome.code), "\(arguments): \(outcome.output)\(outcome.messages)")
        }
        let inspected = try CommandBinary.run(["inspect", "template.json"], in: inputs.folder.path)
        #expect(inspected.code == 0, "\(inspected.messages)")
        #expect(try String(contentsOfFile: inputs.folder.file("again.json"), encoding: .utf8) == text)
        let planned = try inputs.run(["plan", "old.sqlite", "new.sqlite"], mapping)
        #expect(planned.output.contains("Order.total is left unmapped"), "\(planned.output)")

        var answered = text
        func answer(_ name: String, _ value: String) throws {
            let place = try #require(answered.firstRange(of: "\"\(name)\": {"), "\(answered)")
            let end = try #require(answered[place.upperBound...].firstIndex(of: "}"))
            answered.replaceSubrange(place.lowerBound...end, with: "\"\(name)\": \(value)")
        }
        let why = try #require(try Self.questions(text)["Order.total"])
        let line = try #require(why.firstMatch(of: /"total": (".+?")/)).1
        try answer("total", String(line))
        try answer("serial", "\"$source.code + 100\"")
        try answer("tags", "null")
        try answer("orders", "null")
        try inputs.file("template.json", answered)
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], mapping)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let connection = try Connection(path: inputs.folder.file("new.sqlite"), flags: 1)
        #expect(
            try connection.firstColumn("SELECT ZTOTAL || ' ' || ZSERIAL || ' ' || ZCODE FROM ZORDER ORDER BY 1") == [
                "17 104 4", "5 106 6",
            ])
    }

    @Test(
        "\"why\" stands beside a null alone",
        arguments: [
            #"{ "why": "x" }"#, #"{ "expression": null, "why": "x", "unmappable": "y" }"#,
            #"{ "expression": null, "why": 1 }"#,
        ])
    func wrong(total: String) throws {
        let inputs = try Self.inputs()
        try inputs.file(
            "mapping.json",
            """
            { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
              { "sourceEntity": "Order", "destinationEntity": "Order",
                "attributes": { "total": \(total) } }
            ] }
            """)
        let outcome = try inputs.run(["plan", "old.sqlite", "new.sqlite", "--mapping", "mapping.json"])
        #expect(outcome.code == 78 && outcome.messages.contains("mapping.json:3:"), "\(outcome.messages)")
        #expect(outcome.messages.contains("why"), "\(outcome.messages)")
    }
}
