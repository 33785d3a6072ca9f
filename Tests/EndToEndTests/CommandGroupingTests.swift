import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `distinctBy` by the built command: one object for each distinct value, from a file of five lines.
@Suite("One object for each distinct value by the built command")
struct CommandGroupingTests {
    private static let text = #"attributeType="String" optional="YES""#
    private static let song = """
        <entity name="Song"><attribute name="title" \(text)/><attribute name="artistName" \(text)/>\
        <relationship name="tags" toMany="YES" optional="YES" deletionRule="Nullify" destinationEntity="Tag"/>
        """

    static let mapping = ["--mapping", "mapping.json"]

    static func inputs() throws -> VersionedInputs {
        let tag = #"<entity name="Tag"><attribute name="name" \#(text)/></entity>"#
        return try VersionedInputs(
            "\(song)</entity>\(tag)",
            """
            \(song)<relationship name="artist" maxCount="1" optional="YES" deletionRule="Nullify" \
            destinationEntity="Artist" inverseName="songs" inverseEntity="Artist"/></entity>\(tag)
            <entity name="Artist"><attribute name="name" \(text)/>
            <relationship name="songs" toMany="YES" optional="YES" deletionRule="Nullify" destinationEntity="Song" \
            inverseName="artist" inverseEntity="Song"/></entity>
            """
        ) { store in
            for (key, artist) in [(1, "Ella"), (2, "Nina"), (3, "ELLA"), (4, nil), (5, "Nina"), (6, "Ella")] {
                store.insert(
                    "Song", Int64(key),
                    ["title": .text("song \(key)"), "artistName": artist.map { .text($0) } ?? .null])
            }
        }
    }

    /// Writes a mapping file whose mapping of artists has some more keys.
    static func write(_ keys: String, to inputs: VersionedInputs) throws {
        try """
        { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
          { "name": "SongToArtist", "sourceEntity": "Song", "destinationEntity": "Artist", \(keys),
            "attributes": { "name": "$source.artistName" }, "relationships": { "songs": null } },
          { "name": "SongToSong", "sourceEntity": "Song", "destinationEntity": "Song",
            "relationships": { "artist": "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'SongToArtist', $source)" } }
        ] }
        """.write(toFile: inputs.folder.file("mapping.json"), atomically: true, encoding: .utf8)
    }

    private static func rows(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: 1)
        return try connection.firstColumn(
            "SELECT s.ZTITLE || ': ' || COALESCE(a.Z_PK || ' ' || a.ZNAME, 'none') FROM ZSONG AS s "
                + "LEFT JOIN ZARTIST AS a ON a.Z_PK = s.ZARTIST ORDER BY s.Z_PK")
    }

    @Test("Every song finds the object that it shares; all commands agree")
    func songs() throws {
        let inputs = try Self.inputs()
        try Self.write(#""distinctBy": ["$source.artistName"]"#, to: inputs)
        let outcomes = try inputs.all("Song/p6", Self.mapping + ["--on-loss", "refuse"])
        for (name, outcome) in outcomes { #expect(outcome.code == 0, "\(name): \(outcome.words)") }
        #expect(
            try Self.rows(inputs.folder.file("new.sqlite")) == [
                "song 1: 1 Ella", "song 2: 2 Nina", "song 3: 3 ELLA", "song 4: none", "song 5: 2 Nina",
                "song 6: 1 Ella",
            ])
        #expect(outcomes["plan"]?.words.contains("distinctBy") == true, "\(outcomes["plan"]?.words ?? "")")
        #expect(
            outcomes["migrate"]?.words.contains("2 objects of Song share the object of another: SongToArtist") == true,
            "\(outcomes["migrate"]?.words ?? "")")
        #expect(
            outcomes["explain"]?.words.contains("$source.artistName is \"Ella\"") == true,
            "\(outcomes["explain"]?.words ?? "")")
    }

    @Test("explain names the song that makes the artist, and a song that has none")
    func explained() throws {
        let inputs = try Self.inputs()
        try Self.write(#""distinctBy": ["$source.artistName"], "compare": "c""#, to: inputs)
        for (song, words) in [
            ("Song/p1", ["Song/p1 is kept of 3 source objects", "name = \"Ella\""]),
            ("Song/p6", ["Song/p1 is kept of 3 source objects", "It shares the object of Song/p1."]),
            ("Song/p4", ["nil is no value: it makes no object", "It is filtered"]),
        ] {
            let outcome = try inputs.run(["explain", "old.sqlite", song], Self.mapping)
            #expect(outcome.code == 0, "\(outcome.messages)")
            for word in words { #expect(outcome.output.contains(word), "\(word): \(outcome.output)") }
        }
    }

    @Test("Texts that differ in case only are the same on request, and so is nil")
    func compared() throws {
        let inputs = try Self.inputs()
        try Self.write(
            #""distinctBy": ["$source.artistName"], "compare": "c", "nilIsAValue": true"#, to: inputs)
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite", "--id-map", "ids.csv"], Self.mapping)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(
            try Self.rows(inputs.folder.file("new.sqlite")) == [
                "song 1: 1 Ella", "song 2: 2 Nina", "song 3: 1 Ella", "song 4: none", "song 5: 2 Nina",
                "song 6: 1 Ella",
            ])
        let ids = try String(contentsOfFile: inputs.folder.file("ids.csv"), encoding: .utf8)
        for line in ["Song,1,Artist,1", "Song,3,Artist,1", "Song,4,Artist,3", "Song,6,Artist,1"] {
            #expect(ids.contains(line + "\n"), "\(ids)")
        }
        let verified = try inputs.run(["verify", "old.sqlite", "new.sqlite"], Self.mapping)
        #expect(verified.code == 0, "\(verified.output)\(verified.messages)")
    }

    @Test(
        "Wrong files are refused where they are wrong",
        arguments: [
            (#""distinctBy": ["$source.tags"]"#, "objects of the source entity Tag"),
            (#""distinctBy": ["$source.artist"]"#, "artistName"),
            (#""distinctBy": ["$source.tags.name"]"#, "one value is compared"), (#""distinctBy": []"#, "an array"),
            (#""distinctBy": ["$destination.name"]"#, "$destination"), (#""compare": "c""#, "distinctBy"),
            (#""distinctBy": ["$source.title"], "compare": "x""#, "\"cd\""),
            (#""distinctBy": ["$source.title"], "nilIsAValue": 1"#, "true or false"),
            (#""distinctBy": ["$source.title"], "migrationPolicy": "P""#, "Leave one of the two out"),
        ])
    func wrong(keys: String, says: String) throws {
        let inputs = try Self.inputs()
        try Self.write(keys, to: inputs)
        try inputs.expectRefusal(saying: says, inLines: 2...3)
    }

    @Test("What was written is read and written the same")
    func written() throws {
        let inputs = try Self.inputs()
        try Self.write(#""distinctBy": ["$source.artistName"], "compare": "cd", "nilIsAValue": true"#, to: inputs)
        let text = try inputs.convertedTwice("mapping.json")
        for line in [#""$source.artistName""#, #""compare": "cd""#, #""nilIsAValue": true"#] {
            #expect(text.contains(line), "\(text)")
        }
    }

    @Test("Songs that a filter leaves out make no artist, also if only objects can evaluate it")
    func filtered() throws {
        let inputs = try Self.inputs()
        try Self.write(
            #""distinctBy": ["$source.artistName"], "sourceFilter": "FUNCTION(SELF, 'valueForKey:', 'title') != 'song 1'""#,
            to: inputs)
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], Self.mapping)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(
            try Self.rows(inputs.folder.file("new.sqlite")) == [
                "song 1: none", "song 2: 1 Nina", "song 3: 2 ELLA", "song 4: none", "song 5: 1 Nina", "song 6: 3 Ella",
            ])
    }
}
