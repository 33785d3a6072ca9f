import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `--append --match` by the built command: objects become rows that the destination had before, and their members come under
/// them.
@Suite("Matched rows by the built command")
struct CommandMatchTests {
    private static let text = #"attributeType="String" optional="YES""#
    private static let entities = """
        <entity name="Note"><attribute name="title" \(text)/>\
        <relationship name="tags" toMany="YES" optional="YES" deletionRule="Nullify" destinationEntity="Tag" \
        inverseName="notes" inverseEntity="Tag"/></entity>
        <entity name="Tag"><attribute name="name" \(text)/><attribute name="color" \(text)/>\
        <relationship name="notes" toMany="YES" optional="YES" deletionRule="Nullify" destinationEntity="Note" \
        inverseName="tags" inverseEntity="Note"/>\
        <relationship name="parts" toMany="YES" ordered="YES" optional="YES" deletionRule="Nullify" \
        destinationEntity="Part" inverseName="tag" inverseEntity="Part"/></entity>
        <entity name="Label" parentEntity="Tag"/>
        <entity name="Part"><attribute name="label" \(text)/>\
        <relationship name="tag" maxCount="1" optional="YES" deletionRule="Nullify" destinationEntity="Tag" \
        inverseName="parts" inverseEntity="Tag"/></entity>
        """

    /// The destination has the tags red and blue and the label green, a note of red, and two parts of red. The source has red in
    /// another color, green as a tag, one tag without a name and a new one, yellow; and notes and parts of them.
    private static func inputs() throws -> VersionedInputs {
        let inputs = try VersionedInputs(
            entities, entities + "<entity name=\"Zone\"><attribute name=\"x\" \(text)/></entity>"
        ) { store in
            store.insert("Tag", 1, ["name": .text("red"), "color": .text("#f00")])
            store.insert("Tag", 2, ["name": .text("blue")])
            store.insert("Label", 3, ["name": .text("green")])
            store.insert("Note", 1, ["title": .text("old note")])
            store.setMembers("Note", 1, "tags", [1])
            for key in 1...2 as ClosedRange<Int64> { store.insert("Part", key, ["label": .text("old \(key)")]) }
            store.setMembers("Tag", 1, "parts", [2, 1])
        }
        let first = try inputs.run(["migrate", "old.sqlite", "new.sqlite"])
        #expect(first.code == 0, "\(first.messages)")
        try inputs.store("old", ofVersion: 1) { store in
            store.insert("Tag", 1, ["name": .text("yellow")])
            store.insert("Tag", 2, ["name": .text("red"), "color": .text("#e00")])
            store.insert("Tag", 3, ["color": .text("#fff")])
            store.insert("Tag", 4, ["name": .text("green")])
            store.insert("Note", 1, ["title": .text("new note")])
            store.setMembers("Note", 1, "tags", [1, 2, 4])
            for key in 1...4 as ClosedRange<Int64> { store.insert("Part", key, ["label": .text("new \(key)")]) }
            for (tag, parts) in [(1, [4]), (2, [3, 1]), (4, [2])] as [(Int64, [Int64])] {
                store.setMembers("Tag", tag, "parts", parts)
            }
        }
        return inputs
    }

    private static let options = ["--append", "--match", "Tag=name"]

    private static func tags(_ inputs: VersionedInputs) throws -> [String] {
        let connection = try Connection(path: inputs.folder.file("new.sqlite"), flags: 1)
        return try connection.firstColumn(
            """
            SELECT t.Z_PK || ' ' || COALESCE(t.ZNAME, '-') || ' ' || COALESCE(t.ZCOLOR, '-') || ' notes '
                || COALESCE((SELECT group_concat(k) FROM (SELECT Z_1NOTES AS k FROM Z_3NOTES WHERE Z_3TAGS = t.Z_PK ORDER BY k)), '')
                || ' parts '
                || COALESCE((SELECT group_concat(k) FROM (SELECT ZLABEL AS k FROM ZPART WHERE ZTAG = t.Z_PK ORDER BY Z_FOK_TAG)), '')
            FROM ZTAG AS t ORDER BY t.Z_PK
            """)
    }

    @Test("The rows stay as they are, and the new notes and parts come under them, in order")
    func kept() throws {
        let inputs = try Self.inputs()
        let outcome = try inputs.run(
            ["migrate", "old.sqlite", "new.sqlite"], Self.options + ["--on-loss", "refuse", "--id-map", "map.csv"])
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(
            try Self.tags(inputs) == [
                "1 red #f00 notes 1,2 parts old 2,old 1,new 3,new 1", "2 blue - notes  parts ",
                "3 green - notes 2 parts new 2", "4 yellow - notes 2 parts new 4", "5 - #fff notes  parts ",
            ])
        #expect(
            outcome.output.contains(
                "2 objects of Tag became 2 rows that were there before, by name, kept: IEM_Copy_Tag"),
            "\(outcome.output)")
        let map = try String(contentsOfFile: inputs.folder.file("map.csv"), encoding: .utf8)
        #expect(map.contains("IEM_Copy_Tag,Tag,2,Tag,1") && map.contains("IEM_Copy_Tag,Tag,1,Tag,4"), "\(map)")
        let part = try Connection(path: inputs.folder.file("new.sqlite"), flags: 1).firstColumn(
            "SELECT Z3_TAG || ' ' || ZTAG FROM ZPART WHERE ZLABEL = 'new 2'")
        // The row is a label.
        #expect(part == ["4 3"], "\(part)")
        let verified = try inputs.run(["verify", "old.sqlite", "new.sqlite"], Self.options)
        #expect(verified.code == 0, "\(verified.output) \(verified.messages)")
    }

    @Test("A file says the same, and the other commands tell it")
    func file() throws {
        let inputs = try Self.inputs()
        try inputs.file(
            "mapping.json",
            """
            { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
              { "sourceEntity": "Tag", "destinationEntity": "Tag", "matchBy": ["name"], "onMatch": "keep", "compare": "c" }
            ] }
            """)
        let options = ["--append", "--mapping", "mapping.json"]
        for (command, says) in [
            (["plan", "old.sqlite", "new.sqlite"], "objects become rows of the destination with the same name"),
            (["check", "old.sqlite", "new.sqlite"], "No object breaks a rule"),
            (["explain", "old.sqlite", "Tag/p2"], "becomes the row of the destination with these keys"),
        ] {
            let outcome = try inputs.run(command, options)
            #expect(outcome.code == 0 && outcome.output.contains(says), "\(outcome.output) \(outcome.messages)")
        }
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite", "--json"], options)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(outcome.output.contains("\"matched\""), "\(outcome.output)")
        #expect(try Self.tags(inputs).count == 5)
        let text = try inputs.convertedTwice("mapping.json")
        #expect(text.contains(#""matchBy": ["#) && text.contains(#""compare": "c""#), "\(text)")
    }

    @Test(
        "What cannot be matched is refused with the reason, and the destination is as it was",
        arguments: [
            (["--match", "Tag=name"], 64, "'--append'"), (["--append", "--match", "Tag"], 64, "Entity=key,key"),
            (["--append", "--on-match", "keep"], 64, "'--match'"),
            (["--append", "--match", "Tga=name"], 78, "Tag"), (["--append", "--match", "Tag=nmae"], 78, "name"),
            (["--append", "--match", "Tag=name", "--on-invalid", "reject"], 78, "--on-invalid reject"),
            (["--append", "--match", "Tag=name", "--match", "Tag=color"], 78, "has keys already"),
        ] as [([String], Int32, String)])
    func refused(options: [String], code: Int32, says: String) throws {
        let inputs = try Self.inputs()
        let before = try Data(contentsOf: URL(fileURLWithPath: inputs.folder.file("new.sqlite")))
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], options)
        #expect(outcome.code == code && outcome.messages.contains(says), "\(outcome.messages)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: inputs.folder.file("new.sqlite"))) == before)
    }

    @Test("Rows with the same keys are named, unless no object has these keys")
    func ambiguous() throws {
        let inputs = try Self.inputs()
        let path = inputs.folder.file("new.sqlite")
        func name(_ key: Int, _ name: String) throws {
            let connection = try Connection(path: path, flags: 2)
            try connection.execute("UPDATE ZTAG SET ZNAME = '\(name)' WHERE Z_PK = \(key)")
            try connection.close()
        }
        try name(2, "red")
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], Self.options)
        #expect(outcome.code == 65, "\(outcome.messages)")
        for word in ["Tag/p2", "Tag/p1 and Tag/p2", "name"] {
            #expect(outcome.messages.contains(word), "\(outcome.messages)")
        }
        #expect(try Self.tags(inputs).count == 3)
        for key in [2, 3] { try name(key, "grey") }
        #expect(try inputs.run(["migrate", "old.sqlite", "new.sqlite"], Self.options).code == 0)
        #expect(try Self.tags(inputs).count == 6)
    }

    @Test(
        "Wrong files are refused where they are wrong",
        arguments: [
            (#""matchBy": ["nam"]"#, "name"), (#""matchBy": ["$source.name"]"#, "names attributes"),
            (#""matchBy": ["name"], "onMatch": "mix""#, "must be"), (#""onMatch": "keep""#, "matchBy"),
            (#""matchBy": ["name"], "mergeBy": ["name"]"#, "cannot stand"),
            (#""matchBy": ["name"], "compare": "x""#, "compare"), (#""matchBy": []"#, "array"),
            (#""matchBy": ["name"], "migrationPolicy": "P""#, "Leave one of the two out"),
            (#""matchBy": ["name"], "attributes": { "name": null }"#, "gives no value"),
            (#""matchBy": ["name"]"#, "--append"),
        ])
    func wrong(keys: String, says: String) throws {
        let inputs = try Self.inputs()
        try FileManager.default.removeItem(atPath: inputs.folder.file("new.sqlite"))
        try inputs.file(
            "mapping.json",
            """
            { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
              { "name": "TagToTag", "sourceEntity": "Tag", "destinationEntity": "Tag", \(keys) }
            ] }
            """)
        if says == "--append" {
            let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite", "--mapping", "mapping.json"])
            #expect(outcome.code == 78 && outcome.messages.contains(says), "\(outcome.messages)")
        } else {
            try inputs.expectRefusal(saying: says, inLines: 2...2)
        }
    }
}
