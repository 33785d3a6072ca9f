import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `mergeBy` by the built command: duplicates of a table become one object, which takes over their links.
@Suite("Merged objects by the built command")
struct CommandMergeTests {
    private static let text = #"attributeType="String" optional="YES""#
    private static let entities = """
        <entity name="Note"><attribute name="title" \(text)/>\
        <relationship name="tags" toMany="YES" optional="YES" deletionRule="Nullify" destinationEntity="Tag" \
        inverseName="notes" inverseEntity="Tag"/></entity>
        <entity name="Tag"><attribute name="name" \(text)/><attribute name="color" \(text)/>\
        <attribute name="used" attributeType="Integer 64" optional="YES"/>\
        <relationship name="notes" toMany="YES" optional="YES" deletionRule="Nullify" destinationEntity="Note" \
        inverseName="tags" inverseEntity="Note"/>\
        <relationship name="parts" toMany="YES" ordered="YES" optional="YES" deletionRule="Nullify" \
        destinationEntity="Part" inverseName="tag" inverseEntity="Part"/></entity>
        <entity name="Part"><attribute name="label" \(text)/>\
        <relationship name="tag" maxCount="1" optional="YES" deletionRule="Nullify" destinationEntity="Tag" \
        inverseName="parts" inverseEntity="Tag"/></entity>
        """

    static let mapping = ["--mapping", "mapping.json"]

    /// Tags 1, 3 and 4 are named alike, if case does not count; 5 has no name.
    static func inputs(constraints: String = "") throws -> VersionedInputs {
        let end = "inverseEntity=\"Part\"/>"
        return try VersionedInputs(
            entities,
            entities.replacing(end, with: end + constraints)
                + "<entity name=\"Zone\"><attribute name=\"x\" \(text)/></entity>"
        ) {
            store in
            for (key, name, color, used) in [
                (1, "red", nil, 5), (2, "blue", "#00f", 1), (3, "red", "#f00", 9), (4, "Red", "#e00", nil),
                (5, nil, "#fff", nil),
            ] as [(Int64, String?, String?, Int64?)] {
                store.insert(
                    "Tag", key,
                    [
                        "name": name.map { .text($0) } ?? .null, "color": color.map { .text($0) } ?? .null,
                        "used": used.map { .integer($0) } ?? .null,
                    ])
            }
            for key in 1...4 as ClosedRange<Int64> {
                store.insert("Note", key, ["title": .text("note \(key)")])
            }
            for (note, tags) in [(1, [1, 3]), (2, [3]), (3, [4]), (4, [2])] as [(Int64, [Int64])] {
                store.setMembers("Note", note, "tags", tags)
            }
            for key in 1...5 as ClosedRange<Int64> {
                store.insert("Part", key, ["label": .text("part \(key)")])
            }
            for (tag, parts) in [(1, [2, 3]), (2, [5]), (3, [1, 4])] as [(Int64, [Int64])] {
                store.setMembers("Tag", tag, "parts", parts)
            }
        }
    }

    /// Writes a mapping file whose mapping of tags has some more keys.
    static func write(_ keys: String, to inputs: VersionedInputs) throws {
        try """
        { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
          { "name": "TagToTag", "sourceEntity": "Tag", "destinationEntity": "Tag", \(keys) }
        ] }
        """.write(toFile: inputs.folder.file("mapping.json"), atomically: true, encoding: .utf8)
    }

    static func tags(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: 1)
        return try connection.firstColumn(
            """
            SELECT t.Z_PK || ' ' || COALESCE(t.ZNAME, '-') || ' ' || COALESCE(t.ZCOLOR, '-') || ' notes '
                || COALESCE((SELECT group_concat(k) FROM (SELECT Z_1NOTES AS k FROM Z_1TAGS WHERE Z_3TAGS = t.Z_PK ORDER BY k)), '')
                || ' parts '
                || COALESCE((SELECT group_concat(k) FROM (SELECT Z_PK AS k FROM ZPART WHERE ZTAG = t.Z_PK ORDER BY Z_FOK_TAG)), '')
            FROM ZTAG AS t ORDER BY t.Z_PK
            """)
    }

    @Test(
        "The first tag of each name takes over the notes and parts of the others; all commands agree")
    func first() throws {
        let inputs = try Self.inputs()
        try Self.write(#""mergeBy": ["name"]"#, to: inputs)
        let outcomes = try inputs.all("Tag/p3", Self.mapping + ["--on-loss", "refuse"])
        for (name, outcome) in outcomes { #expect(outcome.code == 0, "\(name): \(outcome.words)") }
        #expect(
            try Self.tags(inputs.folder.file("new.sqlite")) == [
                "1 red - notes 1,2 parts 2,3,1,4", "2 blue #00f notes 4 parts 5",
                "4 Red #e00 notes 3 parts ",
                "5 - #fff notes  parts ",
            ])
        #expect(
            outcomes["migrate"]?.words.contains(
                "1 object of Tag was merged into another by name: TagToTag") == true,
            "\(outcomes["migrate"]?.words ?? "")")
        #expect(outcomes["plan"]?.words.contains("mergeBy") == true)
        #expect(
            outcomes["explain"]?.words.contains("the first is kept, and the others are merged into it")
                == true,
            "\(outcomes["explain"]?.words ?? "")")
    }

    @Test(
        "The tag that was used least is kept, and takes the color that it lacks from the first of the others"
    )
    func greatest() throws {
        let inputs = try Self.inputs()
        try Self.write(
            #""mergeBy": ["$source.name"], "compare": "c", "keep": "least $source.used", "fill": true"#,
            to: inputs)
        let outcome = try inputs.run(
            ["migrate", "old.sqlite", "new.sqlite", "--id-map", "ids.csv"], Self.mapping)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(
            try Self.tags(inputs.folder.file("new.sqlite")) == [
                "1 red #f00 notes 1,2,3 parts 2,3,1,4", "2 blue #00f notes 4 parts 5",
                "5 - #fff notes  parts ",
            ])
        let ids = try String(contentsOfFile: inputs.folder.file("ids.csv"), encoding: .utf8)
        for line in ["Tag,1,Tag,1", "Tag,3,Tag,1", "Tag,4,Tag,1", "Tag,5,Tag,5"] {
            #expect(ids.contains(line + "\n"), "\(ids)")
        }
        let verified = try inputs.run(["verify", "old.sqlite", "new.sqlite"], Self.mapping)
        #expect(verified.code == 0, "\(verified.output)\(verified.messages)")
        #expect(verified.output.contains("The destination is what the migration makes"), "\(verified.output)")
        #expect(verified.output.contains("3 of 3 objects, 2 sharing the object of another one"), "\(verified.output)")
    }

    @Test("explain names the kept tag, why it is kept, and what it takes from the others; JSON says the same")
    func explained() throws {
        let inputs = try Self.inputs()
        try Self.write(
            #""mergeBy": ["name"], "compare": "c", "keep": "least $source.used", "fill": true"#, to: inputs)
        let kept = "Tag/p1 is kept of 3 source objects, whose value is 5"
        let color = "color has the $source.color of Tag/p3"
        for (tag, words) in [
            ("Tag/p1", ["that with the least $source.used is kept", kept, color, "color = \"#f00\""]),
            ("Tag/p3", [kept, color, "It is merged into Tag/p1, which Tag/p1 makes."]),
            ("Tag/p4", [kept, "It is merged into Tag/p1"]), ("Tag/p5", ["it shares its object with no other"]),
        ] {
            let outcome = try inputs.run(["explain", "old.sqlite", tag], Self.mapping)
            #expect(outcome.code == 0, "\(outcome.messages)")
            for word in words { #expect(outcome.output.contains(word), "\(word): \(outcome.output)") }
        }
        let json = try inputs.run(["explain", "old.sqlite", "Tag/p3", "--json"], Self.mapping)
        for word in [
            #""keep":"least $source.used""#, #""kept":"Tag/p1""#, #""keptValue":5"#, #""members":3"#,
            #""source":"Tag/p3""#, #""outcome":"shared""#, #""rule":"mergeBy""#,
        ] {
            #expect(
                json.output.filter { !$0.isWhitespace }.contains(word.filter { !$0.isWhitespace }), "\(json.output)")
        }
    }

    @Test(
        "The last or the greatest is kept; parts come in its order first",
        arguments: ["last", "greatest $source.used"])
    func last(keep: String) throws {
        let inputs = try Self.inputs()
        try Self.write(#""mergeBy": ["name"], "keep": "\#(keep)""#, to: inputs)
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], Self.mapping)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let tags = try Self.tags(inputs.folder.file("new.sqlite"))
        #expect(tags.contains("3 red #f00 notes 1,2 parts 1,4,2,3"), "\(tags)")
    }

    @Test(
        "Wrong files are refused where they are wrong",
        arguments: [
            (#""mergeBy": ["nam"]"#, "name"),
            (#""mergeBy": ["name"], "keep": "most""#, "greatest <expression>"),
            (#""mergeBy": ["name"], "keep": "greatest $source.colr""#, "color"),
            (#""mergeBy": ["name"], "keep": "greatest color""#, "numbers and dates"),
            (#""mergeBy": ["notes.title"]"#, "one value is compared"), (#""keep": "first""#, "mergeBy"),
            (#""fill": true"#, "mergeBy"),
            (#""mergeBy": ["name"], "distinctBy": ["$source.name"]"#, "cannot stand"),
            (#""mergeBy": ["name"], "fill": 1"#, "true or false"),
            (#""mergeBy": ["name"], "relationships": { "parts": { "orderBy": "label" } }"#, "cannot be combined"),
            (#""mergeBy": ["name"], "migrationPolicy": "P""#, "Leave one of the two out"),
        ])
    func wrong(keys: String, says: String) throws {
        let inputs = try Self.inputs()
        try Self.write(keys, to: inputs)
        try inputs.expectRefusal(saying: says, inLines: 2...2)
    }

    @Test("What was written is read and written the same")
    func written() throws {
        let inputs = try Self.inputs()
        try Self.write(
            #""mergeBy": ["name"], "compare": "cd", "keep": "greatest used", "fill": true"#, to: inputs)
        let text = try inputs.convertedTwice("mapping.json")
        for line in [#""mergeBy": ["#, #""keep": "greatest $source.used""#, #""fill": true"#] {
            #expect(text.contains(line), "\(text)")
        }
    }
}
