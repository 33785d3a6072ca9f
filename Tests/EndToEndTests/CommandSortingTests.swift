import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `orderBy` by the built command: an ordered relationship out of a number that each member had.
@Suite("Members ordered by an attribute, by the built command")
struct CommandSortingTests {
    typealias Inputs = VersionedInputs

    private static let mapping = ["--mapping", "mapping.json"]

    private static func relationship(_ name: String, to entity: String, inverse: String, _ more: String) -> String {
        """
        <relationship name="\(name)" \(more) optional="YES" deletionRule="Nullify" destinationEntity="\(entity)" \
        inverseName="\(inverse)" inverseEntity="\(entity)"/>
        """
    }

    private static func version(_ order: String, _ number: String, hasPlace: Bool) -> String {
        Inputs.entity(
            "Playlist", Inputs.text("name"),
            relationship("tracks", to: "Track", inverse: "playlist", "toMany=\"YES\" \(order)"))
            + Inputs.entity(
                "Track", Inputs.text("title"), hasPlace ? Inputs.attribute("position", "Integer 32") : "",
                Inputs.attribute("added", "Date", "usesScalarValueType=\"NO\""),
                relationship("playlist", to: "Playlist", inverse: "tracks", "maxCount=\"1\""),
                relationship("genre", to: "Genre", inverse: "tracks", "maxCount=\"1\""))
            + Inputs.entity(
                "Genre", Inputs.attribute("rank", "Integer 16"),
                relationship("tracks", to: "Track", inverse: "genre", "toMany=\"YES\"")) + number
    }

    private static func inputs() throws -> VersionedInputs {
        try VersionedInputs(
            version("", "", hasPlace: true), version("ordered=\"YES\"", "", hasPlace: false)
        ) { store in
            for (key, rank) in [(1, 9), (2, 3)] { store.insert("Genre", Int64(key), ["rank": .integer(Int64(rank))]) }
            for key in [1, 2] { store.insert("Playlist", Int64(key), ["name": .text("list \(key)")]) }
            let places: [(position: Int64?, list: Int64, genre: Int64)] = [
                (3, 1, 1), (1, 1, 2), (nil, 1, 1), (2, 2, 2), (1, 1, 1), (1, 2, 1),
            ]
            for (index, place) in places.enumerated() {
                store.insert(
                    "Track", Int64(index + 1),
                    [
                        "title": .text("t\(index + 1)"), "position": place.position.map { .integer($0) } ?? .null,
                        "added": .real(Double(100 - index)),
                    ], toOne: ["playlist": place.list, "genre": place.genre])
            }
        }
    }

    private static func write(_ tracks: String, _ keys: String = "", to inputs: VersionedInputs) throws {
        try inputs.file(
            "mapping.json",
            """
            { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
              { "sourceEntity": "Playlist", "destinationEntity": "Playlist",\(keys)
                "relationships": {
                  "tracks": \(tracks) } }
            ] }
            """)
    }

    private static func lists(_ inputs: VersionedInputs) throws -> [String] {
        let connection = try Connection(path: inputs.folder.file("new.sqlite"), flags: 1)
        return try connection.firstColumn(
            """
            SELECT group_concat(title || ' ' || place, ', ') FROM (
                SELECT ZPLAYLIST AS list, ZTITLE AS title, Z_FOK_PLAYLIST AS place FROM ZTRACK
                ORDER BY ZPLAYLIST, Z_FOK_PLAYLIST)
            GROUP BY list ORDER BY list
            """)
    }

    @Test("The members come in the order of the number, nil first, equal ones by key; all commands agree")
    func tracks() throws {
        let inputs = try Self.inputs()
        try Self.write(#"{ "orderBy": "position" }"#, to: inputs)
        let outcomes = try inputs.all("Playlist/p1", Self.mapping + ["--on-loss", "refuse"])
        for (name, outcome) in outcomes { #expect(outcome.code == 0, "\(name): \(outcome.words)") }
        #expect(try Self.lists(inputs) == ["t3 2048, t2 3072, t5 4096, t1 5120", "t6 2048, t4 3072"])
        let explained = outcomes["explain"]?.words ?? ""
        #expect(explained.contains("Ordered by position"), "\(explained)")
        let shown = ["Track/p3", "Track/p2", "Track/p5", "Track/p1"].compactMap {
            explained.firstRange(of: $0)?.lowerBound
        }
        #expect(shown.count == 4 && shown == shown.sorted(), "\(explained)")
        let verified = try inputs.run(["verify", "old.sqlite", "new.sqlite"], Self.mapping)
        #expect(verified.code == 0, "\(verified.output)\(verified.messages)")
    }

    @Test(
        "A date, and an attribute of another object, order too; and so where objects are made one by one",
        arguments: [
            (#"{ "orderBy": "added" }"#, "", ["t5, t3, t2, t1", "t6, t4"]),
            (#"{ "orderBy": "genre.rank" }"#, "", ["t2, t1, t3, t5", "t4, t6"]),
            (
                #"{ "orderBy": "position" }"#,
                #""sourceExpression": "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Playlist', 'name != nil'), $manager.sourceContext, NO)","#,
                ["t3, t2, t5, t1", "t6, t4"]
            ),
            (
                #"{ "orderBy": "genre.rank" }"#,
                #""sourceExpression": "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Playlist', 'name != nil && tracks.@count > 0'), $manager.sourceContext, NO)","#,
                ["t2, t1, t3, t5", "t4, t6"]
            ),
        ])
    func others(tracks: String, keys: String, expected: [String]) throws {
        let inputs = try Self.inputs()
        try Self.write(tracks, keys, to: inputs)
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], Self.mapping)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let titles = try Self.lists(inputs).map { list in
            list.split(separator: ", ").map { $0.prefix { $0 != " " } }.joined(separator: ", ")
        }
        #expect(titles == expected)
    }

    @Test(
        "Wrong orders are refused where they are wrong",
        arguments: [
            (#"{ "orderBy": "place" }"#, "", "no property place", "4:30"),
            (#"{ "orderBy": "positon" }"#, "", "position", "4:30"),
            (#"{ "orderBy": "title" }"#, "", "type String", "4:30"),
            (#"{ "orderBy": "genre" }"#, "", "genre.<attribute>", "4:30"),
            (#"{ "orderBy": "genre.tracks" }"#, "", "to-many", "4:30"),
            (#"{ "orderBy": "" }"#, "", "must not be empty", "4:30"),
            (#"{ "orderBy": 1 }"#, "", "a string", "4:30"),
            (#"{ "orderBy": "position", "expression": null }"#, "", "has no expression", "4:30"),
            (#"{ "orderBy": "position", "expression": "nil" }"#, "", "reads none", "4:30"),
            (#"{ "orderBy": "position" }"#, #" "migrationPolicy": "P","#, "Leave one of the two out", "4:30"),
        ])
    func wrong(tracks: String, keys: String, says: String, place: String) throws {
        let inputs = try Self.inputs()
        try Self.write(tracks, keys, to: inputs)
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], Self.mapping)
        #expect(outcome.code == 78, "\(outcome.messages)")
        #expect(outcome.messages.contains(says), "\(outcome.messages)")
        #expect(outcome.messages.contains("mapping.json:\(place)"), "\(outcome.messages)")
        #expect(!FileManager.default.fileExists(atPath: inputs.folder.file("new.sqlite")))
    }

    @Test("An attribute, a to-one and an unordered relationship have no order")
    func unordered() throws {
        let inputs = try Self.inputs()
        for (kind, property, says) in [
            ("attributes", "title", "this is an attribute"), ("relationships", "playlist", "no order"),
        ] {
            try inputs.file(
                "mapping.json",
                """
                { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
                  { "sourceEntity": "Track", "destinationEntity": "Track",
                    "\(kind)": { "\(property)": { "orderBy": "position" } } }
                ] }
                """)
            let outcome = try inputs.run(["plan", "old.sqlite", "new.sqlite"], Self.mapping)
            #expect(outcome.code == 78 && outcome.messages.contains(says), "\(outcome.messages)")
            #expect(outcome.messages.contains("mapping.json:3:"), "\(outcome.messages)")
        }
        try Self.write(#"{ "orderBy": "position" }"#, to: inputs)
        let back = try CommandBinary.run(
            ["convert", "mapping.json", "--from", "M.xcdatamodeld:1", "--to", "M.xcdatamodeld:1"],
            in: inputs.folder.path)
        #expect(back.code == 78 && back.messages.contains("Make it ordered"), "\(back.messages)")
    }

    @Test("What was written is read and written the same")
    func written() throws {
        let inputs = try Self.inputs()
        try Self.write(#"{ "orderBy": "genre.rank", "userInfo": { "a": "b" } }"#, to: inputs)
        let from = ["--from", "M.xcdatamodeld:1"]
        let first = try inputs.run(["convert", "mapping.json", "-o", "first.json"], from)
        #expect(first.code == 0, "\(first.messages)")
        let text = try String(contentsOfFile: inputs.folder.file("first.json"), encoding: .utf8)
        #expect(text.contains(#""orderBy": "genre.rank""#), "\(text)")
        let second = try inputs.run(["convert", "first.json", "-o", "second.json"], from)
        #expect(second.code == 0, "\(second.messages)")
        #expect(try String(contentsOfFile: inputs.folder.file("second.json"), encoding: .utf8) == text)
    }
}
